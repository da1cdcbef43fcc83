//! Equal intervals of time, each with the sums of every procedure: the basis of comparisons, confidence intervals and recordings.
//!
//! ```text
//! transactions ─ IntervalRecorder ─ finish() ──────────────── Intervals ─ iter() ─ Interval ─ rows(), group(), total()
//!                       └────────── drain_before(instant) ─── Interval … to a file ─ add() ─┘           └ IntervalRow
//! ```
//!
//! * **Where an operation counts.** In the interval in which its answer ended, as in [`Series`](crate::Series); without an answer
//!   (unanswered, connection lost) in the interval in which its request began. Without either instant it is in none:
//!   [`Intervals::unplaced`] counts it. Requests that wait by design and requests never sent are left out, as in the crate's table;
//!   Write_Raw's asynchronous part adds its bytes and no count.
//! * **Which intervals there are.** They begin at multiples of their width since the Unix epoch, so the intervals of separate parts
//!   match. Empty intervals are not stored: code that needs the zeros (rates, autocorrelation) counts from one [`Interval::start_ns`] to
//!   the next. The start and end of a phase cut its first and last interval; the phase's span gives their lengths.
//! * **Exact.** Rows are integers and histogram cells do not depend on the data, so parts merged in any order are the
//!   whole, bucket for bucket; and all intervals of a level merged have the percentiles of its report.
//! * **Bounded.** Histogram cells cost 2 to 3 bytes, and a row as much as 64 of them; where more than [`MAX_CELLS`] are held,
//!   intervals join to those of the next width. The width that results depends on the data alone, not on its order. Whoever hands finished
//!   intervals on in time (`drain_before`) never gets there.

mod recorder;
mod row;
mod state;
mod width;

use std::collections::BTreeMap;

pub use recorder::IntervalRecorder;
pub use row::{Interval, IntervalRow};
pub use state::IntervalsReader;
pub use width::IntervalWidth;

/// Histogram cells held before intervals are joined: some 20 MiB. A busy second of ten procedures has some 3,000 of them, so
/// half an hour of it stays as it is.
pub const MAX_CELLS: usize = 8 << 20;

/// What a row costs besides its cells, in cells: its sums take 160 bytes.
const ROW_CELLS: usize = 64;

/// Intervals narrower than a second that [`Intervals::growing`] keeps: 20 s.
const MAX_NARROW: usize = 200;

/// The intervals in which something happened, in time order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervals {
    pub(crate) width: IntervalWidth,
    pub(crate) growing: bool,
    by_number: BTreeMap<i64, Interval>,
    cells: usize,
    pub(crate) unplaced: u64,
}

impl Intervals {
    /// None yet.
    pub fn new(width: IntervalWidth) -> Self {
        Self { width, growing: false, by_number: BTreeMap::new(), cells: 0, unplaced: 0 }
    }

    /// Intervals for a period of unknown length: narrow ones up to 200 of them (20 s), then usual ones.
    pub fn growing() -> Self {
        Self { growing: true, ..Self::new(IntervalWidth::NARROW) }
    }

    /// How long each is.
    pub fn width(&self) -> IntervalWidth {
        self.width
    }

    /// The intervals, in time order; those in which nothing happened are not among them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Interval> {
        self.by_number.values()
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// Operations that are in no interval, for neither their end nor their beginning is known.
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// The sum of all intervals, as one interval whose time has no meaning.
    pub fn sum(&self) -> Interval {
        let mut sum = Interval::at(0, self.width);
        self.iter().for_each(|interval| sum.absorb(interval));
        sum
    }

    /// Adds one interval, or a part of one: from a recording, or from another recorder. If the widths differ, the narrower intervals are
    /// joined.
    pub fn add(&mut self, interval: Interval) {
        self.at_least(interval.width);
        if interval.rows.is_empty() {
            return;
        }
        let number = self.width.number(interval.start_ns());
        match self.by_number.get_mut(&number) {
            Some(there) => {
                let before = there.cells();
                there.absorb(&interval);
                self.cells = self.cells - before + there.cells();
            }
            None => {
                self.cells += interval.cells();
                self.by_number.insert(number, Interval { number, width: self.width, ..interval });
            }
        }
        self.bound();
    }

    /// Adds another part of the same data. Exact.
    pub fn merge(&mut self, other: &Intervals) {
        self.growing &= other.growing;
        self.unplaced += other.unplaced;
        self.at_least(other.width);
        other.iter().for_each(|interval| self.add(interval.clone()));
    }

    /// Joins intervals until they are at least this wide.
    pub fn at_least(&mut self, width: IntervalWidth) {
        while self.width < width
            && let Some(wider) = self.width.wider()
        {
            self.join(wider);
        }
    }

    /// One more operation for which there is no interval.
    pub(crate) fn unplace(&mut self) {
        self.unplaced += 1;
    }

    /// The row of a procedure at an instant, to add a single value; the caller must report its growth to [`Intervals::grew`].
    fn row_at(&mut self, ns: i64, procedure: plimsoll_model::Procedure) -> &mut IntervalRow {
        let (number, width) = (self.width.number(ns), self.width);
        let interval = self.by_number.entry(number).or_insert_with(|| Interval { number, width, rows: Vec::new() });
        if interval.procedure(procedure).is_none() {
            self.cells += ROW_CELLS;
        }
        interval.row_mut(procedure)
    }

    fn grew(&mut self, cells: usize) {
        self.cells += cells;
        self.bound();
    }

    fn bound(&mut self) {
        while self.cells > MAX_CELLS || (self.growing && self.by_number.len() > MAX_NARROW) {
            let Some(wider) = self.width.wider() else { return };
            self.join(wider);
        }
    }

    #[cold]
    fn join(&mut self, wider: IntervalWidth) {
        self.width = wider;
        self.growing &= wider < IntervalWidth::USUAL;
        for interval in std::mem::take(&mut self.by_number).into_values() {
            let number = wider.number(interval.start_ns());
            match self.by_number.get_mut(&number) {
                Some(there) => there.absorb(&interval),
                None => {
                    self.by_number.insert(number, Interval { number, width: wider, ..interval });
                }
            }
        }
        self.cells = self.by_number.values().map(Interval::cells).sum();
    }

    /// Takes those out that ended at or before an instant, in time order; none while it may still grow.
    pub fn drain_before(&mut self, ns: i64) -> Vec<Interval> {
        if self.growing {
            return Vec::new();
        }
        let later = self.by_number.split_off(&self.width.number(ns));
        let ended: Vec<Interval> = std::mem::replace(&mut self.by_number, later).into_values().collect();
        self.cells -= ended.iter().map(Interval::cells).sum::<usize>();
        ended
    }
}
