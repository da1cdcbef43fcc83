//! Rates of captures that lack operations: a change of the losses is no change of the server.

use std::ops::Range;

use crate::collect::plural;
use crate::findings::history::HistoryMetric;
use plimsoll_stats::comparison::Metric;

/// Takes the changes of rates away if the operations that the captures lack may explain one of them. `present` is the part of all
/// operations that each run contains, at least and at most; `counted` are the places of the runs that count.
pub(super) fn judge(metrics: &mut [HistoryMetric], counted: &[usize], present: &[(f64, f64)]) {
    let lacks = |at: &&usize| present.get(**at).is_some_and(|(least, _)| *least < 1.0);
    let lacking = counted.iter().filter(lacks).count();
    let rates = metrics.iter_mut().filter(|metric| metric.metric == Metric::Throughput.label());
    for metric in rates.filter(|_| lacking > 0) {
        if !(0..metric.changes.len()).all(|place| holds(metric, place, counted, present)) {
            metric.changes.clear();
            let runs = plural(lacking as u64, "run");
            metric.untested = Some(format!("operations are missing in {runs}, which may cause or hide a change"));
        }
    }
}

/// Whether a change has its direction whatever part of the operations is missing.
fn holds(metric: &HistoryMetric, place: usize, counted: &[usize], present: &[(f64, f64)]) -> bool {
    let Some(change) = metric.changes.get(place) else { return true };
    let begin = |other: Option<usize>| other.and_then(|other| metric.changes.get(other)).map(|other| other.run);
    let from = begin(place.checked_sub(1)).unwrap_or(0);
    let to = begin(place.checked_add(1)).unwrap_or(u64::MAX);
    let factors = |runs: Range<u64>| factors(metric, &runs, counted, present);
    let Some((before, after)) = factors(from..change.run).zip(factors(change.run..to)) else { return false };
    let ratio = |relative: Option<f64>| 1.0 + relative.unwrap_or(change.relative);
    let low = ratio(change.relative_low) * after.0 / before.1;
    let high = ratio(change.relative_high) * after.1 / before.0;
    if change.relative > 0.0 { low > 1.0 } else { high < 1.0 }
}

/// The true mean rate of some runs divided by the measured one, at least and at most.
fn factors(metric: &HistoryMetric, runs: &Range<u64>, counted: &[usize], present: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (mut measured, mut least, mut most) = (0.0, 0.0, 0.0);
    for at in counted.iter().copied().filter(|&at| runs.contains(&(at as u64))) {
        let (Some(Some(point)), Some((fewest, all))) = (metric.points.get(at), present.get(at)) else { continue };
        measured += point.value;
        // The true rate is the measured rate divided by the captured fraction.
        least += point.value / all;
        most += point.value / fewest;
    }
    (measured > 0.0).then(|| (least / measured, most / measured))
}
