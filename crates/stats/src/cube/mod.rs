//! Sums by client, server, share, operation, status and time at once: the data of a page that shows any part of a capture.
//!
//! A [`Cube`] is a sink of bounded memory for any input. Times of requests fall into equal bins, which widen if there are too many cells
//! or histogram entries. The width depends only on the transactions, not on their order, so merged parts are exactly the whole. If even a
//! single bin of time is too much, the histograms become coarser. Combinations without room after that, and keys beyond [`MAX_KEYS`] of a
//! dimension, are summed as "others", first come, first served.
//!
//! [`Cube::folded`] is the part small enough to show: in each dimension the keys for which clients waited longest.

mod cell;
mod folded;
mod histogram;
mod keys;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Endpoint, Names, Operation, Outcome, Procedure, Protocol, Sink, Symbol, Transaction};

use crate::BASE_NS;
use crate::headline::Headline;
pub use cell::CubeCell;
pub use folded::{FoldLimits, FoldedCell, FoldedCube, FoldedKey};
pub use histogram::CubeHistogram;
use keys::{Keys, OTHERS};

/// Maximum number of keys of a dimension; the data of further keys is summed in one.
pub const MAX_KEYS: u16 = 4_096;
/// Most bins of time.
pub const MAX_CUBE_BINS: i64 = 120;
/// Dimensions beside time.
pub const CUBE_DIMENSIONS: usize = 5;

/// Maximum number of histogram entries of all cells, 8 bytes each; a cell counts as [`CELL_WEIGHT`] entries. With the reserve of growing
/// lists about 64 MiB.
const MAX_WEIGHT: usize = 1 << 22;
const CELL_WEIGHT: usize = 40;
/// A bin as wide as all of time needs no doubling.
const MAX_DOUBLINGS: u32 = 44;
/// Histograms become no coarser than two bins per octave.
const MAX_JOINED: u32 = 4;

/// A key of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CubeKey {
    /// Client address.
    Client(IpAddr),
    /// Server address and port.
    Server(Endpoint),
    /// Share or export; `Symbol::NONE` where it is not known.
    Share(Symbol),
    /// Operation.
    Operation(Operation),
    /// Status of the answer.
    Status(CubeStatus),
}

/// How a request ended, as far as one can filter by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CubeStatus {
    /// A status on the wire.
    Wire(Protocol, u32),
    /// None was seen.
    Without(Outcome),
}

/// Where a cell is: the numbers of its keys, and its bin of time; `None` where the time of the request was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place {
    keys: [u16; CUBE_DIMENSIONS],
    bin: Option<i64>,
}

/// The numbers of each combination of client, server, share, operation, status and time.
#[derive(Clone, Debug)]
pub struct Cube {
    headline: Headline,
    clients: Keys<IpAddr>,
    servers: Keys<Endpoint>,
    shares: Keys<Symbol>,
    operations: Keys<Operation>,
    statuses: Keys<CubeStatus>,
    cells: HashMap<Place, CubeCell>,
    /// A bin is [`BASE_NS`] × 2^`doublings` wide.
    doublings: u32,
    /// `1 << joined` neighbouring bins of the histograms are one.
    joined: u32,
    /// First and last bin.
    span: Option<(i64, i64)>,
    weight: usize,
    max_weight: usize,
    write_raw_async: Procedure,
}

impl Cube {
    /// Nothing counted yet; `headline` is the response time that leads.
    pub fn new(headline: Headline) -> Self {
        Self {
            headline,
            clients: Keys::new(MAX_KEYS),
            servers: Keys::new(MAX_KEYS),
            shares: Keys::new(MAX_KEYS),
            operations: Keys::new(MAX_KEYS),
            statuses: Keys::new(MAX_KEYS),
            cells: HashMap::new(),
            doublings: 0,
            joined: 0,
            span: None,
            weight: 0,
            max_weight: MAX_WEIGHT,
            write_raw_async: Procedure::write_raw_async(),
        }
    }

    /// Takes one transaction: those that a breakdown takes.
    pub fn record(&mut self, t: &Transaction) {
        let is_left_out = t.procedure == self.write_raw_async || t.long_lived || !t.counted;
        if is_left_out || t.outcome == Outcome::NeverSent {
            return;
        }
        let status = match t.status {
            Some(status) => CubeStatus::Wire(t.procedure.row().protocol, status),
            None => CubeStatus::Without(t.outcome),
        };
        let keys = [
            self.clients.number(t.client.ip),
            self.servers.number(t.server),
            self.shares.number(t.share),
            self.operations.number(t.procedure.row().operation),
            self.statuses.number(status),
        ];
        let response_ns = self.headline.of(&t.timeline).and_then(|ns| u64::try_from(ns).ok());
        let bin = t.timeline.request_first.map(|ns| self.cover(ns.div_euclid(BASE_NS) >> self.doublings));
        let place = self.with_room(Place { keys, bin });
        let joined = self.joined;
        let added = self.cell(place).record(t, response_ns, joined);
        self.weight += added;
        self.keep_bounds();
    }

    /// Makes a bin, numbered at the present width, one of those that there are; gives its number afterwards.
    fn cover(&mut self, mut bin: i64) -> i64 {
        loop {
            let (first, last) = self.span.map_or((bin, bin), |(first, last)| (first.min(bin), last.max(bin)));
            self.span = Some((first, last));
            if last - first < MAX_CUBE_BINS {
                return bin;
            }
            self.double();
            bin >>= 1;
        }
    }

    /// The place, or that of "others" at its time if there is no room for another cell.
    fn with_room(&self, place: Place) -> Place {
        let has_room = self.weight + CELL_WEIGHT <= self.max_weight || self.cells.contains_key(&place);
        if has_room { place } else { Place { keys: [OTHERS; CUBE_DIMENSIONS], ..place } }
    }

    fn cell(&mut self, place: Place) -> &mut CubeCell {
        self.cells.entry(place).or_insert_with(|| {
            self.weight += CELL_WEIGHT;
            CubeCell::default()
        })
    }

    /// Widens the bins of time while the cube is over its limit; with a single bin left, widens those of the histograms.
    fn keep_bounds(&mut self) {
        while self.weight > self.max_weight - CELL_WEIGHT {
            let several = self.span.is_some_and(|(first, last)| first < last);
            if several && self.doublings < MAX_DOUBLINGS {
                self.double();
            } else if self.joined < MAX_JOINED {
                self.join();
            } else {
                return;
            }
        }
    }

    fn join(&mut self) {
        self.joined += 1;
        self.cells.values_mut().for_each(|cell| cell.coarsen(1));
        self.weight = self.cells.values().map(|cell| CELL_WEIGHT + cell.entries()).sum();
    }

    fn double(&mut self) {
        self.doublings += 1;
        self.span = self.span.map(|(first, last)| (first >> 1, last >> 1));
        self.weight = 0;
        for (place, cell) in std::mem::take(&mut self.cells) {
            self.add(Place { bin: place.bin.map(|bin| bin >> 1), ..place }, &cell);
        }
    }

    fn add(&mut self, place: Place, cell: &CubeCell) {
        let added = self.cell(place).merge(cell);
        self.weight += added;
    }

    /// Adds another part of the same data (with the same names, and the same response time leading).
    pub fn merge(&mut self, other: &Cube) {
        let mine = [
            other.clients.iter().map(|key| self.clients.number(key)).collect(),
            other.servers.iter().map(|key| self.servers.number(key)).collect(),
            other.shares.iter().map(|key| self.shares.number(key)).collect(),
            other.operations.iter().map(|key| self.operations.number(key)).collect(),
            other.statuses.iter().map(|key| self.statuses.number(key)).collect::<Vec<_>>(),
        ];
        while self.doublings < other.doublings {
            self.double();
        }
        while self.joined < other.joined {
            self.join();
        }
        // Which combinations find room must not depend on the order of a hash table.
        let mut cells: Vec<(&Place, &CubeCell)> = other.cells.iter().collect();
        cells.sort_unstable_by_key(|&(place, _)| *place);
        for (place, cell) in cells {
            let renumber = |dimension: usize| match place.keys[dimension] {
                OTHERS => OTHERS,
                number => mine[dimension].get(usize::from(number) - 1).copied().unwrap_or(OTHERS),
            };
            let bin = place.bin.map(|bin| self.cover(bin >> (self.doublings - other.doublings)));
            let place = self.with_room(Place { keys: std::array::from_fn(renumber), bin });
            // The copy may be coarsened while it is added.
            let mut cell = cell.clone();
            cell.coarsen(self.joined - other.joined);
            self.add(place, &cell);
            self.keep_bounds();
        }
    }

    /// The keys of each dimension in the order of their numbers, the first being number 1: clients, servers, shares, operations, statuses.
    pub fn keys(&self) -> [Vec<CubeKey>; CUBE_DIMENSIONS] {
        [
            self.clients.iter().map(CubeKey::Client).collect(),
            self.servers.iter().map(CubeKey::Server).collect(),
            self.shares.iter().map(CubeKey::Share).collect(),
            self.operations.iter().map(CubeKey::Operation).collect(),
            self.statuses.iter().map(CubeKey::Status).collect(),
        ]
    }

    /// Which response time leads.
    pub fn headline(&self) -> Headline {
        self.headline
    }
}

impl Sink for Cube {
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        self.record(transaction);
    }
}
