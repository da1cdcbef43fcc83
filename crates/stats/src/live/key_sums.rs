//! What clients waited for in a second, by client, by share and by operation: exact if its combinations were too many to keep.

use std::collections::BTreeMap;

use plimsoll_model::Transaction;

use super::cells::Place;
use super::sum::LiveSum;
use crate::{Dimension, Key};

/// Keys of a second that is over, per dimension. With the combinations of such a second they take as much memory as the combinations
/// of any other, unless clients and shares are both so many.
const MAX_KEYS: usize = 128;
/// Keys of the current second, per dimension: as many as it has combinations.
const MAX_OPEN_KEYS: usize = 8_192;

/// The dimensions with sums. A second has too many paths.
const DIMENSIONS: [Dimension; 3] = [Dimension::Client, Dimension::Share, Dimension::Operation];

/// The sums of a second by each of some dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySums([SumsByKey; DIMENSIONS.len()]);

/// Sums by one dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SumsByKey {
    sums: BTreeMap<Key, LiveSum>,
    others: LiveSum,
}

impl KeySums {
    /// Those of all these combinations: none of them stands for others.
    pub(super) fn of<'a>(cells: impl Iterator<Item = (&'a Place, &'a LiveSum)>) -> Self {
        let mut all = Self::default();
        for (place, sum) in cells {
            all.each(|by, dimension| by.at(place.key(dimension)).merge(sum));
        }
        all
    }

    pub(super) fn record(&mut self, place: &Place, t: &Transaction, response_ns: Option<u64>) {
        self.each(|by, dimension| by.at(place.key(dimension)).record(t, response_ns));
    }

    /// Adds those of another part of the same second.
    pub(super) fn merge(&mut self, part: &KeySums) {
        for (all, part) in self.0.iter_mut().zip(&part.0) {
            part.sums.iter().for_each(|(key, sum)| all.at(Some(*key)).merge(sum));
            all.others.merge(&part.others);
        }
    }

    /// Ends the second: the keys for which clients waited longest stay, all others are summed.
    pub(super) fn fold(&mut self) {
        self.0.iter_mut().for_each(SumsByKey::fold);
    }

    fn each(&mut self, mut work: impl FnMut(&mut SumsByKey, Dimension)) {
        self.0.iter_mut().zip(DIMENSIONS).for_each(|(by, dimension)| work(by, dimension));
    }

    /// The sums by a dimension, if it has any.
    pub fn by(&self, dimension: Dimension) -> Option<&SumsByKey> {
        DIMENSIONS.iter().position(|&other| other == dimension).map(|place| &self.0[place])
    }

    /// The sums by each dimension.
    pub fn iter(&self) -> impl Iterator<Item = &SumsByKey> {
        self.0.iter()
    }
}

impl SumsByKey {
    fn at(&mut self, key: Option<Key>) -> &mut LiveSum {
        match key {
            Some(key) if self.sums.len() < MAX_OPEN_KEYS || self.sums.contains_key(&key) => {
                self.sums.entry(key).or_default()
            }
            _ => &mut self.others,
        }
    }

    fn fold(&mut self) {
        let mut sums: Vec<(Key, LiveSum)> = std::mem::take(&mut self.sums).into_iter().collect();
        sums.sort_by(|(a, one), (b, other)| other.waited_ns.cmp(&one.waited_ns).then(a.cmp(b)));
        let rest = sums.split_off(sums.len().min(MAX_KEYS));
        rest.iter().for_each(|(_, sum)| self.others.merge(sum));
        // A copy has no spare room.
        self.sums = sums.iter().map(|(key, sum)| (*key, sum.clone())).collect();
    }

    /// The keys with their sums.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &LiveSum)> {
        self.sums.iter()
    }

    /// The sum of a key, if it has a separate one.
    pub fn get(&self, key: &Key) -> Option<&LiveSum> {
        self.sums.get(key)
    }

    /// The sum of all keys without separate ones: some of these requests may belong to keys with separate ones.
    pub fn others(&self) -> &LiveSum {
        &self.others
    }
}
