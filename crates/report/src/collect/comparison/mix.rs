//! The mix of operations of two captures. With more of the operations that take long, all operations together take longer, and that is no
//! difference of servers.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::Procedure;
use plimsoll_stats::Moments;
use plimsoll_stats::comparison::{Metric, Scope};

use super::contestant::{Ignore, LevelRuns};
use crate::findings::comparison::{ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict};

/// Two mixes differ if a procedure's shares of the requests differ by more than this …
const OTHER_SHARE: f64 = 0.05;
/// … or if the shares alone change the mean response time by more than this fraction.
const OTHER_MEAN: f64 = 0.05;
/// Maximum number of procedures that a sentence names.
const NAMED: usize = 2;

/// Requests and response times of each procedure.
type Mix = BTreeMap<Procedure, (u64, Moments)>;

/// How the mix of each side after the baseline differs from the baseline's, in words; `None` if it does not, or if both loads are known.
pub(super) fn others(level: &[&LevelRuns], ignore: Ignore) -> Vec<Option<String>> {
    let Some((baseline, others)) = level.split_first() else { return Vec::new() };
    let is_known = |one: &LevelRuns| ignore.load || one.point.is_some();
    let ours = mix(baseline);
    let words = |other: &&LevelRuns| {
        if is_known(baseline) && is_known(other) {
            return None;
        }
        other_mix(&ours, &mix(other))
    };
    others.iter().map(words).collect()
}

fn mix(of: &LevelRuns) -> Mix {
    let mut mix = Mix::new();
    for run in &of.runs {
        for (procedure, row) in run.intervals.sum().rows().filter(|(procedure, _)| Scope::All.holds(*procedure)) {
            let (count, response) = mix.entry(procedure).or_default();
            *count += row.count;
            response.merge(&row.response);
        }
    }
    mix
}

fn share(of: &Mix, procedure: Procedure) -> f64 {
    let all: u64 = of.values().map(|(count, _)| count).sum();
    of.get(&procedure).map_or(0.0, |(count, _)| *count as f64 / all.max(1) as f64)
}

/// The procedures whose shares differ most, in words; `None` if the mixes are alike.
fn other_mix(ours: &Mix, theirs: &Mix) -> Option<String> {
    let procedures: BTreeSet<Procedure> = ours.keys().chain(theirs.keys()).copied().collect();
    let change = |procedure: Procedure| (share(theirs, procedure) - share(ours, procedure)).abs();
    // The same times in both: what remains is the effect of the shares.
    let mean_ns = |procedure: Procedure| {
        let mean = |of: &Mix| of.get(&procedure).and_then(|(_, response)| response.mean_ns());
        mean(ours).or_else(|| mean(theirs)).unwrap_or(0.0)
    };
    let all_ns = |of: &Mix| procedures.iter().map(|&one| share(of, one) * mean_ns(one)).sum::<f64>();
    let (before, after) = (all_ns(ours), all_ns(theirs));
    let is_alike = procedures.iter().all(|&one| change(one) <= OTHER_SHARE);
    if is_alike && (after - before).abs() <= OTHER_MEAN * before {
        return None;
    }
    let mut most: Vec<Procedure> = procedures.iter().copied().collect();
    most.sort_by(|&a, &b| change(b).total_cmp(&change(a)));
    let protocols: BTreeSet<&str> = procedures.iter().map(|one| one.row().protocol.label()).collect();
    let words = |&one: &Procedure| {
        let protocol = if protocols.len() > 1 { format!("{} ", one.row().protocol.label()) } else { String::new() };
        let [was, is] = [ours, theirs].map(|of| percent(share(of, one)));
        format!("{protocol}{} {was} → {is}", one.name())
    };
    Some(most.iter().take(NAMED).map(words).collect::<Vec<_>>().join(", "))
}

/// `10 %`; small shares with a digit more.
fn percent(share: f64) -> String {
    let of_100 = share * 100.0;
    if of_100 > 0.0 && of_100 < 10.0 { format!("{of_100:.1} %") } else { format!("{of_100:.0} %") }
}

/// Takes the verdicts of the times of all operations together away where the mix differs and no procedure supports them. Other entries of
/// `mixes` become `None`. Returns whether a verdict was taken away.
pub(super) fn judge(levels: &mut [ComparedLevel]) -> bool {
    let mut changed = false;
    for ComparedLevel { rows, mixes, .. } in levels {
        for (place, mix) in mixes.iter_mut().enumerate().filter(|(_, mix)| mix.is_some()) {
            let of_procedures = of_procedures(rows, place);
            let all = rows.iter_mut().filter(|row| row.scope == "all").flat_map(|row| &mut row.metrics);
            let mut times: Vec<&mut ComparedMetric> =
                all.filter(|metric| metric.unit == ComparedUnit::Seconds).collect();
            let is_open = |metric: &ComparedMetric| {
                verdict(metric, place).is_some_and(|found| !is_supported(&metric.metric, found, &of_procedures))
            };
            if !times.iter().any(|metric| is_open(metric)) {
                *mix = None;
                continue;
            }
            // The mix may also hide a difference.
            let withdrawn = times.iter_mut().filter(|metric| verdict(metric, place).is_none() || is_open(metric));
            for found in withdrawn.filter_map(|metric| metric.differences.get_mut(place)?.as_mut()) {
                (found.verdict, found.detectable, found.holm_significant) = (ComparedVerdict::CannotTell, None, false);
            }
            changed = true;
        }
    }
    changed
}

/// Whether a procedure has this verdict in the same number or in the mean, and none has the contrary one.
fn is_supported(metric: &str, verdict: ComparedVerdict, of_procedures: &[(String, ComparedVerdict)]) -> bool {
    let its = || of_procedures.iter().filter(|(name, _)| name == metric || name == Metric::Mean.label());
    its().any(|(_, one)| *one == verdict) && its().all(|(_, one)| *one == verdict)
}

/// Better or worse, or `None`.
fn verdict(metric: &ComparedMetric, place: usize) -> Option<ComparedVerdict> {
    let found = metric.differences.get(place)?.as_ref()?.verdict;
    matches!(found, ComparedVerdict::Better | ComparedVerdict::Worse).then_some(found)
}

/// The differences of procedures' times that are more than chance among all differences.
fn of_procedures(rows: &[ComparedRow], place: usize) -> Vec<(String, ComparedVerdict)> {
    let metrics = rows.iter().filter(|row| row.scope == "procedure").flat_map(|row| &row.metrics);
    let times = metrics.filter(|metric| metric.unit == ComparedUnit::Seconds);
    let significant = times.filter_map(|metric| {
        let found = metric.differences.get(place)?.as_ref().filter(|found| found.holm_significant)?;
        Some((metric.metric.clone(), found.verdict))
    });
    significant.collect()
}
