//! A part of the recent seconds, by one dimension.

use std::collections::HashMap;

use super::Second;
use super::cells::Place;
use super::sum::LiveSum;
use crate::{Dimension, Key};

/// The dimensions of a table of a part, and of its filter.
pub const LIVE_DIMENSIONS: [Dimension; 4] =
    [Dimension::Client, Dimension::Share, Dimension::Operation, Dimension::Path];

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRow {
    /// The key; `None` for others: keys with too little waiting for a separate row.
    pub key: Option<Key>,
    /// Its requests.
    pub sum: LiveSum,
}

/// A part by one dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveTable {
    /// Keys with the longest waits first, others last.
    pub rows: Vec<LiveRow>,
    /// The sum of all rows.
    pub total: LiveSum,
    /// Requests that may or may not belong here: they were summed as others.
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

/// The requests of a second where all of `within` holds.
pub(super) fn part(second: &Second, within: &[Key]) -> LiveSum {
    let mut sum = LiveSum::default();
    let is_in = |place: &Place| within.iter().all(|key| place.is_in(key) == Some(true));
    second.cells().iter().filter(|(place, _)| is_in(place)).for_each(|(_, one)| sum.merge(one));
    sum
}

/// Whether both hold, as far as that is known.
fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}
