//! The search for a message after a gap, or in a stream whose beginning was not seen.

use serde::{Deserialize, Serialize};

use super::super::{Framing, signature};
use super::Faults;
use super::chain::Chain;
use super::cursor::Cursor;

/// State of the search for a message boundary.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Search {
    /// Framing was lost because the snap length cut a header off.
    pub(super) lost_by_cut: bool,
    /// Framing was found once: from then on losing it is worth counting.
    pub(super) found_once: bool,
    /// No message was found in bytes since framing was lost, or since the stream began.
    searched_in_vain: bool,
    /// Where messages may begin, from headers seen since then.
    chain: Chain,
}

impl Search {
    /// The stream begins here, or the state has become invalid.
    pub(super) fn restart(&mut self) {
        self.searched_in_vain = false;
        self.chain.clear();
    }

    /// Whether the bytes since the last message may contain messages that were not recognised.
    pub(super) fn may_hide_messages(&self) -> bool {
        self.searched_in_vain && !self.lost_by_cut
    }

    /// A message that is due may begin at this offset.
    pub(super) fn expect(&mut self, begin_offset: u64) {
        self.chain.expect(begin_offset);
    }

    /// Moves the cursor to where a message begins, or behind the chunk. Returns whether there is one.
    pub(super) fn finds_message(&mut self, cursor: &mut Cursor<'_, '_>, framing: Framing, faults: &mut Faults) -> bool {
        let (offset, rest) = (cursor.offset(), cursor.rest());
        let linked = self.chain.link(offset, rest, |next| signature::begins(framing, next));
        let found = signature::find(framing, rest, |end| self.chain.expect(offset + end as u64));
        let Some(found) = linked.into_iter().chain(found).min() else {
            let is_cut = cursor.rest().len() < cursor.wire_rest();
            faults.cuts = faults.cuts.saturating_add(u32::from(is_cut && self.lost_by_cut));
            self.searched_in_vain = true;
            cursor.skip_all();
            return false;
        };
        cursor.at += found;
        self.found(faults);
        true
    }

    /// A message was found.
    pub(super) fn found(&mut self, faults: &mut Faults) {
        faults.hidden = faults.hidden.saturating_add(u32::from(self.may_hide_messages()));
        self.restart();
        if self.found_once {
            faults.resynchronised += 1;
        }
    }
}
