//! What a connection was last used for.

use plimsoll_model::Procedure;
use serde::{Deserialize, Serialize};

/// The last use of a connection.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LastUse {
    /// The last request, unless the client went on with a message that was not read.
    pub(super) request: Option<Procedure>,
    /// The last request that does more than to keep the connection or a lease, or the last message that was not read, ns.
    pub(super) at_ns: Option<i64>,
}

impl LastUse {
    /// A request came; `keeps`: it only keeps the connection, or a lease.
    #[inline]
    pub(super) fn request(&mut self, procedure: Procedure, at_ns: i64, keeps: bool) {
        self.request = Some(procedure);
        if !keeps {
            self.at_ns = Some(at_ns);
        }
    }

    /// A message came that was not read; `may_be_request`: it may be of the client.
    pub(super) fn unread(&mut self, at_ns: i64, may_be_request: bool, keeps: bool) {
        if may_be_request {
            self.request = None;
        }
        if !keeps {
            self.at_ns = Some(at_ns);
        }
    }
}
