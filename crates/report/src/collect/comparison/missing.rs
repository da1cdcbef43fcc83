//! Rates of captures with missing operations, or with cuts that hide the main operation of NFSv4 COMPOUNDs: the measured rates are too
//! low, and the missing part is not a difference between servers.

use plimsoll_model::Group;
use plimsoll_stats::comparison::Metric;

use super::contestant::Contestant;
use crate::findings::comparison::{ComparedRow, ComparedVerdict, Difference};

/// Scopes of rows.
const ALL: &str = "all";
const GROUP: &str = "group";

/// The rows with verdicts on rates only where they hold for all that may be missing.
pub(super) fn judged(mut rows: Vec<ComparedRow>, contestants: &[Contestant]) -> Vec<ComparedRow> {
    let captured: Vec<(f64, f64)> = contestants.iter().map(present).collect();
    let not_recognised = rates(rows.iter().find(|row| row.scope == GROUP && row.name == Group::Compound.label()));
    for row in &mut rows {
        let (mut present, of_row) = (captured.clone(), rates(Some(row)));
        if row.scope != ALL && row.name != Group::Compound.label() {
            // Each of them may or may not belong here.
            for (place, (low, _)) in present.iter_mut().enumerate() {
                let rate = |rates: &[f64]| rates.get(place).copied().unwrap_or(0.0);
                let (here, beside) = (rate(&of_row), rate(&not_recognised));
                *low *= if beside > 0.0 { here / (here + beside) } else { 1.0 };
            }
        }
        judge(row, &present);
    }
    rows
}

/// Operations per second of each side in a row, 0 where it has none.
fn rates(row: Option<&ComparedRow>) -> Vec<f64> {
    let throughput = row.and_then(|row| row.metrics.iter().find(|one| one.metric == Metric::Throughput.label()));
    let estimates = throughput.iter().flat_map(|metric| &metric.estimates);
    estimates.map(|estimate| estimate.as_ref().map_or(0.0, |estimate| estimate.value)).collect()
}

/// Leaves verdicts on the row's rates where they hold for every part of its operations that may have been seen.
fn judge(row: &mut ComparedRow, present: &[(f64, f64)]) {
    let Some((&baseline, others)) = present.split_first() else { return };
    let is_rate = |metric: &str| [Metric::Throughput.label(), Metric::Bytes.label()].contains(&metric);
    for metric in row.metrics.iter_mut().filter(|metric| is_rate(&metric.metric)) {
        for (difference, other) in metric.differences.iter_mut().zip(others) {
            // The true rate is the measured rate divided by the captured fraction.
            let factor = (baseline.0 / other.1, baseline.1 / other.0);
            if let Some(difference) = difference.as_mut().filter(|found| !holds(found, factor)) {
                (difference.verdict, difference.detectable) = (ComparedVerdict::CannotTell, None);
            }
        }
    }
}

/// The part of all operations that the numbers contain, at least and at most.
pub(in super::super) fn present(one: &Contestant) -> (f64, f64) {
    let unseen = &one.findings.unseen;
    let share = |missing: Option<f64>| 1.0 - missing.filter(|_| one.findings.run.is_none()).unwrap_or(0.0);
    (share(unseen.share_missing_high), share(unseen.share_missing_low))
}

/// Whether a verdict on two rates remains valid with their ratio times `factor`.
fn holds(found: &Difference, factor: (f64, f64)) -> bool {
    if found.verdict == ComparedVerdict::NotShown || factor == (1.0, 1.0) {
        return true;
    }
    let Some((low, high)) = found.relative_low.zip(found.relative_high) else { return false };
    let (low, high) = ((1.0 + low) * factor.0 - 1.0, (1.0 + high) * factor.1 - 1.0);
    if found.value > 0.0 { low > 0.0 } else { high < 0.0 }
}
