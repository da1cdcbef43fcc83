//! Numbers of captures that lack operations, or time between their files: a change of the losses is no change of the server.

use std::ops::Range;

use crate::collect::plural;
use crate::findings::comparison::Possible;
use crate::findings::history::HistoryMetric;

/// Takes the changes of a number away if what the captures lack may explain one of them. `possible` has what may be missing in each run;
/// `counted` are the places of the runs that count.
pub(super) fn judge(metric: &mut HistoryMetric, counted: &[usize], possible: &[Option<Possible>]) {
    if !counted.iter().any(|&at| possible.get(at).is_some_and(Option::is_some)) {
        return;
    }
    let factors: Vec<(f64, f64)> = possible.iter().map(|one| one.map_or((1.0, 1.0), |one| one.factors())).collect();
    if !(0..metric.changes.len()).all(|place| holds(metric, place, counted, &factors)) {
        metric.changes.clear();
        metric.untested = Some(format!("{}, which may cause or hide a change", lacking(counted, possible)));
    }
}

fn lacking(counted: &[usize], possible: &[Option<Possible>]) -> String {
    let runs = |is_lacking: fn(&Possible) -> bool| {
        let found = counted.iter().filter_map(|&at| possible.get(at)?.as_ref());
        found.filter(|one| is_lacking(one)).count() as u64
    };
    let (operations, time) = (runs(Possible::has_missing_operations), runs(|one| one.between_files_share > 0.0));
    let [of_operations, of_time] =
        [("operations are missing in", operations), ("the capture files do not cover all of the time in", time)]
            .map(|(what, count)| (count > 0).then(|| format!("{what} {}", plural(count, "run"))));
    of_operations.into_iter().chain(of_time).collect::<Vec<_>>().join(", and ")
}

/// Whether a change has its direction whatever part of the operations or of the time is missing.
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
