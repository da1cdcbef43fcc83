//! The times of responses that may belong to no request.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// When such responses came, ns. Bounds need only the earliest and the latest ones: if there are too many, those between are left out.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Besides {
    /// All, or the earliest ones.
    earliest: Vec<i64>,
    /// The latest ones, where some were left out.
    latest: VecDeque<i64>,
    has_left_out: bool,
}

impl Besides {
    pub(super) fn len(&self) -> usize {
        self.earliest.len() + self.latest.len()
    }

    /// Adds the latest one; without room, it takes the place of another one.
    pub(super) fn add(&mut self, ns: i64, has_room: bool) {
        if has_room && !self.has_left_out {
            return self.earliest.push(ns);
        }
        if !self.has_left_out {
            self.has_left_out = true;
            self.latest = self.earliest.split_off(self.earliest.len() / 2).into();
        }
        if self.latest.pop_front().is_some() {
            self.latest.push_back(ns);
        }
    }

    /// How many of the earliest, and of the latest, are known.
    pub(super) fn known(&self) -> usize {
        if self.has_left_out { self.earliest.len().min(self.latest.len()) } else { self.earliest.len() }
    }

    /// The sum of the latest `count` ones, and that of the earliest; `count` is at most the number of those that are known.
    pub(super) fn sums(mut self, count: usize) -> [i128; 2] {
        let sum = |some: &[i64]| some.iter().map(|&ns| i128::from(ns)).sum::<i128>();
        self.earliest.sort_unstable();
        let earliest = sum(&self.earliest[..count]);
        let mut latest = if self.has_left_out { self.latest.into() } else { self.earliest };
        latest.sort_unstable();
        [sum(&latest[latest.len() - count..]), earliest]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_and_the_latest_are_known() {
        let mut besides = Besides::default();
        (0..6).for_each(|ns| besides.add(ns, true));
        assert_eq!(besides.known(), 6);
        (6..10).for_each(|ns| besides.add(ns, false));
        assert_eq!((besides.len(), besides.known()), (6, 3));
        besides.add(10, true);
        assert_eq!(besides.sums(2), [10 + 9, 1], "further ones come behind those that were left out");
        let mut none = Besides::default();
        none.add(1, false);
        assert_eq!((none.len(), none.known(), none.sums(0)), (0, 0, [0, 0]));
    }
}
