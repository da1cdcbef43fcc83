//! The content of a gate's outputs.

use plimsoll_results::comparison::Condition;

use crate::gate::GateResult;

/// What all outputs of a gate show.
pub struct GateSummary<'a> {
    /// What came of it.
    pub gate: &'a GateResult,
    /// What was to be decided.
    pub conditions: &'a [Condition],
    /// The baseline and the candidate.
    pub sides: [&'a str; 2],
    /// What both were asked to do.
    pub workload: &'a str,
    /// What a reader must know before believing it.
    pub warnings: &'a [String],
}
