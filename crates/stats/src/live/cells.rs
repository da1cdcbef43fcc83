//! What clients waited for in a second, by client, share, operation and path at once.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol, Transaction};

use super::key_sums::KeySums;
use super::sum::LiveSum;
use crate::{Dimension, Key};

/// Cells of a second that is over: 5 minutes of them take some 13 MiB. A second with more has half as many, and [`KeySums`].
const MAX_CELLS: usize = 256;
/// Maximum number of cells of the current second with separate paths; beyond twice as many, all other dimensions are summed too.
const MAX_OPEN_CELLS: usize = 4_096;

/// Other people choose the names, so the hash has a random seed.
type Seeded = foldhash::quality::RandomState;

/// A combination of client, share, operation and path; `None` stands for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub(super) client: Option<IpAddr>,
    pub(super) share: Option<Symbol>,
    pub(super) operation: Option<Operation>,
    pub(super) path: Option<Symbol>,
}

impl Place {
    const OTHERS: Place = Place { client: None, share: None, operation: None, path: None };

    /// The key in one of [`LIVE_DIMENSIONS`](super::LIVE_DIMENSIONS); `None` for others.
    pub fn key(&self, by: Dimension) -> Option<Key> {
        match by {
            Dimension::Client => self.client.map(Key::Client),
            Dimension::Share => self.share.map(Key::Share),
            Dimension::Operation => self.operation.map(Key::Operation),
            Dimension::Path => self.share.zip(self.path).map(|(share, path)| Key::Path(share, path)),
            _ => None,
        }
    }

    /// Whether it has this key; `None` if it belongs to others.
    pub(super) fn is_in(&self, key: &Key) -> Option<bool> {
        match *key {
            Key::Client(client) => self.client.map(|mine| mine == client),
            Key::Share(share) => self.share.map(|mine| mine == share),
            Key::Operation(operation) => self.operation.map(|mine| mine == operation),
            Key::Path(share, _) if self.share.is_some_and(|mine| mine != share) => Some(false),
            Key::Path(_, path) => self.share.and(self.path).map(|mine| mine == path),
            _ => Some(false),
        }
    }
}

/// The combinations of a second.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// Those of a second that is over, in the order of their places: a list takes half the memory of a table.
    closed: Vec<(Place, LiveSum)>,
    open: HashMap<Place, LiveSum, Seeded>,
    /// The same by one dimension at a time, as soon as a cell stands for others: it does not say whose its requests are.
    key_sums: Option<Box<KeySums>>,
}

impl Cells {
    pub(super) fn record(&mut self, t: &Transaction, response_ns: Option<u64>) {
        let place = Place {
            client: Some(t.client.ip),
            share: Some(t.share),
            operation: Some(t.procedure.row().operation),
            path: Some(t.path),
        };
        let counted_at = self.place_for(place);
        if counted_at == Place::OTHERS {
            self.begin_key_sums();
        }
        if let Some(key_sums) = &mut self.key_sums {
            key_sums.record(&place, t, response_ns);
        }
        self.at(counted_at).record(t, response_ns);
    }

    /// The place of the cell that counts what belongs at a place: that of others if there are too many.
    fn place_for(&self, place: Place) -> Place {
        let cells = self.len();
        let is_there = |place: &Place| self.open.contains_key(place) || self.closed_at(place).is_ok();
        match cells {
            _ if cells < MAX_OPEN_CELLS || is_there(&place) => place,
            _ if cells < 2 * MAX_OPEN_CELLS => Place { path: None, ..place },
            _ => Place::OTHERS,
        }
    }

    fn at(&mut self, place: Place) -> &mut LiveSum {
        match self.closed_at(&place) {
            Ok(at) => &mut self.closed[at].1,
            Err(_) => self.open.entry(place).or_default(),
        }
    }

    /// From now on there are sums by one dimension. No cell stands for others so far.
    fn begin_key_sums(&mut self) {
        if self.key_sums.is_none() {
            self.key_sums = Some(Box::new(KeySums::of(self.iter())));
        }
    }

    fn closed_at(&self, place: &Place) -> Result<usize, usize> {
        self.closed.binary_search_by(|(other, _)| other.cmp(place))
    }

    /// Adds the cells of another part of the same second.
    pub(super) fn merge(&mut self, mut part: Cells) {
        if self.is_empty() {
            *self = part;
            return;
        }
        let may_be_too_many = self.len() + part.len() > 2 * MAX_OPEN_CELLS;
        if may_be_too_many || self.key_sums.is_some() || part.key_sums.is_some() {
            self.begin_key_sums();
            part.begin_key_sums();
            self.key_sums.iter_mut().zip(&part.key_sums).for_each(|(all, part)| all.merge(part));
        }
        for (place, sum) in part.closed.into_iter().chain(part.open) {
            let place = self.place_for(place);
            self.at(place).merge(&sum);
        }
    }

    /// Ends the second: the cells for which clients waited longest stay, all others are summed.
    pub(super) fn fold(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let mut cells = std::mem::take(&mut self.closed);
        cells.extend(std::mem::take(&mut self.open));
        if cells.len() > MAX_CELLS {
            cells = joined(cells, |place| Place { path: None, ..place });
        }
        if cells.len() > MAX_CELLS {
            let all = || Box::new(KeySums::of(cells.iter().map(|(place, sum)| (place, sum))));
            self.key_sums.get_or_insert_with(all);
            cells = joined(cells, |_| Place::OTHERS);
        }
        if let Some(key_sums) = &mut self.key_sums {
            key_sums.fold();
        }
        cells.sort_unstable_by_key(|(place, _)| *place);
        // As a new list: the old one had room for all.
        self.closed = cells.iter().map(|(place, sum)| (*place, sum.clone())).collect();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Place, &LiveSum)> {
        self.closed.iter().map(|(place, sum)| (place, sum)).chain(&self.open)
    }

    /// The combinations that stay at the end of the second, longest waits first, and the sum of the others; then [`Cells::key_sums`].
    pub fn folded(&self) -> (Vec<(Place, LiveSum)>, Option<Box<KeySums>>) {
        let mut cells = self.clone();
        cells.fold();
        sort(&mut cells.closed);
        (cells.closed, cells.key_sums)
    }

    /// The sums by client, by share and by operation, if a combination stands for others; otherwise the combinations give the same.
    pub fn key_sums(&self) -> Option<&KeySums> {
        self.key_sums.as_deref()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.closed.len() + self.open.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty() && self.open.is_empty()
    }
}

/// The half of [`MAX_CELLS`] that clients waited longest for, and all others at the places that `without` gives.
fn joined(mut cells: Vec<(Place, LiveSum)>, without: impl Fn(Place) -> Place) -> Vec<(Place, LiveSum)> {
    sort(&mut cells);
    let rest = cells.split_off(MAX_CELLS / 2);
    let mut joined: HashMap<Place, LiveSum, Seeded> = cells.into_iter().collect();
    for (place, sum) in rest {
        joined.entry(without(place)).or_default().merge(&sum);
    }
    joined.into_iter().collect()
}

/// Those that clients waited longest for first; equal ones in an order that does not depend on a hash table.
fn sort(cells: &mut [(Place, LiveSum)]) {
    cells.sort_unstable_by(|(a, one), (b, other)| other.waited_ns.cmp(&one.waited_ns).then(a.cmp(b)));
}
