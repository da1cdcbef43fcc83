//! What came of a gate, as people and other programs read it.

mod csv;
mod junit;
mod markdown;
mod words;

pub use words::{line, why_ended};

use super::GateResult;
use plimsoll_results::comparison::Condition;

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

impl GateSummary<'_> {
    /// For a terminal of so many columns.
    #[must_use]
    pub fn text(&self, columns: usize) -> String {
        words::text(self, columns)
    }

    /// The verdict and a table, for the comment on a pull request.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::table(self)
    }

    /// JUnit XML: a test case per condition and load level.
    #[must_use]
    pub fn junit(&self) -> String {
        junit::suite(self)
    }

    /// CSV: a line per run and load level.
    #[must_use]
    pub fn csv(&self) -> String {
        csv::runs(self)
    }
}

#[cfg(test)]
mod tests;
