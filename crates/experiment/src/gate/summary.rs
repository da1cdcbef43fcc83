//! The result of a gate for people and for other programs.

mod content;
mod csv;
mod junit;
mod markdown;
mod words;

pub use content::GateSummary;
pub use words::judgement;
pub(super) use words::line;

impl GateSummary<'_> {
    /// The text for a terminal of this width.
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
