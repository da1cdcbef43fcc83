//! A comparison: checks that its sides are comparable, and judges the conditions.

mod comparable;
mod condition;
mod distinct;
mod invalid;
mod judge;
pub mod points;
mod recording;

use plimsoll_report::collect::comparison::{Contestant, Ignore, Order};
use plimsoll_report::findings::Report;

pub use condition::{Condition, Outcome, PossibleNumber, Threshold};
pub use distinct::refuse_repeated;
pub(crate) use distinct::refuse_repeated_tables;
pub use invalid::{invalid_sides, nothing_judged};
pub use judge::{Judgement, MAY_CHANGE, may_change, possible};
pub(crate) use recording::level_name;
pub use recording::{RecordedRun, read as read_recording, runs as read_runs};

/// The load level that a capture is, in words.
pub const WHOLE_CAPTURE: &str = "whole capture";
/// The same for a table of a run, whose load is unknown.
pub(crate) const WHOLE_TABLE: &str = "whole table";

/// One side of a comparison.
pub struct ComparedSide {
    /// Its report and its numbers.
    pub contestant: Contestant,
    /// The missing part of a recording, as the rest of a sentence.
    pub unfinished: Option<String>,
}

/// Compares the sides and judges the conditions. `warnings` are additional warnings about the differences.
///
/// # Errors
/// The sides have no common load level: nothing can be compared.
pub fn compare(
    contestants: Vec<Contestant>,
    (order, warnings): (Order, Vec<String>),
    conditions: &[Condition],
    ignore: Ignore,
) -> anyhow::Result<(Report, Judgement)> {
    let warnings = [comparable::warnings(&contestants)?, warnings].concat();
    let mut report = Report::compare_as(contestants, order, warnings, ignore);
    let judgement = judge::judge(&mut report, conditions);
    Ok((report, judgement))
}
