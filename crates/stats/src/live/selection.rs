//! A part of the recent seconds, by one dimension.

use std::collections::HashMap;

use plimsoll_model::Transaction;

use super::Second;
use super::cells::Place;
use crate::{Dimension, HEAT_EDGES_NS, Key, Waiting, heat, rank};

/// What a part can be looked at by, and within.
pub const LIVE_DIMENSIONS: [Dimension; 4] =
    [Dimension::Client, Dimension::Share, Dimension::Operation, Dimension::Path];

/// Sums of some requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveSum {
    /// Requests.
    pub count: u64,
    /// Those that were refused or failed.
    pub errors: u64,
    /// How long clients waited for the answers, each message's time once, ns.
    pub waited_ns: u64,
    timed: u64,
    response_ns: u64,
    longest_ns: u64,
    /// Response times by the rows of a heat map; rising.
    rows: Vec<(u8, u32)>,
}

impl LiveSum {
    pub(super) fn record(&mut self, t: &Transaction, response_ns: Option<u64>) {
        self.count += 1;
        self.errors += u64::from(t.outcome.is_error());
        let Some(ns) = response_ns else { return };
        if Waiting::counts(t) {
            self.waited_ns = self.waited_ns.saturating_add(ns);
        }
        self.timed += 1;
        self.response_ns = self.response_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
        self.add(heat::row_of(ns) as u8, 1);
    }

    fn add(&mut self, row: u8, count: u32) {
        match self.rows.binary_search_by_key(&row, |&(row, _)| row) {
            Ok(place) => self.rows[place].1 = self.rows[place].1.saturating_add(count),
            Err(place) => self.rows.insert(place, (row, count)),
        }
    }

    /// Adds others.
    pub fn merge(&mut self, other: &LiveSum) {
        self.count += other.count;
        self.errors += other.errors;
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.timed += other.timed;
        self.response_ns = self.response_ns.saturating_add(other.response_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        other.rows.iter().for_each(|&(row, count)| self.add(row, count));
    }

    /// How many have a response time.
    pub fn timed(&self) -> u64 {
        self.timed
    }

    /// The sum of the response times, ns.
    pub fn response_ns(&self) -> u64 {
        self.response_ns
    }

    /// The longest of them, ns.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// How many are in which row of a heat map; rising.
    pub fn rows(&self) -> &[(u8, u32)] {
        &self.rows
    }

    /// Mean response time, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.response_ns as f64 / self.timed as f64)
    }

    /// A percentile (0..=100) of the response times, ns: the middle of a row of the heat map, at most 13 % off.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let row = rank::cell_at(percentile, self.rows.iter().map(|&(row, count)| (row, u64::from(count))))?;
        let row = usize::from(row);
        let from = HEAT_EDGES_NS[row];
        let middle = HEAT_EDGES_NS.get(row + 1).map_or(from, |&to| ((from.max(1) as f64) * to as f64).sqrt() as u64);
        Some(middle.min(self.longest_ns))
    }
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRow {
    /// The key; `None` for all others: those that clients waited for too little to be told apart.
    pub key: Option<Key>,
    /// Its requests.
    pub sum: LiveSum,
}

/// A part by one dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveTable {
    /// Those that clients waited longest for first, all others last.
    pub rows: Vec<LiveRow>,
    /// All of them together.
    pub total: LiveSum,
    /// Requests of which it is not known whether they belong here: they were not told apart.
    pub unknown: LiveSum,
}

pub(super) fn table<'a>(seconds: impl Iterator<Item = &'a Second>, within: &[Key], by: Dimension) -> LiveTable {
    let mut sums: HashMap<Option<Key>, LiveSum> = HashMap::new();
    let mut table = LiveTable::default();
    for (place, sum) in seconds.flat_map(|second| second.cells().iter()) {
        match within.iter().map(|key| place.is_in(key)).reduce(both).unwrap_or(Some(true)) {
            Some(true) => {
                table.total.merge(sum);
                sums.entry(place.key(by)).or_default().merge(sum);
            }
            Some(false) => {}
            None => table.unknown.merge(sum),
        }
    }
    table.rows = sums.into_iter().map(|(key, sum)| LiveRow { key, sum }).collect();
    table.rows.sort_unstable_by(|a, b| {
        let others_last = a.key.is_none().cmp(&b.key.is_none());
        others_last.then(b.sum.waited_ns.cmp(&a.sum.waited_ns)).then(a.key.cmp(&b.key))
    });
    table
}

/// Whether both hold, as far as that is known.
fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

impl Place {
    /// The key in one of [`LIVE_DIMENSIONS`]; `None` for others.
    pub fn key(&self, by: Dimension) -> Option<Key> {
        match by {
            Dimension::Client => self.client.map(Key::Client),
            Dimension::Share => self.share.map(Key::Share),
            Dimension::Operation => self.operation.map(Key::Operation),
            Dimension::Path => self.share.zip(self.path).map(|(share, path)| Key::Path(share, path)),
            _ => None,
        }
    }

    /// Whether it is of this key; `None` where it is one of the others.
    fn is_in(&self, key: &Key) -> Option<bool> {
        match *key {
            Key::Client(client) => self.client.map(|mine| mine == client),
            Key::Share(share) => self.share.map(|mine| mine == share),
            Key::Operation(operation) => self.operation.map(|mine| mine == operation),
            Key::Path(share, path) => self.share.zip(self.path).map(|mine| mine == (share, path)),
            _ => Some(false),
        }
    }
}
