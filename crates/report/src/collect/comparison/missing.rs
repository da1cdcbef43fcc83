//! Captures with missing operations, or with cuts that hide the main operation of NFSv4 COMPOUNDs: the missing part is no difference between
//! servers. The measured rates are too low, and the missing operations may be the fastest or the slowest. If nobody captured between the
//! files of a capture, its rates are too low, too.

use plimsoll_model::{Group, Operation};
use plimsoll_stats::GroupKey;
use plimsoll_stats::comparison::{Course, Metric, Scope};

use super::contestant::{Contestant, LevelRuns};
use crate::collect::losses::{between_files_share, missing, possible, present};
use crate::findings::comparison::{ComparedMetric, ComparedRow, ComparedVerdict, Difference, Possible};

/// The rows of these scopes with verdicts only where they hold for all that may be missing.
pub(super) fn judged(
    mut rows: Vec<ComparedRow>,
    scopes: &[Scope],
    contestants: &[Contestant],
    level: &[&LevelRuns],
) -> Vec<ComparedRow> {
    for (place, (one, its)) in contestants.iter().zip(level).enumerate() {
        let findings = its.findings.as_ref().unwrap_or(&one.findings);
        let courses = |scope: Scope| its.runs.iter().map(|run| run.course(scope)).collect::<Vec<Course>>();
        let answered = |courses: &[Course]| courses.iter().map(|course| course.sum().answered()).sum::<u64>();
        let not_recognised = answered(&courses(Scope::Group(GroupKey::One(Group::Compound))));
        let is_covered = findings.span.between_files_share() <= 0.0;
        if present(findings).0 >= 1.0 && not_recognised == 0 && is_covered {
            continue;
        }
        let all = answered(&courses(Scope::All));
        for (row, &scope) in rows.iter_mut().zip(scopes) {
            let (least, mut most) = missing(scope, findings, all);
            if !has_compounds(scope) {
                // Each of them may or may not belong here.
                most += not_recognised as f64;
            }
            let courses = courses(scope);
            for metric in &mut row.metrics {
                let Some(kind) = Metric::ALL.into_iter().find(|kind| kind.label() == metric.metric) else { continue };
                if let Some(entry) = metric.possible.get_mut(place) {
                    let between_files = between_files_share(kind, findings);
                    *entry = Possible::of(possible(kind, &courses, (least, most)), between_files);
                }
            }
        }
    }
    rows.iter_mut().flat_map(|row| &mut row.metrics).for_each(judge);
    rows
}

/// Whether a row has the COMPOUNDs whose main operation is not known.
fn has_compounds(scope: Scope) -> bool {
    match scope {
        Scope::All => true,
        Scope::Group(key) => key.holds(Group::Compound),
        Scope::Operation(operation) => operation == Operation::Compound,
        Scope::Procedure(procedure) => procedure.row().group == Group::Compound,
    }
}

/// Leaves verdicts where they hold for every part of the operations or of the time that may be missing. Nothing is detectable that these may
/// hide.
fn judge(metric: &mut ComparedMetric) {
    let possible: Vec<(f64, f64)> = (0..metric.possible.len()).map(|place| metric.possible_at(place)).collect();
    let Some((&baseline, others)) = possible.split_first() else { return };
    for (difference, other) in metric.differences.iter_mut().zip(others) {
        let factor = (other.0 / baseline.1, other.1 / baseline.0);
        let Some(found) = difference.as_mut().filter(|_| factor != (1.0, 1.0)) else { continue };
        found.detectable = None;
        if !holds(found, factor) {
            found.verdict = ComparedVerdict::CannotTell;
        }
    }
}

/// Whether a verdict on two numbers remains valid with their ratio times `factor`.
fn holds(found: &Difference, factor: (f64, f64)) -> bool {
    if found.verdict == ComparedVerdict::NotShown {
        return true;
    }
    let Some((low, high)) = found.relative_low.zip(found.relative_high) else { return false };
    let (low, high) = ((1.0 + low) * factor.0 - 1.0, (1.0 + high) * factor.1 - 1.0);
    if found.value > 0.0 { low > 0.0 } else { high < 0.0 }
}
