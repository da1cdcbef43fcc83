//! Numbers of captures that lack operations: a change of the losses is no change of the server.

use std::ops::Range;

use crate::collect::plural;
use crate::findings::history::HistoryMetric;
use plimsoll_stats::IntervalRow;
use plimsoll_stats::comparison::{Course, Metric};

/// The true number of a row divided by the measured one, at least and at most. `courses` are those of the row, `all` the captured
/// operations of all rows; `present` is the part of all operations that the capture contains, at least and at most.
pub(super) fn possible(metric: Metric, courses: &[Course], all: u64, (least, most): (f64, f64)) -> (f64, f64) {
    if least >= 1.0 {
        return (1.0, 1.0);
    }
    // The true rate is the measured rate divided by the captured fraction.
    let Some(percentile) = metric.percentile() else { return (1.0 / most, 1.0 / least) };
    let mut row = IntervalRow::default();
    courses.iter().for_each(|course| row.merge(&course.sum().row));
    let Some(measured_ns) = row.percentile_ns(percentile).filter(|&ns| ns > 0) else { return (0.0, f64::INFINITY) };
    // All missing operations may belong to this row, and may be the fastest or the slowest of it.
    let captured = row.count.saturating_sub(row.unanswered) as f64;
    let missing = all as f64 * (1.0 / least - 1.0);
    let rank = percentile / 100.0 * (captured + missing);
    let at = |rank: f64| Some(row.percentile_ns(100.0 * rank / captured)? as f64 / measured_ns as f64);
    let fastest = if rank > missing { at(rank - missing) } else { None };
    let slowest = if rank < captured { at(rank) } else { None };
    (fastest.unwrap_or(0.0), slowest.unwrap_or(f64::INFINITY))
}

/// Takes the changes of a number away if the operations that the captures lack may explain one of them. `possible` has the true number
/// divided by the measured one in each run, at least and at most; `counted` are the places of the runs that count.
pub(super) fn judge(metric: &mut HistoryMetric, counted: &[usize], possible: &[(f64, f64)]) {
    let lacks = |at: &&usize| possible.get(**at).is_some_and(|factors| *factors != (1.0, 1.0));
    let lacking = counted.iter().filter(lacks).count();
    if lacking > 0 && !(0..metric.changes.len()).all(|place| holds(metric, place, counted, possible)) {
        metric.changes.clear();
        let runs = plural(lacking as u64, "run");
        metric.untested = Some(format!("operations are missing in {runs}, which may cause or hide a change"));
    }
}

/// Whether a change has its direction whatever part of the operations is missing.
fn holds(metric: &HistoryMetric, place: usize, counted: &[usize], possible: &[(f64, f64)]) -> bool {
    let Some(change) = metric.changes.get(place) else { return true };
    let begin = |other: Option<usize>| other.and_then(|other| metric.changes.get(other)).map(|other| other.run);
    let from = begin(place.checked_sub(1)).unwrap_or(0);
    let to = begin(place.checked_add(1)).unwrap_or(u64::MAX);
    let factors = |runs: Range<u64>| factors(metric, &runs, counted, possible);
    let Some((before, after)) = factors(from..change.run).zip(factors(change.run..to)) else { return false };
    let ratio = |relative: Option<f64>| 1.0 + relative.unwrap_or(change.relative);
    let low = ratio(change.relative_low) * after.0 / before.1;
    let high = ratio(change.relative_high) * after.1 / before.0;
    if change.relative > 0.0 { low > 1.0 } else { high < 1.0 }
}

/// The true mean of some runs divided by the measured one, at least and at most.
fn factors(
    metric: &HistoryMetric,
    runs: &Range<u64>,
    counted: &[usize],
    possible: &[(f64, f64)],
) -> Option<(f64, f64)> {
    let (mut measured, mut least, mut most) = (0.0, 0.0, 0.0);
    for at in counted.iter().copied().filter(|&at| runs.contains(&(at as u64))) {
        let (Some(Some(point)), Some((low, high))) = (metric.points.get(at), possible.get(at)) else { continue };
        measured += point.value;
        least += point.value * low;
        most += point.value * high;
    }
    (measured > 0.0).then(|| (least / measured, most / measured))
}
