//! Facts that changed at the same time as numbers: labels, the description, the tool, the server's parameters.

use plimsoll_stats::changes::FEWEST_RUNS;

use crate::findings::Findings;
use crate::findings::history::{ChangePoint, FactChange, HistoryMetric, HistoryRun, LABEL, RunFact};

/// Uncertainty of a change's position, runs: a fact that changed within this distance may be the cause.
const NEAR: i64 = 3;

/// Labels, description, conditions, target, filters and tool of a run.
pub(super) fn of(findings: &Findings) -> Vec<RunFact> {
    let source = &findings.source;
    // A title is of the run, and may be another each time.
    let described = source.about.entries().into_iter().filter(|(name, _)| name != "Title");
    let run = findings.run.as_ref();
    let conditions = run.filter(|run| !run.facts.is_empty()).map(|run| ("Conditions".to_owned(), run.facts.join(", ")));
    let target = run.map(|run| ("Target".to_owned(), run.target.clone()));
    let filters = (!source.filters.is_empty()).then(|| ("Filters".to_owned(), source.filters.join(" ")));
    let tool = ("Tool".to_owned(), source.tool.clone());
    let all = described.chain(conditions).chain(target).chain(filters).chain([tool]);
    all.map(|(name, value)| RunFact { name, value }).collect()
}

/// The runs at which any number changes, with the facts that changed there.
pub(super) fn change_points(runs: &[HistoryRun], counted: &[usize], metrics: &[HistoryMetric]) -> Vec<ChangePoint> {
    let mut places: Vec<u64> = metrics.iter().flat_map(|metric| metric.changes.iter().map(|one| one.run)).collect();
    places.sort_unstable();
    places.dedup();
    let point = |place: u64| {
        let (runs, at) = around(place, (runs, counted), metrics)?;
        let (_, first) = runs.get(at)?;
        let also_changed = also_changed(&runs, at);
        let named = |change: &FactChange| also_changed.iter().any(|also| also.name == change.name);
        let labels = differences(runs.get(at.checked_sub(1)?)?.1, first);
        let labels = labels.into_iter().filter(|change| change.name.starts_with(LABEL) && !named(change)).collect();
        Some(ChangePoint { run: place, begin_ns: first.begin_ns, labels, also_changed })
    };
    places.into_iter().filter_map(point).collect()
}

/// The runs whose values count for a number that changes at `place`, and the position of that run among them. A number may have changed at
/// any of the runs since the last one that counts for it: of several numbers, the one whose last run is the earliest.
fn around<'r>(
    place: u64,
    (runs, counted): (&'r [HistoryRun], &[usize]),
    metrics: &[HistoryMetric],
) -> Option<(Vec<(usize, &'r HistoryRun)>, usize)> {
    let changed = metrics.iter().filter(|metric| metric.changes.iter().any(|one| one.run == place));
    let of_metric = |metric: &HistoryMetric| {
        let counts = |at: usize| !metric.moved.contains(&(at as u64));
        let own = counted.iter().filter(|&&at| counts(at)).filter_map(|&at| Some((at, runs.get(at)?)));
        let own: Vec<(usize, &HistoryRun)> = own.collect();
        let at = own.iter().position(|(known, _)| *known as u64 == place)?;
        let (last_before, _) = own.get(at.checked_sub(1)?)?;
        Some((*last_before, own, at))
    };
    let (_, own, at) = changed.filter_map(of_metric).min_by_key(|(last_before, ..)| *last_before)?;
    Some((own, at))
}

fn value<'r>(run: &'r HistoryRun, name: &str) -> Option<&'r str> {
    run.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

fn names<'r>(runs: impl IntoIterator<Item = &'r HistoryRun>) -> Vec<&'r str> {
    let mut names: Vec<&str> = Vec::new();
    for fact in runs.into_iter().flat_map(|run| &run.facts) {
        if !names.contains(&fact.name.as_str()) {
            names.push(&fact.name);
        }
    }
    names
}

/// Facts that differ between two runs.
fn differences(before: &HistoryRun, after: &HistoryRun) -> Vec<FactChange> {
    let change = |name: &str| {
        let of = |run| value(run, name).map(str::to_owned);
        let change = FactChange { name: name.to_owned(), before: of(before), after: of(after), runs_later: 0 };
        (change.before != change.after).then_some(change)
    };
    names([before, after]).into_iter().filter_map(change).collect()
}

/// Facts that have one value in the runs before and another in those after, at the change or near it: the nearest place.
fn also_changed(runs: &[(usize, &HistoryRun)], at: usize) -> Vec<FactChange> {
    let mut found: Vec<FactChange> = Vec::new();
    let mut distances: Vec<i64> = (-NEAR..=NEAR).collect();
    distances.sort_by_key(|distance| distance.abs());
    for runs_later in distances {
        let Some(place) = i64::try_from(at).ok().and_then(|at| usize::try_from(at + runs_later).ok()) else { continue };
        let Some(from) = place.checked_sub(FEWEST_RUNS) else { continue };
        let (Some(before), Some(after)) = (runs.get(from..place), runs.get(place..place + FEWEST_RUNS)) else {
            continue;
        };
        let (Some((_, last)), Some((_, first))) = (before.last(), after.first()) else { continue };
        let constant = |side: &[(usize, &HistoryRun)], name: &str, wanted: &Option<String>| {
            side.iter().all(|(_, run)| value(run, name) == wanted.as_deref())
        };
        for change in differences(last, first) {
            let settled =
                constant(before, &change.name, &change.before) && constant(after, &change.name, &change.after);
            if settled && !found.iter().any(|known| known.name == change.name) {
                found.push(FactChange { runs_later, ..change });
            }
        }
    }
    found
}
