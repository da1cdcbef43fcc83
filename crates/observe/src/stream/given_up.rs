//! Holes that were given up, and their bytes that came later.

use serde::{Deserialize, Serialize};

/// Bytes that came after their hole was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The receiver had acknowledged the hole when it was given up.
    pub(super) acknowledged: bool,
    /// No others of the hole are missing.
    pub(super) is_last: bool,
}

/// Parts of a hole that may be missing at once, at most.
const PARTS_MAX: usize = 64;

/// What is missing of a hole.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Missing {
    /// From an offset to another.
    parts: Vec<(u64, u64)>,
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
        if let Some(oldest) = self.recent.get_mut(self.next) {
            *oldest = Missing { parts: vec![(start, end)], acknowledged };
        }
        self.next = (self.next + 1) % self.recent.len();
    }

    /// Takes bytes that came late; `None` if they are of no such hole. The same bytes once more are a retransmission.
    pub(super) fn find(&mut self, start: u64, end: u64) -> Option<Found> {
        self.recent.iter_mut().find_map(|hole| hole.find(start, end))
    }
}

impl Missing {
    fn find(&mut self, start: u64, end: u64) -> Option<Found> {
        let has_room = self.parts.len() < PARTS_MAX;
        let part = self.parts.iter_mut().find(|part| part.0 <= start && end <= part.1)?;
        match (part.0 < start, end < part.1) {
            (true, true) if !has_room => return None,
            (true, true) => {
                let behind = (end, part.1);
                part.1 = start;
                self.parts.push(behind);
            }
            (true, false) => part.1 = start,
            (false, true) => part.0 = end,
            (false, false) => self.parts.retain(|part| *part != (start, end)),
        }
        Some(Found { acknowledged: self.acknowledged, is_last: self.parts.is_empty() })
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
        assert_eq!(given_up.find(100, 140), found(true, false), "one of the two parts that were left");
        assert_eq!(given_up.find(180, 200), found(true, false));
        assert_eq!(given_up.find(160, 180), found(true, true));
        assert_eq!(given_up.find(300, 310), found(false, true));
        assert_eq!(given_up.find(300, 310), None);
    }

    #[test]
    fn the_oldest_hole_keeps_both_of_its_parts() {
        let mut given_up = GivenUp::default();
        (1..5).for_each(|hole| given_up.add(hole * 100, hole * 100 + 30, false));
        let found = [(110, 120), (120, 130), (100, 110)].map(|(start, end)| given_up.find(start, end));
        assert_eq!(found.map(|found| found.map(|found| found.is_last)), [Some(false), Some(false), Some(true)]);
        assert!((2..5).all(|hole| given_up.find(hole * 100, hole * 100 + 30).is_some()));
    }

    #[test]
    fn a_hole_has_a_bound_on_its_parts() {
        let mut given_up = GivenUp::default();
        given_up.add(0, 1_000_000, false);
        assert_eq!((1..1_000).filter(|at| given_up.find(at * 10, at * 10 + 1).is_some()).count(), PARTS_MAX - 1);
    }
}
