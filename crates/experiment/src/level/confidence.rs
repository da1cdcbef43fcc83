//! Confidence intervals of a level's numbers, from the scatter of the parts of its measured phase.

use plimsoll_report::findings::Interval;
use plimsoll_stats::Intervals;
use plimsoll_stats::comparison::{Course, Metric, Scope, estimate};

/// 95 % intervals of a level; `None` where its phase was too short to tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConfidenceIntervals {
    /// Of the operations meant for the phase, a second, as they were answered.
    operations_per_s: Option<Interval>,
    /// Of the mean response time, s.
    pub(super) response_mean: Option<Interval>,
}

/// Maximum fraction of a phase's requests that may be answered before or after it; beyond it, parts of the phase do not show its
/// variation.
const MAX_CARRYOVER: f64 = 0.05;

impl ConfidenceIntervals {
    /// The interval of the operations per second in the phase: `answered` in it, and `meant` due in it and answered at any time.
    pub(super) fn throughput(&self, answered: u64, meant: u64) -> Option<Interval> {
        let ratio = answered as f64 / meant as f64;
        let Interval { low, high } = self.operations_per_s.filter(|_| (ratio - 1.0).abs() <= MAX_CARRYOVER)?;
        Some(Interval { low: low * ratio, high: high * ratio })
    }

    /// From the measured phase, `span_ns`, cut into intervals.
    pub(super) fn of(intervals: &Intervals, span_ns: (i64, i64)) -> Self {
        let course = Course::new(intervals, span_ns, |procedure| Scope::All.holds(procedure));
        let of = |metric| {
            let known = estimate(metric, std::slice::from_ref(&course))?.known.ok()?;
            Some(Interval { low: known.interval.low, high: known.interval.high })
        };
        Self { operations_per_s: of(Metric::Throughput), response_mean: of(Metric::Mean) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_answered_elsewhen_says_little_of_the_phase() {
        let known =
            ConfidenceIntervals { operations_per_s: Some(Interval { low: 90.0, high: 110.0 }), response_mean: None };
        let found = known.throughput(98, 100).unwrap();
        assert!((found.low - 88.2).abs() < 1e-9 && (found.high - 107.8).abs() < 1e-9);
        assert!(known.throughput(94, 100).is_none() && known.throughput(106, 100).is_none());
        assert!(known.throughput(0, 0).is_none() && ConfidenceIntervals::default().throughput(100, 100).is_none());
    }
}
