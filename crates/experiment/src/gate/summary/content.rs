//! The content of a gate's outputs.

use plimsoll_results::comparison::Condition;

use crate::gate::GateResult;

/// What all outputs of a gate show.
pub struct GateSummary<'a> {
    /// The result.
    pub gate: &'a GateResult,
    /// The conditions.
    pub conditions: &'a [Condition],
    /// The baseline and the candidate.
    pub sides: [&'a str; 2],
    /// What both were asked to do.
    pub workload: &'a str,
    /// Warnings to read before the result.
    pub warnings: &'a [String],
}
