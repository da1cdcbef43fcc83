//! The diagnosis of what is no capture: a run, a search for a capacity, a breakdown, a comparison. Rules with thresholds, as of captures
//! (`diagnosis`); MEASUREMENT.md, "Diagnosis", has them.

mod breakdown;
mod capacity;
pub(super) mod comparison;
mod run;

use crate::findings::{Confidence, Diagnosis, Findings, Rule, Statement};

/// The diagnosis of a run of any kind. `waiting` is that of its requests, as of a capture.
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

/// A sentence that the numbers say by themselves.
pub(super) fn measured(rule: Rule, text: String) -> Statement {
    Statement { rule, text, share: None, confidence: Confidence::Measured }
}

/// A rate of three digits.
fn rate(value: f64) -> String {
    match value {
        v if v >= 99.95 => super::counts::thousands(v.round() as u64),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests;
