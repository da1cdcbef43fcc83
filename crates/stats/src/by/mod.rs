//! Sums by client, server, share, operation and other dimensions, or by a combination.

mod dimension;
mod key;
mod numbers;

use std::collections::HashMap;

use plimsoll_model::Transaction;
use serde::{Deserialize, Serialize};

use crate::accumulator::Sample;
use crate::state::{Reader, State, StateError, Writer};

pub use dimension::{CompositeKey, Dimension, Dimensions, MAX_DIMENSIONS};
pub use key::Key;
pub use numbers::{KeyCell, KeyStats, MAX_KEY_BINS};

/// Maximum number of keys of a breakdown; the data of further keys is summed in one.
pub const MAX_KEYS: usize = 10_000;

/// The numbers of each key, of at most [`MAX_KEYS`] (some 65 MiB when all have wide distributions over all of the time).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    dimensions: Dimensions,
    numbers: HashMap<CompositeKey, usize>,
    rows: Vec<(CompositeKey, KeyStats)>,
    // The row used last: transactions of one key come in runs.
    last: usize,
    others: KeyStats,
    /// Most keys.
    limit: usize,
}

impl Breakdown {
    pub(crate) fn new(dimensions: Dimensions) -> Self {
        Self::of_at_most(MAX_KEYS, dimensions)
    }

    /// Of fewer keys than [`MAX_KEYS`].
    pub(crate) fn of_at_most(limit: usize, dimensions: Dimensions) -> Self {
        let others = KeyStats::default();
        Self { dimensions, numbers: HashMap::new(), rows: Vec::new(), last: 0, others, limit }
    }

    #[inline]
    pub(crate) fn record(&mut self, t: &Transaction, measured: &Sample) {
        let key = self.dimensions.key(t);
        self.stats(key).record(t, measured);
    }

    fn stats(&mut self, key: CompositeKey) -> &mut KeyStats {
        if self.rows.get(self.last).is_none_or(|(last, _)| *last != key) {
            match self.numbers.get(&key) {
                Some(&number) => self.last = number,
                None if self.rows.len() < self.limit => {
                    self.last = self.rows.len();
                    self.numbers.insert(key, self.last);
                    self.rows.push((key, KeyStats::default()));
                }
                None => return &mut self.others,
            }
        }
        &mut self.rows[self.last].1
    }

    /// Adds another part of the same data (with the same names, by the same dimensions); exact up to [`MAX_KEYS`] keys.
    pub fn merge(&mut self, other: &Breakdown) {
        debug_assert_eq!(self.dimensions, other.dimensions, "keys of two kinds in one table");
        other.rows.iter().for_each(|(key, stats)| self.stats(*key).merge(stats));
        self.others.merge(&other.others);
    }

    /// Numbers of connections.
    pub(crate) fn connections(&self) -> impl Iterator<Item = u32> {
        let parts = self.rows.iter().flat_map(|(key, _)| key.parts().iter().copied().flatten());
        parts
            .filter_map(|key| if let Key::Connection(number, ..) = key { Some(number) } else { None })
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Replaces the numbers of connections.
    pub(crate) fn renumbered(&self, number: impl Fn(u32) -> u32) -> Self {
        let mut renumbered = Self { others: self.others.clone(), ..Self::new(self.dimensions) };
        for (key, stats) in &self.rows {
            let key = key.map(|part| match part {
                Key::Connection(old, client, server) => Key::Connection(number(old), client, server),
                other => other,
            });
            renumbered.stats(key).merge(stats);
        }
        renumbered
    }

    /// The dimensions of the breakdown.
    pub fn dimensions(&self) -> &[Dimension] {
        self.dimensions.as_slice()
    }

    /// The keys with their numbers, longest waiting first.
    pub fn rows(&self) -> Vec<(CompositeKey, &KeyStats)> {
        let mut rows: Vec<_> = self.rows.iter().map(|(key, stats)| (*key, stats)).collect();
        let rank = |stats: &KeyStats| std::cmp::Reverse((stats.waiting.ns(), stats.count));
        rows.sort_by_key(|(key, stats)| (rank(stats), *key));
        rows
    }

    /// Number of keys with their own numbers, the first ones, if further keys had no room; `None` if all had.
    pub fn first_keys(&self) -> Option<u64> {
        (self.others.count > 0).then_some(self.rows.len() as u64)
    }

    /// Transactions of keys for which there was no room.
    pub fn others(&self) -> &KeyStats {
        &self.others
    }
}

impl State for Breakdown {
    fn put(&self, out: &mut Writer) {
        self.dimensions.put(out);
        self.rows.put(out);
        self.others.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let dimensions = Dimensions::take(from)?;
        let rows = Vec::<(CompositeKey, KeyStats)>::take(from)?;
        let numbers: HashMap<CompositeKey, usize> =
            rows.iter().enumerate().map(|(number, (key, _))| (*key, number)).collect();
        let count = dimensions.as_slice().len();
        let fit = rows.iter().all(|(key, _)| key.parts().len() == count);
        if rows.len() > MAX_KEYS || numbers.len() != rows.len() || !fit {
            return Err(from.no("breakdown"));
        }
        Ok(Self { dimensions, numbers, rows, last: 0, others: State::take(from)?, limit: MAX_KEYS })
    }
}
