//! What clients waited for in a second, by client, share, operation and path at once.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol, Transaction};

use super::sum::LiveSum;
use crate::{Dimension, Key};

/// Cells of a second that is over: 5 minutes of them take some 16 MiB.
const MAX_CELLS: usize = 256;
/// Cells of a second that goes on: beyond, paths are not told apart, and beyond twice as many nothing is.
const MAX_OPEN_CELLS: usize = 4_096;

/// Strangers choose the names.
type Seeded = foldhash::quality::RandomState;

/// A combination of client, share, operation and path; `None` stands for all others.
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

    /// Whether it is of this key; `None` where it is one of the others.
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
    by_place: HashMap<Place, LiveSum, Seeded>,
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

    /// The cell of a place, or that of others where there are too many.
    fn at(&mut self, place: Place) -> &mut LiveSum {
        let cells = self.by_place.len();
        let place = match cells {
            _ if cells < MAX_OPEN_CELLS || self.by_place.contains_key(&place) => place,
            _ if cells < 2 * MAX_OPEN_CELLS => Place { path: None, ..place },
            _ => Place::OTHERS,
        };
        self.by_place.entry(place).or_default()
    }

    /// Adds those of another part of the same second.
    pub(super) fn merge(&mut self, part: Cells) {
        if self.by_place.is_empty() {
            *self = part;
            return;
        }
        for (place, sum) in part.by_place {
            self.at(place).merge(&sum);
        }
    }

    /// The second is over: those that clients waited longest for stay as they are, the others are summed.
    pub(super) fn fold(&mut self) {
        if self.by_place.len() <= MAX_CELLS {
            return;
        }
        for without in [|place: Place| Place { path: None, ..place }, |_| Place::OTHERS] {
            let mut cells: Vec<(Place, LiveSum)> = std::mem::take(&mut self.by_place).into_iter().collect();
            // Equal ones in an order that does not depend on a hash table.
            cells.sort_unstable_by(|(a, one), (b, other)| other.waited_ns.cmp(&one.waited_ns).then(a.cmp(b)));
            let rest = cells.split_off(cells.len().min(MAX_CELLS / 2));
            self.by_place.extend(cells);
            for (place, sum) in rest {
                self.by_place.entry(without(place)).or_default().merge(&sum);
            }
            if self.by_place.len() <= MAX_CELLS {
                self.by_place.shrink_to_fit();
                return;
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Place, &LiveSum)> {
        self.by_place.iter()
    }

    /// The combinations that stay when the second is over, and the sum of the others: those that clients waited longest for first.
    pub fn folded(&self) -> Vec<(Place, LiveSum)> {
        let mut cells = self.clone();
        cells.fold();
        let mut cells: Vec<(Place, LiveSum)> = cells.by_place.into_iter().collect();
        cells.sort_unstable_by(|(a, one), (b, other)| other.waited_ns.cmp(&one.waited_ns).then(a.cmp(b)));
        cells
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_place.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }
}
