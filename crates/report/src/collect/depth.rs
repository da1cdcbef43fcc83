//! How many requests were outstanding at once.

use plimsoll_stats::Statistics;

use crate::findings::{DepthShare, QueueDepth};

/// By powers of two, as arriving requests met it and over time.
pub(super) fn queue_depth(statistics: &Statistics) -> QueueDepth {
    let tally = statistics.queue_depth();
    let (arrivals, times) = (tally.arrivals_by_range(), tally.time_by_range());
    let all: u64 = arrivals.iter().map(|&(_, _, count)| count).sum();
    let time: u128 = times.iter().map(|&(_, _, ns)| ns).sum();
    // A level that was not finished has requests, and no depth that all threads together had.
    let known = all > 0 || statistics.operations().all(|(_, row)| row.answered() == 0);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    QueueDepth {
        at_arrival: arrivals
            .into_iter()
            .map(|(from, to, n)| DepthShare { from, to, count: Some(n), share: share(n as f64, all as f64) })
            .collect(),
        over_time: times
            .into_iter()
            .map(|(from, to, ns)| DepthShare { from, to, count: None, share: share(ns as f64, time as f64) })
            .collect(),
        mean: tally.mean(),
        max: known.then(|| tally.max()),
        entered_late: tally.entered_late,
    }
}
