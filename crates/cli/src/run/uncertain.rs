//! How far a level's numbers may be from the truth, from how much parts of its measured phase differ.

use plimsoll_report::findings::Interval;
use plimsoll_stats::Intervals;
use plimsoll_stats::comparison::{Course, Metric, Scope, estimate};

/// 95 % intervals of a level; `None` where its phase was too short to tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uncertain {
    /// Of the operations answered a second.
    pub(super) operations_per_s: Option<Interval>,
    /// Of the mean response time, s.
    pub(super) response_mean: Option<Interval>,
}

impl Uncertain {
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
