//! A part of the recent seconds, by one dimension.

use std::collections::{HashMap, HashSet};

use plimsoll_model::Symbol;

use super::Second;
use super::cells::Place;
use super::key_sums::SumsByKey;
use super::sum::LiveSum;
use crate::{Dimension, Key};

/// The dimensions of a table of a part, and of its filter.
pub const LIVE_DIMENSIONS: [Dimension; 4] =
    [Dimension::Client, Dimension::Share, Dimension::Operation, Dimension::Path];

/// Which of [`LIVE_DIMENSIONS`] a key is of.
pub fn live_dimension(key: &Key) -> Option<Dimension> {
    match key {
        Key::Client(_) => Some(Dimension::Client),
        Key::Share(_) => Some(Dimension::Share),
        Key::Operation(_) => Some(Dimension::Operation),
        Key::Path(..) => Some(Dimension::Path),
        _ => None,
    }
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRow {
    /// The key; `None` for requests without a known key: they were summed as others.
    pub key: Option<Key>,
    /// Its requests.
    pub sum: LiveSum,
    /// Whether more requests may belong to the key: they were summed as others.
    pub at_least: bool,
}

/// A part by one dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveTable {
    /// Keys with the longest waits first, others last.
    pub rows: Vec<LiveRow>,
    /// The sum of all rows.
    pub total: LiveSum,
    /// Number of requests that may belong here, at most: they were summed as others.
    pub unknown: u64,
}

/// The requests of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Their sum.
    pub sum: LiveSum,
    /// Whether more requests may belong to the part: they were summed as others.
    pub at_least: bool,
}

impl LiveTable {
    /// What clients waited for in these seconds, where all of `within` holds, by one of [`LIVE_DIMENSIONS`].
    pub fn of<'a>(seconds: impl Iterator<Item = &'a Second>, within: &[Key], by: Dimension) -> Self {
        let mut table = Table { by, sums: HashMap::new(), unclear: Unclear::default(), unknown: 0 };
        for second in seconds {
            match second.cells().key_sums().and_then(|sums| sums.by(by)).filter(|_| within.is_empty()) {
                Some(sums) => table.add_all(sums),
                None => table.add_part(second, within),
            }
        }
        table.finish()
    }
}

/// A table that is being made.
struct Table {
    by: Dimension,
    sums: HashMap<Option<Key>, LiveSum>,
    unclear: Unclear,
    unknown: u64,
}

impl Table {
    fn add(&mut self, key: Option<Key>, sum: &LiveSum) {
        self.sums.entry(key).or_default().merge(sum);
    }

    /// Adds all requests of a second.
    fn add_all(&mut self, sums: &SumsByKey) {
        sums.iter().for_each(|(key, sum)| self.add(Some(*key), sum));
        if sums.others().count > 0 {
            self.add(None, sums.others());
            self.unclear.all = true;
        }
    }

    /// Adds the requests of a second where all of `within` holds.
    fn add_part(&mut self, second: &Second, within: &[Key]) {
        let (mut found, mut unclear) = (0, Vec::new());
        for (place, sum) in second.cells().iter() {
            match is_within(place, within) {
                Some(true) => {
                    let key = place.key(self.by);
                    if key.is_none() {
                        self.unclear.note(place, self.by);
                    }
                    self.add(key, sum);
                    found += sum.count;
                }
                Some(false) => {}
                None => unclear.push((place, sum.count)),
            }
        }
        let most = unclear.iter().map(|(_, count)| count).sum();
        let missing = exact(second, within).map_or(most, |all| all.count.saturating_sub(found).min(most));
        if missing > 0 {
            self.unknown += missing;
            unclear.iter().for_each(|(place, _)| self.unclear.note(place, self.by));
        }
    }

    fn finish(self) -> LiveTable {
        let Self { sums, unclear, unknown, .. } = self;
        let mut table = LiveTable { unknown, ..LiveTable::default() };
        sums.values().for_each(|sum| table.total.merge(sum));
        let row = |(key, sum): (Option<Key>, LiveSum)| LiveRow {
            at_least: key.is_some_and(|key| unclear.may_belong_to(&key)),
            key,
            sum,
        };
        table.rows = sums.into_iter().map(row).collect();
        table.rows.sort_unstable_by(|a, b| {
            let others_last = a.key.is_none().cmp(&b.key.is_none());
            others_last.then(b.sum.waited_ns.cmp(&a.sum.waited_ns)).then(a.key.cmp(&b.key))
        });
        table
    }
}

/// Keys to which further requests may belong.
#[derive(Default)]
struct Unclear {
    all: bool,
    keys: HashSet<Key>,
    /// All paths of these shares.
    shares: HashSet<Symbol>,
}

impl Unclear {
    /// A cell whose requests may or may not be in the table, or whose key is not known.
    fn note(&mut self, place: &Place, by: Dimension) {
        match (place.key(by), place.key(Dimension::Share)) {
            (Some(key), _) => _ = self.keys.insert(key),
            (None, Some(Key::Share(share))) if by == Dimension::Path => _ = self.shares.insert(share),
            _ => self.all = true,
        }
    }

    fn may_belong_to(&self, key: &Key) -> bool {
        self.all || self.keys.contains(key) || matches!(key, Key::Path(share, _) if self.shares.contains(share))
    }
}

/// The requests of a second where all of `within` holds.
pub(super) fn part(second: &Second, within: &[Key]) -> Selected {
    if let Some(sum) = exact(second, within) {
        return Selected { sum, at_least: false };
    }
    let mut selected = Selected::default();
    for (place, sum) in second.cells().iter() {
        match is_within(place, within) {
            Some(true) => selected.sum.merge(sum),
            Some(false) => {}
            None => selected.at_least = true,
        }
    }
    selected
}

/// The requests of a single key, if the second has their exact sum although combinations were summed as others.
fn exact(second: &Second, within: &[Key]) -> Option<LiveSum> {
    let [key] = within else { return None };
    let sums = second.cells().key_sums()?.by(live_dimension(key)?)?;
    (sums.others().count == 0).then(|| sums.get(key).cloned().unwrap_or_default())
}

/// Whether all of `within` holds at a place; `None` if that is not known.
fn is_within(place: &Place, within: &[Key]) -> Option<bool> {
    within.iter().map(|key| place.is_in(key)).reduce(both).unwrap_or(Some(true))
}

/// Whether both hold, as far as that is known.
fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}
