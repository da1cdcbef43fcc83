//! What clients waited for in a second, by client, share, operation and path at once.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol, Transaction};

use super::sum::LiveSum;
use crate::{Dimension, Key};

/// Cells of a second that is over: 5 minutes of them take some 13 MiB.
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
            Key::Path(share, path) => self.share.zip(self.path).map(|mine| mine == (share, path)),
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
}

impl Cells {
    pub(super) fn record(&mut self, t: &Transaction, response_ns: Option<u64>) {
        let place = Place {
            client: Some(t.client.ip),
            share: Some(t.share),
            operation: Some(t.procedure.row().operation),
            path: Some(t.path),
        };
        self.at(place).record(t, response_ns);
    }

    /// The cell of a place, or that of others if there are too many.
    fn at(&mut self, place: Place) -> &mut LiveSum {
        let cells = self.len();
        let is_there = |place: &Place| self.open.contains_key(place) || self.closed_at(place).is_ok();
        let place = match cells {
            _ if cells < MAX_OPEN_CELLS || is_there(&place) => place,
            _ if cells < 2 * MAX_OPEN_CELLS => Place { path: None, ..place },
            _ => Place::OTHERS,
        };
        match self.closed_at(&place) {
            Ok(at) => &mut self.closed[at].1,
            Err(_) => self.open.entry(place).or_default(),
        }
    }

    fn closed_at(&self, place: &Place) -> Result<usize, usize> {
        self.closed.binary_search_by(|(other, _)| other.cmp(place))
    }

    /// Adds the cells of another part of the same second.
    pub(super) fn merge(&mut self, part: Cells) {
        if self.is_empty() {
            *self = part;
            return;
        }
        for (place, sum) in part.closed.into_iter().chain(part.open) {
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
        for without in [|place: Place| Place { path: None, ..place }, |_| Place::OTHERS] {
            if cells.len() <= MAX_CELLS {
                break;
            }
            sort(&mut cells);
            let rest = cells.split_off(MAX_CELLS / 2);
            let mut folded: HashMap<Place, LiveSum, Seeded> = cells.into_iter().collect();
            for (place, sum) in rest {
                folded.entry(without(place)).or_default().merge(&sum);
            }
            cells = folded.into_iter().collect();
        }
        cells.sort_unstable_by_key(|(place, _)| *place);
        // As a new list: the old one had room for all.
        self.closed = cells.iter().map(|(place, sum)| (*place, sum.clone())).collect();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Place, &LiveSum)> {
        self.closed.iter().map(|(place, sum)| (place, sum)).chain(&self.open)
    }

    /// The combinations that stay at the end of the second, longest waits first, and the sum of the others.
    pub fn folded(&self) -> Vec<(Place, LiveSum)> {
        let mut cells = self.clone();
        cells.fold();
        sort(&mut cells.closed);
        cells.closed
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

/// Those that clients waited longest for first; equal ones in an order that does not depend on a hash table.
fn sort(cells: &mut [(Place, LiveSum)]) {
    cells.sort_unstable_by(|(a, one), (b, other)| other.waited_ns.cmp(&one.waited_ns).then(a.cmp(b)));
}
