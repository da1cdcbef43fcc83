//! The mix of operations of two captures. With more of the operations that take long, all operations together take longer, and that is no
//! difference of servers.

mod reweighted;

use std::collections::BTreeSet;

use plimsoll_model::Procedure;
use plimsoll_stats::comparison::{Metric, Scope, fewest_of_percentile};

use self::reweighted::{Mix, changes_times, share};
use super::contestant::{Ignore, LevelRuns};
use crate::findings::comparison::{ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict};

/// Two mixes differ if a procedure's shares of the requests differ by more than this, or if the shares alone change times.
const OTHER_SHARE: f64 = 0.05;
/// Shares that differ by fewer standard errors may differ by chance.
const CHANCE: f64 = 3.0;
/// Maximum number of procedures that a sentence names.
const NAMED: usize = 2;

/// How the mix of each side after the baseline differs from the baseline's, in words; `None` if it does not, or if both loads are known.
pub(super) fn others(level: &[&LevelRuns], ignore: Ignore) -> Vec<Option<String>> {
    let Some((&baseline, others)) = level.split_first() else { return Vec::new() };
    let is_known = |one: &LevelRuns| ignore.load || one.point.is_some();
    let ours = mix(baseline);
    let words = |&other: &&LevelRuns| {
        if is_known(baseline) && is_known(other) {
            return None;
        }
        let theirs = mix(other);
        other_mix(&ours, &theirs, &percentiles([&ours, &theirs]))
    };
    others.iter().map(words).collect()
}

fn mix(of: &LevelRuns) -> Mix {
    let mut mix = Mix::new();
    for run in &of.runs {
        for (procedure, row) in run.intervals.sum().rows().filter(|(procedure, _)| Scope::All.holds(*procedure)) {
            mix.entry(procedure).or_default().merge(row);
        }
    }
    mix
}

/// The percentiles (0..=100) that may have a verdict: others have no interval, and say nothing of the mix by chance.
fn percentiles(sides: [&Mix; 2]) -> Vec<f64> {
    let is_known = |mix: &Mix, percentile: f64| {
        let times: u64 = mix.values().map(|row| row.histogram.count()).sum();
        times >= fewest_of_percentile(percentile)
    };
    let all = Metric::ALL.into_iter().filter_map(Metric::percentile);
    all.filter(|&percentile| sides.iter().all(|&side| is_known(side, percentile))).collect()
}

/// The procedures whose shares differ most, in words; `None` if the mixes are alike.
fn other_mix(ours: &Mix, theirs: &Mix, percentiles: &[f64]) -> Option<String> {
    let procedures: BTreeSet<Procedure> = ours.keys().chain(theirs.keys()).copied().collect();
    let change = |procedure: Procedure| (share(theirs, procedure) - share(ours, procedure)).abs();
    let is_alike = procedures.iter().all(|&one| change(one) <= OTHER_SHARE);
    // The interval of a percentile includes what chance does to the shares.
    let is_chance = procedures.iter().all(|&one| change(one) <= CHANCE * standard_error(ours, theirs, one));
    let percentiles = if is_chance { &[] } else { percentiles };
    if is_alike && !changes_times(ours, theirs, percentiles) {
        return None;
    }
    let mut most: Vec<Procedure> = procedures.iter().copied().collect();
    most.sort_by(|&a, &b| change(b).total_cmp(&change(a)));
    let protocols: BTreeSet<&str> = procedures.iter().map(|one| one.row().protocol.label()).collect();
    let words = |&one: &Procedure| {
        let protocol = if protocols.len() > 1 { format!("{} ", one.row().protocol.label()) } else { String::new() };
        let [was, is] = percents([ours, theirs].map(|of| share(of, one) * 100.0));
        format!("{protocol}{} {was} → {is}", one.name())
    };
    Some(most.iter().take(NAMED).map(words).collect::<Vec<_>>().join(", "))
}

/// Standard error of the difference of a procedure's shares, if both sides have the same mix.
fn standard_error(ours: &Mix, theirs: &Mix, procedure: Procedure) -> f64 {
    let requests = |of: &Mix| of.values().map(|row| row.count).sum::<u64>().max(1) as f64;
    let (a, b) = (requests(ours), requests(theirs));
    let together = (share(ours, procedure) * a + share(theirs, procedure) * b) / (a + b);
    (together * (1.0 - together) * (1.0 / a + 1.0 / b)).sqrt()
}

/// `50 %` and `10 %`: small shares with a digit more, and both with as many digits as it takes to tell them apart.
fn percents(shares: [f64; 2]) -> [String; 2] {
    let written = |digits: usize| {
        shares.map(|share| {
            let digits = digits.max(usize::from(share > 0.0 && share < 10.0));
            format!("{share:.digits$} %")
        })
    };
    let told_apart = (0..=3).map(written).find(|[was, is]| was != is);
    told_apart.unwrap_or_else(|| written(0))
}

/// Takes the verdicts of the times of all operations together away where the mix differs and no procedure supports them. Returns whether
/// a verdict was taken away: with fewer tests, more differences of procedures may be significant.
pub(super) fn judge(levels: &mut [ComparedLevel]) -> bool {
    let mut changed = false;
    for ComparedLevel { rows, mixes, .. } in levels {
        for (place, _) in mixes.iter().enumerate().filter(|(_, mix)| mix.is_some()) {
            let of_procedures = of_procedures(rows, place);
            let all = rows.iter_mut().filter(|row| row.scope == "all").flat_map(|row| &mut row.metrics);
            for metric in all.filter(|metric| metric.unit == ComparedUnit::Seconds) {
                // Nothing supports that no difference was shown: the mix may hide one.
                let is_kept =
                    verdict(metric, place).is_some_and(|found| is_supported(&metric.metric, found, &of_procedures));
                let difference = metric.differences.get_mut(place).and_then(Option::as_mut);
                let Some(found) = difference.filter(|_| !is_kept) else { continue };
                changed |= found.verdict != ComparedVerdict::CannotTell;
                (found.verdict, found.detectable, found.holm_significant) = (ComparedVerdict::CannotTell, None, false);
            }
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

#[cfg(test)]
mod tests {
    use super::super::judge_mixes;
    use super::*;
    use crate::findings::comparison::Difference;

    fn row(scope: &str, metrics: &[(&str, ComparedVerdict, f64)]) -> ComparedRow {
        let metric = |&(name, verdict, p_value): &(&str, ComparedVerdict, f64)| {
            let (relative, relative_low, relative_high) = (Some(0.1), Some(0.09), Some(0.11));
            let (value, low, high, holm_significant, detectable) = (0.1, 0.09, 0.11, false, Some(0.01));
            let found = Difference {
                value,
                low,
                high,
                relative,
                relative_low,
                relative_high,
                verdict,
                p_value,
                holm_significant,
                detectable,
            };
            ComparedMetric {
                metric: name.to_owned(),
                unit: ComparedUnit::Seconds,
                more_is_better: false,
                estimates: Vec::new(),
                differences: vec![Some(found)],
                possible: Vec::new(),
            }
        };
        let (scope, name, protocol) = (scope.to_owned(), scope.to_owned(), String::new());
        ComparedRow { scope, name, protocol, metrics: metrics.iter().map(metric).collect() }
    }

    /// After three values of no difference are withdrawn, a better procedure is significant, and contradicts the worse mean.
    #[test]
    fn a_verdict_is_kept_only_if_it_is_still_supported_by_the_tests_that_remain() {
        use ComparedVerdict::{Better, CannotTell, NotShown, Worse};
        let judged = |contrary: f64| {
            let none = ["p50", "p90", "p95"].map(|name| (name, NotShown, 0.9));
            let all: Vec<_> = [("mean", Worse, 1e-6)].into_iter().chain(none).collect();
            let single = [[("mean", Worse, 1e-6)], [("mean", Better, contrary)]];
            let mut rows = vec![row("all", &all)];
            rows.extend(single.iter().map(|metrics| row("procedure", metrics)));
            let mixes = vec![Some("READ 50 % → 10 %".to_owned())];
            let mut levels = [ComparedLevel { mixes, rows, ..ComparedLevel::default() }];
            let tested = judge_mixes(&mut levels);
            let metrics = levels.iter().flat_map(|level| &level.rows).flat_map(|row| &row.metrics);
            let verdicts: Vec<_> =
                metrics.flat_map(|metric| &metric.differences).flatten().map(|one| one.verdict).collect();
            (tested, verdicts)
        };
        let withdrawn: Vec<ComparedVerdict> = [CannotTell; 4].into_iter().chain([Worse, Better]).collect();
        assert_eq!(judged(0.02), (2, withdrawn));
        let kept = [Worse, CannotTell, CannotTell, CannotTell, Worse, Better].to_vec();
        assert_eq!(judged(0.2), (3, kept), "chance explains the contrary");
    }
}
