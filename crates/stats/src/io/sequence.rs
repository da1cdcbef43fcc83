//! Detects requests that continue where an earlier one ended.
//!
//! A stream is the reads, or the writes, of one connection on one file. It remembers the last positions ([`HEADS`]), because a client can
//! read at several positions at once.

use serde::{Deserialize, Serialize};

use super::Request;
use crate::state::{Counter, fields};

/// Places that a stream remembers. A request at a random block of a file of n blocks is taken for sequential in 4 of n cases.
const HEADS: usize = 4;
/// Number of classes for the length of a run, in requests: one for each power of two from 1 to 2^31.
const LENGTHS: usize = 32;

/// Where a request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// It is the first of its stream.
    First,
    /// Where one of the stream's last four requests ended.
    Sequential,
    /// As far from one of the last four as that was from its own forerunner.
    Strided,
    /// Elsewhere.
    Random,
}

plimsoll_model::words! {
    Order,
    "All kinds.",
    "The word in reports.":
    First "first", Sequential "sequential", Strided "strided", Random "random"
}

/// Consecutive requests, each of which begins where the previous one ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    requests: u64,
    bytes: u64,
}

/// Runs: how many, and how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    count: u64,
    requests: u64,
    bytes: u64,
    /// By power of two of their requests: runs of 1, of 2 and 3, of 4 to 7, …
    lengths: [u64; LENGTHS],
}

impl Runs {
    pub(super) fn add(&mut self, run: Run) {
        self.count += 1;
        self.requests += run.requests;
        self.bytes = self.bytes.saturating_add(run.bytes);
        let class = run.requests.checked_ilog2().map_or(0, |power| power as usize).min(LENGTHS - 1);
        if let Some(count) = self.lengths.get_mut(class) {
            *count += 1;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.requests += other.requests;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.lengths.iter_mut().zip(&other.lengths).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean length, bytes; `None` without runs.
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.count > 0).then(|| self.bytes as f64 / self.count as f64)
    }

    /// Mean length, requests; `None` without runs.
    pub fn mean_requests(&self) -> Option<f64> {
        (self.count > 0).then(|| self.requests as f64 / self.count as f64)
    }

    /// Runs by their number of requests, from and to, of lengths in use.
    pub fn lengths(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let used = self.lengths.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(power, &count)| (1 << power, (2 << power) - 1, count))
    }
}

fields!("runs"; Runs { count, requests, bytes, lengths } if |runs| {
    Counter::all(&runs.lengths) && Counter::all(&[runs.count, runs.requests])
});

/// A place in a file that a stream has got to.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Head {
    begin: u64,
    end: u64,
    /// From the begin of the request before.
    stride: Option<i128>,
    run: Run,
}

impl Head {
    /// The run so far.
    pub(super) fn run(&self) -> Run {
        self.run
    }
}

/// A stream goes on: the order of the request, and the run that it ends. The head used last comes last.
pub(super) fn step(heads: &mut Vec<Head>, request: &Request) -> (Order, Option<Run>) {
    let Request { offset, bytes, .. } = *request;
    let end = offset.saturating_add(bytes);
    let from = |head: &Head| i128::from(offset) - i128::from(head.begin);
    let goes_on = heads.iter().rposition(|head| head.end == offset);
    let strides =
        || heads.iter().rposition(|head| head.stride.is_some_and(|stride| stride != 0 && stride == from(head)));
    let fresh = Run { requests: 1, bytes };
    if let Some(place) = goes_on {
        let mut head = heads.remove(place);
        let run = Run { requests: head.run.requests + 1, bytes: head.run.bytes.saturating_add(bytes) };
        head = Head { begin: offset, end, stride: Some(from(&head)), run };
        heads.push(head);
        return (Order::Sequential, None);
    }
    if let Some(place) = strides() {
        let head = heads.remove(place);
        heads.push(Head { begin: offset, end, stride: head.stride, run: fresh });
        return (Order::Strided, Some(head.run));
    }
    let stride = heads.last().map(from);
    let order = if heads.is_empty() { Order::First } else { Order::Random };
    let over = (heads.len() >= HEADS).then(|| heads.remove(0).run);
    heads.push(Head { begin: offset, end, stride, run: fresh });
    (order, over)
}
