//! The paths for which clients waited, in bounded memory.
//!
//! A map of all paths would need a lookup for each request. So only some paths are noted: one whenever clients have waited for another
//! step of time, and one after each further step of requests. Each note stands for one step. Steps are so small at first that every
//! request is noted, and double with the number of notes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::{ByOperation, Cell};
use crate::accumulator::Sample;
use crate::state::{Reader, State, StateError, Writer};

/// Notes after which a step doubles.
const NOTES: u32 = 2048;
/// Requests between notes at first.
const FIRST_STEP: u64 = 1;
/// Waiting between notes at first, ns.
const FIRST_STEP_NS: u64 = 1_000;
/// Paths and operations held. Beyond, those with the least waiting go.
const MAX_ROWS: usize = 4096;

/// Notes of one operation on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRow {
    /// Its share, where known.
    pub share: Symbol,
    /// The path.
    pub path: Symbol,
    /// The operation.
    pub operation: Operation,
    /// Estimated from the notes.
    pub cell: Cell,
    /// Notes of requests and of waiting.
    pub notes: [u32; 2],
    /// The client, if only one was noted.
    pub client: Option<IpAddr>,
}

/// Keys are numbers that this process gave; the numbers of rows are small ([`MAX_ROWS`]).
type Numbers = HashMap<(Symbol, Symbol, Operation), u32, foldhash::fast::RandomState>;

/// The paths that were noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    numbers: Numbers,
    rows: Vec<PathRow>,
    requests: Step,
    waiting: Step,
    /// The state of the generator that keeps steps from keeping pace with what clients repeat.
    random: u64,
}

/// A step, how much of it is left, and notes since it doubled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Step {
    size: u64,
    passed: u64,
    until: u64,
    notes: u32,
}

impl Step {
    fn new(size: u64) -> Self {
        Self { size, passed: 0, until: size, notes: 0 }
    }

    /// The weight of the note; the next one follows after a step of half to one and a half times its size.
    ///
    /// Steps of the `first` size leave no remainder, so that sums are exact. Later notes stand for their step size, however much has
    /// passed: a long request crosses several steps, and must not get the remainder of earlier short ones.
    fn take(&mut self, random: u64, first: u64) -> u64 {
        self.notes += 1;
        let (size, until) = (self.size, self.until);
        if self.notes == NOTES {
            (self.notes, self.size) = (0, self.size.saturating_mul(2));
        }
        self.until = self.size - self.size / 2 + random % self.size;
        if size == first {
            return std::mem::take(&mut self.passed);
        }
        let beyond = self.passed.saturating_sub(until);
        self.passed = beyond % size;
        size.saturating_mul(1 + beyond / size)
    }
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            numbers: Numbers::default(),
            rows: Vec::new(),
            requests: Step::new(FIRST_STEP),
            waiting: Step::new(FIRST_STEP_NS),
            random: 0x9E37_79B9_7F4A_7C15,
        }
    }
}

impl Paths {
    #[inline]
    pub(super) fn record(&mut self, t: &Transaction, measured: &Sample, waited_ns: u64) {
        self.requests.passed += 1;
        self.waiting.passed = self.waiting.passed.saturating_add(waited_ns);
        if self.requests.passed >= self.requests.until || self.waiting.passed >= self.waiting.until {
            self.note(t, measured, waited_ns);
        }
    }

    #[cold]
    fn note(&mut self, t: &Transaction, measured: &Sample, waited_ns: u64) {
        // Xorshift (Marsaglia 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let mut cell = Cell::default();
        let mut notes = [0; 2];
        if self.requests.passed >= self.requests.until {
            let weight = self.requests.take(self.random, FIRST_STEP);
            let Cell { count, log2_sum, payload, .. } = Cell::of(t, measured, waited_ns, weight);
            (cell.count, cell.log2_sum, cell.payload, notes[0]) = (count, log2_sum, payload, 1);
        }
        if self.waiting.passed >= self.waiting.until {
            let weight = self.waiting.take(self.random >> 32, FIRST_STEP_NS);
            let one = Cell::of(t, measured, waited_ns, 1);
            // Divisions of 128 bits are slow, and times seldom need them.
            let part = |ns: u64| match ns.checked_mul(weight) {
                Some(product) => product / waited_ns.max(1),
                None => (u128::from(ns) * u128::from(weight) / u128::from(waited_ns.max(1))) as u64,
            };
            cell.waited_ns = weight;
            (cell.split_ns, cell.service_ns, notes[1]) = (part(one.split_ns), part(one.service_ns), 1);
        }
        if t.path.is_some() {
            let row = self.row(t);
            row.cell.add(&cell);
            row.notes.iter_mut().zip(notes).for_each(|(sum, one)| *sum = sum.saturating_add(one));
            row.client = row.client.filter(|client| *client == t.client.ip);
        }
    }

    fn row(&mut self, t: &Transaction) -> &mut PathRow {
        let key = (t.share, t.path, t.procedure.row().operation);
        if self.rows.len() >= MAX_ROWS && !self.numbers.contains_key(&key) {
            self.prune();
        }
        let number = match self.numbers.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let (share, path, operation) = key;
                let client = Some(t.client.ip);
                self.rows.push(PathRow { share, path, operation, cell: Cell::default(), notes: [0; 2], client });
                *new.insert(self.rows.len() as u32 - 1)
            }
        };
        &mut self.rows[number as usize]
    }

    /// Leaves the half with the most waiting.
    fn prune(&mut self) {
        // No row is equal to another: which half stays does not depend on their order.
        self.rows.select_nth_unstable_by_key(MAX_ROWS / 2, |row| {
            (std::cmp::Reverse(row.cell.waited_ns), row.share, row.path, row.operation)
        });
        self.rows.truncate(MAX_ROWS / 2);
        self.numbers = numbers(&self.rows);
    }

    /// Adds another part of the same data.
    pub(super) fn merge(&mut self, other: &Paths) {
        for theirs in &other.rows {
            match self.numbers.get(&key(theirs)) {
                Some(&number) => {
                    let mine = &mut self.rows[number as usize];
                    mine.cell.add(&theirs.cell);
                    mine.notes.iter_mut().zip(theirs.notes).for_each(|(sum, more)| *sum = sum.saturating_add(more));
                    mine.client = mine.client.filter(|_| mine.client == theirs.client);
                }
                None => {
                    if self.rows.len() >= MAX_ROWS {
                        self.prune();
                    }
                    self.numbers.insert(key(theirs), self.rows.len() as u32);
                    self.rows.push(*theirs);
                }
            }
        }
        for (mine, theirs) in [(&mut self.requests, &other.requests), (&mut self.waiting, &other.waiting)] {
            mine.size = mine.size.max(theirs.size);
        }
    }

    /// Each operation on each path.
    pub fn rows(&self) -> &[PathRow] {
        &self.rows
    }

    /// Requests for an operation on a path, as far as they are noted.
    pub(super) fn count(&self, key: (Symbol, Symbol, Operation)) -> Option<u64> {
        Some(self.rows.get(*self.numbers.get(&key)? as usize)?.cell.count)
    }

    /// The same, if only this client's were noted.
    pub(super) fn of_client(&self, t: &Transaction, operation: Operation) -> Option<u64> {
        let row = self.rows.get(*self.numbers.get(&(t.share, t.path, operation))? as usize)?;
        (row.client == Some(t.client.ip)).then_some(row.cell.count)
    }

    /// Whether each request was noted: then sums are exact.
    pub fn are_all(&self) -> bool {
        self.requests.size == FIRST_STEP && self.waiting.size == FIRST_STEP_NS && self.rows.len() < MAX_ROWS / 2
    }
}

/// Sums of several rows.
pub fn sum_of<'r>(rows: impl IntoIterator<Item = &'r PathRow>) -> ByOperation {
    let mut sum = ByOperation::default();
    rows.into_iter().for_each(|row| sum.0[row.operation as usize].add(&row.cell));
    sum
}

fn key(row: &PathRow) -> (Symbol, Symbol, Operation) {
    (row.share, row.path, row.operation)
}

fn numbers(rows: &[PathRow]) -> Numbers {
    rows.iter().zip(0..).map(|(row, number)| (key(row), number)).collect()
}

crate::state::fields!("path"; PathRow { share, path, operation, cell, notes, client });
crate::state::fields!("step"; Step { size, passed, until, notes } if |step| step.size > 0 && step.notes < NOTES);

impl State for Paths {
    fn put(&self, out: &mut Writer) {
        self.rows.put(out);
        self.requests.put(out);
        self.waiting.put(out);
        self.random.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let rows = Vec::<PathRow>::take(from)?;
        let numbers = numbers(&rows);
        if rows.len() > MAX_ROWS || numbers.len() != rows.len() {
            return Err(from.no("paths"));
        }
        Ok(Self {
            numbers,
            rows,
            requests: State::take(from)?,
            waiting: State::take(from)?,
            random: State::take(from)?,
        })
    }
}
