//! A comparison: whether its sides are alike, and whether what is to fail does.

mod comparable;
mod condition;
mod judge;
mod recording;

use plimsoll_report::collect::comparison::{Contestant, Order};
use plimsoll_report::findings::Findings;
use plimsoll_report::findings::comparison::Comparison;

pub use condition::{Condition, Threshold};
pub use judge::Judgement;
pub use recording::read as read_recording;

/// The load level that a capture is, in words.
pub const WHOLE_CAPTURE: &str = "whole capture";

/// One side of a comparison.
pub struct ComparedSide {
    /// Its numbers.
    pub contestant: Contestant,
    /// Its own report, for the page.
    pub findings: Findings,
    /// What is missing of a recording, as the rest of a sentence.
    pub unfinished: Option<String>,
}

/// Compares the sides and judges the conditions. `warnings` are more of what a reader must know before believing the differences.
///
/// # Errors
/// No load level is in all sides: nothing can be compared.
pub fn compare(
    contestants: &[Contestant],
    (order, warnings): (Order, Vec<String>),
    conditions: &[Condition],
) -> anyhow::Result<(Comparison, Judgement)> {
    // Whether the numbers may be used comes first.
    let warnings = [comparable::warnings(contestants)?, warnings].concat();
    let tool = format!("plimsoll {}", env!("CARGO_PKG_VERSION"));
    let mut comparison = Comparison::collect(tool, contestants, order, warnings);
    let judgement = judge::judge(&mut comparison, conditions);
    Ok((comparison, judgement))
}
