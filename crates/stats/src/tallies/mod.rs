//! Sums for a diagnosis: waiting by client, server, share and operation, by path, and for errors.
//!
//! They must be cheap: the sums of a request are found by the number of its connection, in a table of recently seen connections, and all
//! totals are computed on request.

mod answers;
mod cell;
mod course;
mod forgotten;
mod full;
mod listings;
mod locks;
mod paths;
mod pauses;
mod refusals;
mod repeats;
mod stalls;
mod state;
mod statuses;

use std::collections::HashMap;
use std::net::IpAddr;

pub use answers::Answers;
pub use cell::{ByOperation, Cell, Excess, MIN_COMPARED, SLOW_MEAN, SLOW_TYPICAL};
pub use course::{Busy, Course, SlowSpan};
pub use forgotten::Forgotten;
pub use full::{FULL, Full};
pub use listings::{Listing, Listings};
pub use locks::{LockHolder, LockRefusals, LockWaits};
pub use paths::{PathRow, Paths, sum_of};
pub use pauses::AfterPause;
use plimsoll_model::{Endpoint, Operation, Outcome, Symbol, Transaction};
pub use refusals::{InARow, Refusal, RefusedPath};
use serde::{Deserialize, Serialize};
pub use stalls::{Long, LongOnes, Periodic};
pub use statuses::{ErrorRow, Errors};

use crate::accumulator::Sample;

/// Maximum number of places: 5 MiB. The data of further places is not compared.
const MAX_PLACES: usize = 4096;
/// Connections of which the place is remembered.
const RECENT: usize = 256;

/// A client, a server and one of its shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlaceKey {
    /// Client address.
    pub client: IpAddr,
    /// Server address and port.
    pub server: Endpoint,
    /// Share or export, where known.
    pub share: Symbol,
}

/// Waits of one client at one share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Whose.
    pub key: PlaceKey,
    /// How long, by operation.
    pub operations: ByOperation,
    /// When the first and the last answer came, ns.
    pub span_ns: (i64, i64),
}

impl Place {
    fn waited_ns(&self) -> u64 {
        self.operations.iter().fold(0, |sum, (_, cell)| cell::sum(sum, cell.waited_ns))
    }
}

/// Sums for a diagnosis.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tallies {
    numbers: HashMap<PlaceKey, usize>,
    places: Vec<Place>,
    /// Time that clients waited at further places, ns.
    left_out_ns: u64,
    /// The number of each place's share, for pauses.
    shares: Vec<Option<u32>>,
    recent: Recent,
    course: Course,
    paths: Paths,
    errors: Errors,
    repeats: repeats::Repeats,
    refusals: refusals::Refusals,
    sessions: forgotten::Sessions,
    /// Requests for missing names.
    absent: ByOperation,
    /// Number of these at each place, by the numbers of the places.
    absent_at: Vec<u64>,
    answers: Box<[Answers; Operation::ALL.len()]>,
    locks: locks::Locks,
    pauses: pauses::Pauses,
    long: LongOnes,
    listings: Listings,
    /// Writes that were to be on stable storage before the answer, by the numbers of the places.
    durable: Vec<Cell>,
    /// The first answer that a server's storage is full.
    full: Option<Full>,
}

/// The places of the connections seen last.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Recent(#[serde(with = "plimsoll_model::wide::boxed")] Box<[Option<(u32, Symbol, u32)>; RECENT]>);

impl Default for Recent {
    fn default() -> Self {
        Self(Box::new([None; RECENT]))
    }
}

impl Tallies {
    /// Takes a request that is counted and not long-lived.
    #[inline]
    pub(crate) fn record(&mut self, t: &Transaction, measured: &Sample) {
        let Some(waited_ns) = measured.headline_ns() else { return };
        self.locks.record(t, None);
        let is_waited_for = crate::Waiting::counts(t);
        if t.outcome.is_error() {
            self.errors.record(t, if is_waited_for { waited_ns } else { 0 });
            self.sessions.refused(t);
        }
        let repeated = self.repeats.record(t);
        if let Some((status, pause_ns)) = repeated {
            self.errors.repeated(t, status, pause_ns);
        }
        if !is_waited_for {
            return;
        }
        let slot = t.connection as usize % RECENT;
        let number = match self.recent.0[slot] {
            Some((connection, share, number)) if connection == t.connection && share == t.share => number as usize,
            _ => match self.find(t, slot) {
                Some(number) => number,
                None => {
                    self.leave_out(waited_ns);
                    return;
                }
            },
        };
        let place = &self.places[number];
        let cell = Cell::of(t, measured, waited_ns, 1);
        let operation = t.procedure.row().operation;
        let sum = &place.operations.0[operation as usize];
        if operation == Operation::Session {
            self.refusals.record_logon(t, place.key);
            self.sessions.record(t);
        } else if t.outcome.is_error() {
            let absent =
                self.absent_at.get(number).map_or(0, |&count| count.min(self.absent.0[operation as usize].count));
            let repeats = repeated.is_some_and(|(status, _)| Some(status) == t.status);
            self.refusals.record(t, place.key, (sum.count, absent), &self.paths, repeats);
            if self.full.is_none() && full::is_full(t) {
                self.full = Some(Full::of(t, &self.places));
            }
        }
        let place = &mut self.places[number];
        place.operations.0[operation as usize].add_request(&cell);
        if let Some(end) = t.timeline.response_last {
            place.span_ns.1 = place.span_ns.1.max(end);
        }
        if t.asked.durable == Some(true) {
            self.record_durable(number, &cell);
        }
        self.course.record(t, &cell);
        self.answers[t.procedure.row().operation as usize].record(t);
        self.paths.record(t, measured, waited_ns);
        self.long.record(t, waited_ns);
        self.listings.record(t, &cell);
        if t.outcome == Outcome::Expected && statuses::is_absent(t) {
            self.absent.0[operation as usize].add(&cell);
            self.record_absent(number, 1);
        }
        if let Some(Some(share)) = self.shares.get(number) {
            self.pauses.record(*share, t, &cell);
        }
    }

    /// Takes a request that is counted and long-lived.
    #[cold]
    pub(crate) fn record_long_lived(&mut self, t: &Transaction, measured: &Sample) {
        self.locks.record(t, measured.headline_ns());
    }

    #[cold]
    fn leave_out(&mut self, waited_ns: u64) {
        self.left_out_ns = cell::sum(self.left_out_ns, waited_ns);
    }

    fn record_absent(&mut self, number: usize, count: u64) {
        if self.absent_at.len() <= number {
            self.absent_at.resize(number + 1, 0);
        }
        self.absent_at[number] = self.absent_at[number].saturating_add(count);
    }

    #[cold]
    fn record_durable(&mut self, number: usize, cell: &Cell) {
        if self.durable.len() <= number {
            self.durable.resize(number + 1, Cell::default());
        }
        self.durable[number].add(cell);
    }

    #[cold]
    fn find(&mut self, t: &Transaction, slot: usize) -> Option<usize> {
        let number = self.place(PlaceKey { client: t.client.ip, server: t.server, share: t.share })?;
        let place = &mut self.places[number];
        let end = t.timeline.response_last.unwrap_or(i64::MAX);
        place.span_ns = (place.span_ns.0.min(end), place.span_ns.1);
        self.recent.0[slot] = Some((t.connection, t.share, u32::try_from(number).ok()?));
        Some(number)
    }

    fn place(&mut self, key: PlaceKey) -> Option<usize> {
        if let Some(&number) = self.numbers.get(&key) {
            return Some(number);
        }
        if self.places.len() >= MAX_PLACES {
            return None;
        }
        self.numbers.insert(key, self.places.len());
        self.shares.push(self.pauses.number((key.server.ip, key.share)));
        self.places.push(Place { key, operations: ByOperation::default(), span_ns: (i64::MAX, i64::MIN) });
        Some(self.places.len() - 1)
    }

    /// Adds another part of the same data.
    pub(crate) fn merge(&mut self, other: &Tallies) {
        // Of two parts it is not known which came first.
        self.full = match (self.places.is_empty(), other.places.is_empty()) {
            (true, _) => other.full.clone(),
            (_, true) => self.full.take(),
            _ => None,
        };
        self.leave_out(other.left_out_ns);
        for (at, theirs) in other.places.iter().enumerate() {
            let Some(number) = self.place(theirs.key) else {
                self.leave_out(theirs.waited_ns());
                continue;
            };
            if let Some(durable) = other.durable.get(at) {
                self.record_durable(number, durable);
            }
            self.record_absent(number, other.absent_at.get(at).copied().unwrap_or(0));
            let mine = &mut self.places[number];
            mine.operations.add(&theirs.operations);
            mine.span_ns = (mine.span_ns.0.min(theirs.span_ns.0), mine.span_ns.1.max(theirs.span_ns.1));
        }
        self.course.merge(&other.course);
        self.paths.merge(&other.paths);
        self.errors.merge(&other.errors);
        self.refusals.merge(other.refusals(), other.refused_paths());
        self.sessions.merge(&other.sessions);
        self.answers.iter_mut().zip(other.answers.iter()).for_each(|(mine, theirs)| mine.merge(theirs));
        self.locks.merge(&other.locks);
        self.absent.add(&other.absent);
        self.pauses.merge(&other.pauses);
        self.long.merge(&other.long);
        self.listings.merge(&other.listings);
    }

    /// Each client at each share, in the order in which they came.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Whether these are all places: further ones are left out.
    pub fn has_all_places(&self) -> bool {
        self.places.len() < MAX_PLACES
    }

    /// What clients waited for at all places for which `is_in` holds.
    pub fn sum(&self, is_in: impl Fn(&PlaceKey) -> bool) -> ByOperation {
        ByOperation::sum(self.places.iter().filter(|place| is_in(&place.key)).map(|place| &place.operations))
    }

    /// How long they waited in all, also at the places that are left out, ns.
    pub fn waited_ns(&self) -> u64 {
        self.places.iter().fold(self.left_out_ns, |sum, place| cell::sum(sum, place.waited_ns()))
    }

    /// The same over time.
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// The paths that clients waited for.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Times between answers to requests for an operation while others wait.
    pub fn answers(&self, operation: Operation) -> &Answers {
        &self.answers[operation as usize]
    }

    /// Requests that waited for byte-range locks, by file. Their times are in no other sum.
    pub fn lock_waits(&self) -> Vec<LockWaits> {
        self.locks.waits()
    }

    /// Requests that were refused because of a lock of another client, by file.
    pub fn lock_refusals(&self) -> Vec<LockRefusals> {
        self.locks.refusals()
    }

    /// The errors that they got.
    pub fn errors(&self) -> &Errors {
        &self.errors
    }

    /// Refusals by client, share, operation and status, with successes before and since.
    pub fn refusals(&self) -> Vec<Refusal> {
        let answered = |key: &PlaceKey, operation: Operation| {
            let place = self.numbers.get(key).and_then(|&number| self.places.get(number));
            place.map_or(0, |place| place.operations.0[operation as usize].count)
        };
        self.refusals.rows(answered, &self.paths)
    }

    /// The paths of refusals, as many as are held.
    pub fn refused_paths(&self) -> Vec<RefusedPath> {
        self.refusals.refused_paths()
    }

    /// Statuses for state that a server does not have, by session.
    pub fn forgotten(&self) -> &[Forgotten] {
        self.sessions.rows()
    }

    /// Writes whose data were to be on stable storage before the answer, at each place that has any.
    pub fn durable(&self) -> impl Iterator<Item = (&PlaceKey, &Cell)> {
        let places = self.places.iter().map(|place| &place.key);
        places.zip(&self.durable).filter(|(_, cell)| cell.count > 0)
    }

    /// Requests for names that are not there, by operation.
    pub fn absent(&self) -> &ByOperation {
        &self.absent
    }

    /// How many of the requests at some places were for names that are not there.
    pub fn absent_at(&self, is_in: impl Fn(&PlaceKey) -> bool) -> u64 {
        let places = self.places.iter().zip(&self.absent_at);
        places.filter(|(place, _)| is_in(&place.key)).fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Requests after pauses compared with others, for each share and operation with pauses.
    pub fn after_pauses(&self) -> Vec<AfterPause> {
        self.pauses.slow(|server, share| self.sum(|key| key.server.ip == server && key.share == share))
    }

    /// Requests that took long.
    pub fn long(&self) -> &LongOnes {
        &self.long
    }

    /// Bytes written per client when a server first answered that its storage is full.
    pub fn full(&self) -> Option<&Full> {
        self.full.as_ref()
    }

    /// Directories that clients listed.
    pub fn listings(&self) -> &Listings {
        &self.listings
    }
}

crate::state::fields!("place"; PlaceKey { client, server, share });
crate::state::fields!("place with its sums"; Place { key, operations, span_ns });
