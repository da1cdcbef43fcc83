//! A row of the report over the time of a run.

use plimsoll_model::Procedure;

use super::batches;
use crate::{IntervalRow, Intervals};

/// Maximum number of parts of a run: many times the number of batches, and few enough to scan for every percentile of every row.
pub const MAX_SLOTS: i64 = 1_024;

/// What ended in one part of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    /// Length of the part, s. The first and the last may be shorter than the others.
    pub seconds: f64,
    /// The operations that ended in it.
    pub row: IntervalRow,
}

/// A row (an operation, a group, all together) over the time of one run: its parts in order, without gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// The parts.
    pub slots: Vec<Slot>,
}

/// The time of a run and how it is cut.
struct Cut {
    first_ns: i64,
    last_ns: i64,
    /// A multiple of the interval's width.
    width_ns: i64,
}

impl Slot {
    /// Operations answered.
    pub fn answered(&self) -> u64 {
        self.row.count.saturating_sub(self.row.unanswered)
    }
}

impl Course {
    /// The sum of the procedures that `wants` selects, in the measured phase `span_ns` (start and end, ns since the Unix epoch).
    /// Operations that ended after the phase were requested in it, and count in its last part.
    pub fn new(intervals: &Intervals, span_ns: (i64, i64), wants: impl Fn(Procedure) -> bool) -> Course {
        let Some(cut) = Cut::new(span_ns, intervals.width().ns()) else { return Course::default() };
        let mut slots: Vec<Slot> = (0..cut.count()).map(|at| cut.slot(at)).collect();
        let last = slots.len().saturating_sub(1);
        for interval in intervals.iter() {
            let Some(slot) = slots.get_mut(cut.place(interval.start_ns()).min(last)) else { continue };
            interval.rows().filter(|(procedure, _)| wants(*procedure)).for_each(|(_, row)| slot.row.merge(row));
        }
        Course { slots }
    }

    /// Whether the run is long enough to be cut at all.
    pub fn has_parts(&self) -> bool {
        self.slots.len() >= batches::FEWEST
    }

    /// Length of the run, s.
    pub fn seconds(&self) -> f64 {
        self.slots.iter().map(|slot| slot.seconds).sum()
    }

    /// The sum of all parts.
    pub fn sum(&self) -> Slot {
        let mut row = IntervalRow::default();
        self.slots.iter().for_each(|slot| row.merge(&slot.row));
        Slot { seconds: self.seconds(), row }
    }
}

impl Cut {
    /// `None` where no time passed.
    fn new((first_ns, last_ns): (i64, i64), interval_ns: i64) -> Option<Self> {
        let length = last_ns.checked_sub(first_ns).filter(|&length| length > 0)?;
        let joined = length / interval_ns.saturating_mul(MAX_SLOTS) + 1;
        Some(Self { first_ns, last_ns, width_ns: interval_ns.saturating_mul(joined) })
    }

    fn number(&self, ns: i64) -> i64 {
        ns.div_euclid(self.width_ns)
    }

    fn count(&self) -> i64 {
        self.number(self.last_ns - 1) - self.number(self.first_ns) + 1
    }

    /// The part of an instant; earlier instants count in the first part.
    fn place(&self, ns: i64) -> usize {
        usize::try_from(self.number(ns) - self.number(self.first_ns)).unwrap_or(0)
    }

    fn slot(&self, at: i64) -> Slot {
        let start = (self.number(self.first_ns) + at).saturating_mul(self.width_ns);
        let (from, to) = (start.max(self.first_ns), start.saturating_add(self.width_ns).min(self.last_ns));
        Slot { seconds: (to - from) as f64 / 1e9, row: IntervalRow::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, IntervalWidth};
    use plimsoll_model::Protocol;

    const S: i64 = 1_000_000_000;

    /// One READ in every interval of these seconds.
    fn reads(seconds: &[i64]) -> Intervals {
        let mut intervals = Intervals::new(IntervalWidth::USUAL);
        for second in seconds {
            let mut interval = Interval::at(second * S, IntervalWidth::USUAL);
            interval.row_mut(Procedure::of(Protocol::Smb2, 8)).count = 1;
            intervals.add(interval);
        }
        intervals
    }

    #[test]
    fn parts_are_of_the_phase_and_without_gaps() {
        // From half a second on; second 4 saw nothing, 7 and 9 are the drain.
        let course = Course::new(&reads(&[0, 1, 2, 3, 5, 7, 9]), (S / 2, 6 * S + S / 4), |_| true);
        let seconds: Vec<f64> = course.slots.iter().map(|slot| slot.seconds).collect();
        assert_eq!(seconds, [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.25]);
        assert_eq!(course.slots.iter().map(Slot::answered).collect::<Vec<_>>(), [1, 1, 1, 1, 0, 1, 2]);
        assert_eq!(course.sum().answered(), 7);
        assert!(Course::new(&reads(&[1]), (S, S), |_| true).slots.is_empty(), "no time, no parts");
    }

    #[test]
    fn a_long_time_has_longer_parts_and_not_more() {
        let course = Course::new(&reads(&[0, 1, 86_400 * 365]), (0, 86_400 * 365 * S), |_| true);
        assert!(course.slots.len() as i64 <= MAX_SLOTS + 1, "{}", course.slots.len());
        assert_eq!(course.sum().answered(), 3);
        assert_eq!(Course::new(&reads(&[5]), (i64::MIN, i64::MAX), |_| true), Course::default());
    }
}
