//! The content of a gate's outputs.

use plimsoll_results::comparison::Condition;

use crate::gate::GateResult;

/// The content of all outputs of a gate.
pub struct GateSummary<'a> {
    /// The result.
    pub gate: &'a GateResult,
    /// The conditions.
    pub conditions: &'a [Condition],
    /// The baseline and the candidate.
    pub sides: [&'a str; 2],
    /// The workload of both sides.
    pub workload: &'a str,
    /// Warnings to read before the result.
    pub warnings: &'a [String],
}
