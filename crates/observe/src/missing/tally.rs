//! What the messages of all connections gave, on its way to the ledgers of the connections.

use plimsoll_model::Unseen;
use serde::{Deserialize, Serialize};

/// Pairs, unpaired halves and unreadable messages since the last [`Self::take`]. Nearly all are pairs, which are checked after each
/// message; the others only if `any` is set.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) paired: u64,
    others: Unseen,
    /// Responses without a request, counted before, whose requests have come.
    pub(super) found_requests: u64,
    /// There are unpaired halves or unreadable messages.
    pub(super) any: bool,
}

impl Tally {
    /// Those that are no pairs, to be counted.
    #[cold]
    pub(crate) fn others(&mut self) -> &mut Unseen {
        self.any = true;
        &mut self.others
    }

    /// The request of a response came that was counted as one without a request.
    pub(crate) fn found_request(&mut self) {
        self.any = true;
        self.found_requests += 1;
    }

    /// Takes all.
    pub(crate) fn take(&mut self) -> Unseen {
        let Tally { paired, others, .. } = std::mem::take(self);
        Unseen { paired: others.paired + paired, ..others }
    }
}
