//! What the operations that a capture lacks, and the time between its files, may change: a difference of losses is no difference of
//! servers. Comparisons and histories share this rule.

use plimsoll_stats::IntervalRow;
use plimsoll_stats::comparison::{Course, Metric, Scope};

use crate::findings::Findings;

/// The part of all operations that the numbers contain, at least and at most.
pub(super) fn present(findings: &Findings) -> (f64, f64) {
    let unseen = &findings.unseen;
    if findings.run.is_some() {
        return (1.0, 1.0);
    }
    // Nobody knows how many operations such a capture lacks.
    if unseen.share_missing.is_none() && unseen.paired > 0 {
        return (0.0, 1.0);
    }
    let share = |missing: Option<f64>| 1.0 - missing.unwrap_or(0.0);
    // The shares are those of the whole capture: perhaps no operation is missing that matches the filters.
    let at_least = unseen.share_missing_low.filter(|_| findings.source.filters.is_empty());
    (share(unseen.share_missing_high), share(at_least))
}

/// How many operations a row may lack, at least and at most: any of those that the capture lacks. `answered` are the captured operations
/// with a response of all rows.
pub(super) fn missing(scope: Scope, findings: &Findings, answered: u64) -> (f64, f64) {
    let (least, most) = present(findings);
    if least >= 1.0 {
        return (0.0, 0.0);
    }
    let missing = |captured: u64, present: f64| captured.max(1) as f64 * (1.0 / present - 1.0);
    let is_all = scope == Scope::All && most > 0.0;
    // The rows have only operations that match the filters, and those of users: the missing ones are those of the whole capture.
    (if is_all { missing(answered, most) } else { 0.0 }, missing(answered.max(findings.unseen.paired), least))
}

/// The true number of a row divided by the measured one, at least and at most. `courses` are those of the row, which lacks at least and at
/// most this number of operations. These may be the fastest, the slowest or the largest of it.
pub(super) fn possible(metric: Metric, courses: &[Course], (least, most): (f64, f64)) -> (f64, f64) {
    // The share of errors is that of the captured operations.
    if most <= 0.0 || metric == Metric::Errors {
        return (1.0, 1.0);
    }
    let mut row = IntervalRow::default();
    courses.iter().for_each(|course| row.merge(&course.sum().row));
    let answered = row.count.saturating_sub(row.unanswered);
    if answered == 0 {
        return (0.0, f64::INFINITY);
    }
    // The time of a response whose last packet was lost is missing, too.
    let timed = row.response.count();
    let untimed = most + answered.saturating_sub(timed) as f64;
    if let Some(percentile) = metric.percentile() {
        return of_percentile(&row, percentile, timed as f64, untimed);
    }
    match metric {
        Metric::Throughput => (1.0 + least / answered as f64, 1.0 + most / answered as f64),
        // One operation may have moved any amount of data.
        Metric::Bytes => (1.0, f64::INFINITY),
        // One operation may have taken any time.
        _ => (timed as f64 / (timed as f64 + untimed), f64::INFINITY),
    }
}

/// The part of the time between capture files that changes a number: this time may be the difference between two rates.
pub(super) fn between_files_share(metric: Metric, findings: &Findings) -> f64 {
    match metric {
        Metric::Throughput | Metric::Bytes => findings.span.between_files_share(),
        _ => 0.0,
    }
}

/// The same of a percentile: its rank among all operations is another one among those whose time was captured.
fn of_percentile(row: &IntervalRow, percentile: f64, captured: f64, missing: f64) -> (f64, f64) {
    let Some(measured_ns) = row.percentile_ns(percentile).filter(|&ns| ns > 0) else { return (0.0, f64::INFINITY) };
    let rank = percentile / 100.0 * (captured + missing);
    let at = |rank: f64| Some(row.percentile_ns(100.0 * rank / captured)? as f64 / measured_ns as f64);
    let fastest = if rank > missing { at(rank - missing) } else { None };
    let slowest = if rank < captured { at(rank) } else { None };
    (fastest.unwrap_or(0.0), slowest.unwrap_or(f64::INFINITY))
}
