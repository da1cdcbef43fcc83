//! The decisions of a gate, in the report of its comparison.

use plimsoll_report::findings::Report;
use plimsoll_report::findings::comparison::Condition as JudgedCondition;
use plimsoll_results::comparison::Condition;

use super::result::{Basis, GateResult};
use super::summary::line;

/// Note about the limited meaning of a stopped gate's numbers.
const OPTIONAL_STOPPING: &str = "A gate stops as soon as its conditions are decided. Only the confidence intervals of these conditions \
    allow for the early end; all other confidence intervals and verdicts assume a fixed number of rounds";

/// Adds the decisions to the comparison's report; returns its earlier warnings.
pub fn note_decisions(report: &mut Report, gate: &GateResult, conditions: &[Condition]) -> Vec<String> {
    let Some(comparison) = &mut report.comparison else { return Vec::new() };
    let of = |condition: &Condition| {
        let questions = || gate.questions.iter().filter(|question| question.condition == *condition);
        JudgedCondition {
            text: condition.text.clone(),
            outcome: questions()
                .map(|question| question.outcome)
                .max()
                .map_or("undecided", |worst| worst.label())
                .to_owned(),
            because: questions().map(line).collect(),
        }
    };
    comparison.conditions = conditions.iter().map(of).collect();
    let warnings = comparison.warnings.clone();
    if gate.basis != Basis::Apart {
        comparison.warnings.push(OPTIONAL_STOPPING.to_owned());
    }
    warnings
}
