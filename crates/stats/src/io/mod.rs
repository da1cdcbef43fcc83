//! File access patterns: sizes of requests, sequences, working set and re-use.
//!
//! Only requests that read or write file data with a known range count. They are processed in the order in which they were sent: they
//! arrive in the order of their ends, so a window of them is sorted.

mod generations;
mod reuse;
mod sequence;
mod streams;

use plimsoll_model::{Group, Outcome, Transaction};
use serde::{Deserialize, Serialize};

pub(crate) use generations::Generations;
pub use reuse::{BLOCK_BYTES, Distance, Reuse};
use sequence::Run;
pub use sequence::{Order, Runs};
pub use streams::Limits;
use streams::{Found, Streams};

use crate::state::{Counter, Reader, State, StateError, Writer, fields};

/// Powers of two of a size of 64 bits, and nothing.
const SIZES: usize = 65;

/// What files' data are asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Io {
    reads: Direction,
    writes: Direction,
    reuse: Reuse,
    /// Reads and writes of which the place or the length is not known.
    unknown: u64,
    streams: Streams,
}

/// Reads, or writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// By power of two: how many requests asked for that many bytes, and for how many together.
    #[serde(with = "plimsoll_model::wide")]
    sizes: [(u64, u64); SIZES],
    /// Requests of each [`Order`].
    orders: [u64; Order::ALL.len()],
    /// Requests in a row.
    runs: Runs,
}

impl Default for Direction {
    fn default() -> Self {
        Self { sizes: [(0, 0); SIZES], orders: [0; Order::ALL.len()], runs: Runs::default() }
    }
}

/// A size class: requests of `from` to `to` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// Smallest size, bytes: 0, or a power of two.
    pub from: u64,
    /// Largest size, bytes.
    pub to: u64,
    /// How many requests.
    pub count: u64,
    /// Their requested bytes in total.
    pub bytes: u64,
}

/// A request on its way to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Request {
    sent: i64,
    /// Where two were sent at once, their order in the file decides.
    offset: u64,
    bytes: u64,
    file: u64,
    connection: u32,
    writes: bool,
}

impl Io {
    /// Nothing taken yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            reads: Direction::default(),
            writes: Direction::default(),
            reuse: Reuse::default(),
            unknown: 0,
            streams: Streams::new(limits),
        }
    }

    /// Takes a transaction that is an operation.
    #[inline]
    pub fn record(&mut self, t: &Transaction) {
        let row = t.procedure.row();
        let writes = row.group == Group::Write;
        if (row.group == Group::Read || writes) && row.carries_data && t.outcome != Outcome::NeverSent {
            self.take(t, writes);
        }
    }

    fn take(&mut self, t: &Transaction, writes: bool) {
        let asked = &t.asked;
        let (Some(file), Some(offset), Some(bytes), Some(sent)) =
            (asked.file, asked.offset, asked.bytes, t.timeline.request_first)
        else {
            self.unknown += 1;
            return;
        };
        let direction = if writes { &mut self.writes } else { &mut self.reads };
        direction.add_size(bytes);
        let moved = match t.outcome {
            Outcome::Refused | Outcome::Failed | Outcome::Unanswered | Outcome::NeverSent => 0,
            // A Write_Raw brings its data behind itself.
            _ if writes => bytes,
            // Less at the end of the file.
            _ => t.payload_bytes.unwrap_or(bytes).min(bytes),
        };
        self.reuse.record(sent, file.number(), offset, moved);
        let request = Request { sent, offset, bytes, file: file.number(), connection: t.connection, writes };
        let Self { reads, writes, streams, .. } = self;
        streams.take(request, &mut Found { reads, writes });
    }

    /// Takes what still waits, and ends all runs.
    #[must_use]
    pub fn settled(&self) -> Self {
        let mut all = self.clone();
        let streams = all.streams.leave();
        streams.end(&mut Found { reads: &mut all.reads, writes: &mut all.writes });
        all.reuse.sort();
        all
    }

    /// Adds another part of the same data: other connections, or another time.
    pub fn merge(&mut self, other: &Self) {
        let mut all = self.settled();
        let other = other.settled();
        all.reads.merge(&other.reads);
        all.writes.merge(&other.writes);
        all.reuse.merge(&other.reuse);
        all.unknown += other.unknown;
        *self = all;
    }

    /// Reads, without those still in the window.
    pub fn reads(&self) -> &Direction {
        &self.reads
    }

    /// Writes, without those still in the window.
    pub fn writes(&self) -> &Direction {
        &self.writes
    }

    /// Working set and re-use.
    pub fn reuse(&self) -> &Reuse {
        &self.reuse
    }

    /// Reads and writes that are in no other number, because their file, offset or length is unknown.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}

impl Direction {
    fn add_size(&mut self, bytes: u64) {
        let class = bytes.checked_ilog2().map_or(0, |power| power as usize + 1);
        if let Some((count, sum)) = self.sizes.get_mut(class) {
            (*count, *sum) = (*count + 1, sum.saturating_add(bytes));
        }
    }

    /// A request of this order, and the run that it ends.
    fn add(&mut self, order: Order, over: Option<Run>) {
        if let Some(count) = self.orders.get_mut(order as usize) {
            *count += 1;
        }
        over.into_iter().for_each(|run| self.add_run(run));
    }

    fn add_run(&mut self, run: Run) {
        self.runs.add(run);
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.sizes.iter_mut().zip(&other.sizes) {
            *mine = (mine.0 + theirs.0, mine.1.saturating_add(theirs.1));
        }
        self.orders.iter_mut().zip(&other.orders).for_each(|(mine, theirs)| *mine += theirs);
        self.runs.merge(&other.runs);
    }

    /// How many requests.
    pub fn requests(&self) -> u64 {
        self.sizes.iter().map(|(count, _)| count).sum()
    }

    /// Their requested bytes.
    pub fn bytes(&self) -> u64 {
        self.sizes.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// The size classes in use.
    pub fn sizes(&self) -> impl Iterator<Item = SizeClass> {
        self.sizes.iter().enumerate().filter(|(_, (count, _))| *count > 0).map(|(class, &(count, bytes))| {
            let from = class.checked_sub(1).map_or(0, |power| 1 << power);
            let to = class.checked_sub(1).map_or(0, |power| u64::MAX >> (63 - power.min(63)));
            SizeClass { from, to, count, bytes }
        })
    }

    /// Requests of each order.
    pub fn orders(&self) -> impl Iterator<Item = (Order, u64)> {
        Order::ALL.into_iter().zip(self.orders)
    }

    /// Requests in a row.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }
}

impl State for Io {
    fn put(&self, out: &mut Writer) {
        let Self { reads, writes, reuse, unknown, .. } = self.settled();
        (reads, writes).put(out);
        (reuse, unknown).put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let ((reads, writes), (reuse, unknown)) = (State::take(from)?, State::take(from)?);
        let io = Self { reads, writes, reuse, unknown, ..Self::new(Limits::CAPTURE) };
        if Counter::all(&[unknown]) { Ok(io) } else { Err(from.no("reads and writes")) }
    }
}

fields!("reads or writes"; Direction { sizes, orders, runs } if |it| {
    Counter::all(&it.orders) && it.sizes.iter().all(|(count, _)| Counter::all(&[*count]))
});

#[cfg(test)]
mod tests;
