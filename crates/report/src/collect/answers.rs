//! The diagnosis of reports other than captures: a run, a search for a capacity, a breakdown, a comparison. Rules with thresholds, as for
//! captures (`diagnosis`); they are in docs/diagnosis.md.

mod breakdown;
mod capacity;
pub(super) mod comparison;
mod interference;
mod measured;
mod run;

use crate::findings::{Diagnosis, Findings};
pub(super) use measured::measured;
use measured::{percentiles, rate};

/// The diagnosis of any kind of run. `waiting` is the diagnosis of its requests, as for a capture.
pub(super) fn of_run(findings: &Findings, waiting: Diagnosis) -> Diagnosis {
    let run = findings.run.as_ref();
    let capacity = run.and_then(|run| run.capacity.as_deref());
    let calls = run.and_then(|run| run.calls.as_deref());
    match (capacity, calls) {
        (Some(capacity), _) => capacity::diagnose(findings, capacity),
        (None, Some(calls)) => breakdown::diagnose(findings, calls),
        (None, None) => run::diagnose(findings, waiting),
    }
}

#[cfg(test)]
mod tests;
