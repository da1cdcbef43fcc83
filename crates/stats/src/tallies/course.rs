//! The same sums over time: since when requests take longer, and how many were outstanding then.

use plimsoll_model::Transaction;
use serde::{Deserialize, Serialize};

use super::{ByOperation, Cell, Excess};
use crate::state::{Reader, State, StateError, Writer};

/// Bins held at most; with more, each two become one. 150 KiB.
const MAX_BINS: usize = 128;
/// Width of a bin at first, as the power of two of its nanoseconds.
const FIRST_SHIFT: u32 = 20;
/// A bin without any further one: times of years stay below.
const MAX_SHIFT: u32 = 58;

/// Sums by the instant of the last byte of the response, in equal bins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    start_ns: Option<i64>,
    /// Width of a bin, as the power of two of its nanoseconds: which bin it is must not cost a division.
    shift: u32,
    bins: Vec<ByOperation>,
    /// Per bin, the total time that requests were outstanding in it, ns.
    outstanding_ns: Vec<u64>,
}

/// A part of the time in which requests took longer than in the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowSpan {
    /// Its first bin, and the one after its last.
    pub bins: (usize, usize),
    /// How it compares with the rest.
    pub excess: Excess,
    /// How many times as many requests per second are answered in it as in the rest, where that has any.
    pub load: f64,
}

/// Load and response time of the bins with most, and with fewest requests outstanding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// Mean number of outstanding requests, in busy and in quiet times.
    pub outstanding: [f64; 2],
    /// Responses per second, in busy and in quiet times.
    pub per_second: [f64; 2],
    /// The same for the operation with the largest difference.
    pub per_second_of_operation: [f64; 2],
    /// How the response times compare.
    pub excess: Excess,
}

impl Default for Course {
    fn default() -> Self {
        Self { start_ns: None, shift: FIRST_SHIFT, bins: Vec::new(), outstanding_ns: Vec::new() }
    }
}

impl Course {
    #[inline]
    pub(super) fn record(&mut self, t: &Transaction, cell: &Cell) {
        let Some(end_ns) = t.timeline.response_last else { return };
        let start_ns = *self.start_ns.get_or_insert(end_ns);
        // What ends before the first counts there: a capture in another order than time is rare.
        let at = self.place(start_ns, end_ns);
        match self.bins.get_mut(at) {
            Some(bin) => bin.0[t.procedure.row().operation as usize].add_request(cell),
            None => self.grow(t, cell, at),
        }
        let began_ns = end_ns.saturating_sub_unsigned(cell.waited_ns);
        let at = at.min(MAX_BINS - 1);
        match self.outstanding_ns.get_mut(at) {
            // Most requests begin and end in one bin. (After `grow` bins are wider.)
            Some(sum) if began_ns >= start_ns.saturating_add_unsigned((at as u64) << self.shift) => {
                *sum = sum.wrapping_add(cell.waited_ns);
            }
            _ => self.spread(start_ns, began_ns, end_ns),
        }
    }

    /// Adds the time of a request to the bins in which it was outstanding.
    #[cold]
    #[inline(never)]
    fn spread(&mut self, start_ns: i64, began_ns: i64, end_ns: i64) {
        let (from_ns, to_ns) = (began_ns.max(start_ns), end_ns.max(start_ns));
        let last = self.place(start_ns, to_ns).min(MAX_BINS - 1);
        for at in self.place(start_ns, from_ns)..=last {
            let begins_ns = start_ns.saturating_add_unsigned((at as u64) << self.shift);
            let ends_ns = if at == last { to_ns } else { begins_ns.saturating_add_unsigned(self.width_ns()) };
            let within_ns = ends_ns.min(to_ns).saturating_sub(from_ns.max(begins_ns)).max(0).unsigned_abs();
            if let Some(sum) = self.outstanding_ns.get_mut(at) {
                *sum = sum.wrapping_add(within_ns);
            }
        }
    }

    /// The bin of an instant, of a course that begins at `start_ns`.
    #[inline]
    fn place(&self, start_ns: i64, end_ns: i64) -> usize {
        (end_ns.saturating_sub(start_ns).max(0) as u64 >> self.shift) as usize
    }

    /// Width of a bin, ns.
    fn width_ns(&self) -> u64 {
        1 << self.shift
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, t: &Transaction, cell: &Cell, mut at: usize) {
        while at >= MAX_BINS && self.shift < MAX_SHIFT {
            self.halve();
            at /= 2;
        }
        let at = at.min(MAX_BINS - 1);
        while self.bins.len() <= at {
            self.bins.push(ByOperation::default());
        }
        self.outstanding_ns.resize(self.bins.len(), 0);
        self.bins[at].0[t.procedure.row().operation as usize].add(cell);
    }

    /// Makes one bin of each two.
    fn halve(&mut self) {
        self.shift += 1;
        let pairs = self.bins.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair.iter().skip(1).for_each(|other| sum.add(other));
            sum
        });
        self.bins = pairs.collect();
        let pairs =
            self.outstanding_ns.chunks(2).map(|pair| pair.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns)));
        self.outstanding_ns = pairs.collect();
    }

    /// Adds another part of the same data.
    pub(super) fn merge(&mut self, other: &Course) {
        let Some(theirs) = other.start_ns else { return };
        let mine = *self.start_ns.get_or_insert(theirs);
        let mut other = other.clone();
        while self.shift < other.shift {
            self.halve();
        }
        for at in 0..other.bins.len() {
            let end_ns = theirs.saturating_add_unsigned(at as u64 * other.width_ns());
            let mut to = self.place(mine, end_ns);
            while to >= MAX_BINS && self.shift < MAX_SHIFT {
                self.halve();
                to /= 2;
            }
            while self.bins.len() <= to {
                self.bins.push(ByOperation::default());
            }
            self.outstanding_ns.resize(self.bins.len(), 0);
            self.bins[to].add(&std::mem::take(&mut other.bins[at]));
            let (mine, theirs) = (&mut self.outstanding_ns[to], other.outstanding_ns[at]);
            *mine = mine.saturating_add(theirs);
        }
    }

    /// When a bin begins, ns.
    pub fn begins_ns(&self, bin: usize) -> Option<i64> {
        Some(self.start_ns?.saturating_add_unsigned((bin as u64).saturating_mul(self.width_ns())))
    }

    /// Bins in all.
    pub fn len(&self) -> usize {
        self.bins.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// The part of the time in which clients waited longest beyond what requests for the same operations take on average, where it
    /// is slower than the rest.
    pub fn slow_span(&self) -> Option<SlowSpan> {
        let mut all = ByOperation::default();
        self.bins.iter().for_each(|bin| all.add(bin));
        let beyond = |bin: &ByOperation| -> f64 {
            let cells = bin.iter().zip(all.iter());
            cells.map(|((_, cell), (_, all))| cell.waited_ns as f64 - cell.count as f64 * all.mean_ns()).sum()
        };
        // The contiguous part with the largest sum (Kadane's algorithm).
        let (mut best, mut most) = ((0, 0), 0.0);
        let (mut first, mut sum) = (0, 0.0);
        for (at, bin) in self.bins.iter().enumerate() {
            sum += beyond(bin);
            if sum > most {
                (best, most) = ((first, at + 1), sum);
            }
            if sum <= 0.0 {
                (first, sum) = (at + 1, 0.0);
            }
        }
        let mut slow = ByOperation::default();
        self.bins.get(best.0..best.1)?.iter().for_each(|bin| slow.add(bin));
        let rest = all.without(&slow);
        let outside = self.bins[..best.0].iter().chain(&self.bins[best.1..]);
        let busy = outside.filter(|bin| bin.iter().any(|(_, cell)| cell.count > 0)).count();
        let per_bin = |sum: &ByOperation, bins: usize| sum.total().count as f64 / bins.max(1) as f64;
        let load = per_bin(&slow, best.1 - best.0) / per_bin(&rest, busy).max(f64::MIN_POSITIVE);
        Some(SlowSpan { bins: best, excess: slow.slower_than(&rest)?, load })
    }

    /// Compares the quarter of the bins with most outstanding requests with the quarter with fewest, among bins with any; `None` if it is
    /// not slower.
    pub fn busy(&self) -> Option<Busy> {
        // The last bin is not over.
        let over = self.bins.split_last().map(|(_, over)| over)?;
        let all = self.outstanding_ns.iter().copied().zip(over);
        let mut bins: Vec<(u64, &ByOperation)> = all.filter(|(outstanding_ns, _)| *outstanding_ns > 0).collect();
        bins.sort_by_key(|(outstanding_ns, _)| *outstanding_ns);
        let quarter = bins.len() / 4;
        let sum = |bins: &[(u64, &ByOperation)]| {
            let mut sum = ByOperation::default();
            bins.iter().for_each(|(_, bin)| sum.add(bin));
            sum
        };
        let (few, many) = (sum(bins.get(..quarter)?), sum(bins.get(bins.len() - quarter..)?));
        let excess = many.slower_than(&few)?;
        let time_ns = quarter as f64 * self.width_ns() as f64;
        let seconds = time_ns / 1e9;
        let outstanding = |bins: &[(u64, &ByOperation)]| bins.iter().map(|(ns, _)| *ns as f64).sum::<f64>() / time_ns;
        let outstanding = [outstanding(bins.get(bins.len() - quarter..)?), outstanding(bins.get(..quarter)?)];
        let per_second = [&many, &few].map(|sum| sum.total().count as f64 / seconds);
        let per_second_of_operation = [&many, &few].map(|sum| sum.0[excess.operation as usize].count as f64 / seconds);
        Some(Busy { outstanding, per_second, per_second_of_operation, excess })
    }
}

impl State for Course {
    fn put(&self, out: &mut Writer) {
        self.start_ns.put(out);
        self.width_ns().put(out);
        self.bins.put(out);
        self.outstanding_ns.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (start_ns, width_ns) = (State::take(from)?, u64::take(from)?);
        let (bins, outstanding_ns) = (Vec::take(from)?, Vec::take(from)?);
        let course = Self { start_ns, shift: width_ns.trailing_zeros(), bins, outstanding_ns };
        let is_width = width_ns.is_power_of_two() && (FIRST_SHIFT..=MAX_SHIFT).contains(&course.shift);
        let are_bins = course.bins.len() <= MAX_BINS && course.outstanding_ns.len() == course.bins.len();
        if is_width && are_bins { Ok(course) } else { Err(from.no("course")) }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};
    use plimsoll_testkit::transaction;

    use super::*;

    const MS: i64 = 1_000_000;

    fn course(requests: &[(i64, i64)]) -> Course {
        let mut course = Course::default();
        for &(end_ms, took_ms) in requests {
            let t = transaction(Procedure::of(Protocol::Smb2, 8), end_ms * MS, took_ms * MS);
            let measured = crate::accumulator::Sample::of(&t, false, crate::Headline::ALL[0]);
            course.record(&t, &Cell::of(&t, &measured, (took_ms * MS) as u64, 1));
        }
        course
    }

    #[test]
    fn a_long_request_is_outstanding_in_each_bin_that_it_spans_and_once_in_each() {
        let one = course(&[(0, 0), (60, 50), (100, 1)]);
        let sum: u64 = one.outstanding_ns.iter().sum();
        assert_eq!(sum, 51_000_000);
        assert!(one.outstanding_ns.iter().all(|&ns| ns <= one.width_ns()), "{:?}", one.outstanding_ns);
        // Four that end together.
        let four = course(&[(0, 0), (2_000, 1_900), (2_000, 1_900), (2_000, 1_900), (2_000, 1_900), (3_000, 1)]);
        assert!(four.outstanding_ns.iter().all(|&ns| ns <= 4 * four.width_ns()), "{:?}", four.outstanding_ns);
        let mut merged = course(&[(0, 0), (60, 50)]);
        merged.merge(&course(&[(0, 0), (2_000, 1_900)]));
        assert_eq!(merged.outstanding_ns.iter().sum::<u64>(), 1_950_000_000);
        assert_eq!(merged.outstanding_ns.len(), merged.bins.len());
    }
}
