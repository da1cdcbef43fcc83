//! Holes that were given up, and their bytes that came later.

use serde::{Deserialize, Serialize};

/// Bytes that came after their hole was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The receiver had acknowledged the hole when it was given up.
    pub(super) acknowledged: bool,
    /// No others of the hole are missing, or of its part on this side of other bytes that came late.
    pub(super) is_last: bool,
}

/// What is missing of a hole, or of a part of one.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Missing {
    start: u64,
    end: u64,
    acknowledged: bool,
}

/// Holes given up recently, to distinguish a late arrival from a retransmission.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct GivenUp {
    recent: [Missing; 4],
    next: usize,
}

impl GivenUp {
    pub(super) fn add(&mut self, start: u64, end: u64, acknowledged: bool) {
        self.push(Missing { start, end, acknowledged });
    }

    /// Takes bytes that came late; `None` if they are of no such hole. The same bytes once more are a retransmission.
    pub(super) fn find(&mut self, start: u64, end: u64) -> Option<Found> {
        let hole = self.recent.iter_mut().find(|hole| hole.start <= start && end <= hole.end)?;
        let (before, behind) = (Missing { end: start, ..*hole }, Missing { start: end, ..*hole });
        let rest = [before, behind].map(|part| part.start < part.end);
        let found = Found { acknowledged: hole.acknowledged, is_last: rest == [false; 2] };
        *hole = if rest[0] { before } else { behind };
        if rest == [true; 2] {
            self.push(behind);
        }
        Some(found)
    }

    fn push(&mut self, hole: Missing) {
        if let Some(oldest) = self.recent.get_mut(self.next) {
            *oldest = hole;
        }
        self.next = (self.next + 1) % self.recent.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_hole_are_found_once() {
        let mut given_up = GivenUp::default();
        given_up.add(100, 200, true);
        given_up.add(300, 310, false);
        assert_eq!((given_up.find(90, 110), given_up.find(190, 210), given_up.find(210, 220)), (None, None, None));
        let found = |acknowledged, is_last| Some(Found { acknowledged, is_last });
        assert_eq!(given_up.find(140, 160), found(true, false));
        assert_eq!(given_up.find(140, 160), None, "again");
        assert_eq!(given_up.find(100, 140), found(true, true), "one of the two parts that were left");
        assert_eq!(given_up.find(180, 200), found(true, false));
        assert_eq!(given_up.find(160, 180), found(true, true));
        assert_eq!(given_up.find(300, 310), found(false, true));
        assert_eq!(given_up.find(300, 310), None);
    }
}
