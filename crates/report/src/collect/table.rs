//! Findings from a table of transactions, without packets.

use plimsoll_model::{Coverage, Reason};

use super::{SECOND, input, unseen};
use crate::findings::{Findings, Span};

/// What is known of the rows of a table besides the rows.
#[derive(Clone, Debug, Default)]
pub struct TableFacts {
    /// Why the numbers are PARTIAL or INVALID.
    pub reasons: Vec<Reason>,
    /// Further warnings.
    pub warnings: Vec<String>,
    /// The coverage of the captures that the rows are from; `None` if it is unknown, and of runs.
    pub coverage: Option<Coverage>,
}

impl Findings {
    /// The same from a table of transactions: what the rows do not show is unknown, except these facts.
    #[must_use]
    pub fn of_a_table(mut self, facts: TableFacts) -> Findings {
        if let Some(coverage) = &facts.coverage {
            self.unseen = unseen(coverage);
            self.span.between_files_s = between_files_s(coverage, self.span);
            self.set_rates();
        }
        self.warnings.extend(facts.warnings);
        self.and(facts.reasons)
    }
}

/// The time between the capture files of a recording, in the time of the rows, s.
fn between_files_s(recorded: &Coverage, rows: Span) -> f64 {
    let whole = recorded.first_ns.zip(recorded.last_ns);
    let is_part = rows.first_ns.zip(rows.last_ns) != whole;
    let capture_ns = recorded.capture_ns.or(whole.filter(|_| is_part));
    let (first_ns, last_ns, file_gaps) = (rows.first_ns, rows.last_ns, recorded.file_gaps);
    let of_rows = Coverage { first_ns, last_ns, capture_ns, file_gaps, ..Coverage::default() };
    input::between_files_ns(&of_rows) as f64 / SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table was said to have a throughput without this time, but had one with it.
    #[test]
    fn rows_of_several_capture_files_have_the_time_between_them() {
        let mut recorded = Coverage { first_ns: Some(0), last_ns: Some(100_000_000_000), ..Coverage::default() };
        recorded.file_gaps.add(20_000_000_000, 70_000_000_000);
        let of_rows = |first_ns: i64, last_ns: i64| {
            let mut findings = Findings::default();
            (findings.span.first_ns, findings.span.last_ns) = (Some(first_ns), Some(last_ns));
            findings.of_a_table(TableFacts { coverage: Some(recorded.clone()), ..TableFacts::default() }).span
        };
        assert_eq!(of_rows(0, 100_000_000_000).between_files_s, 50.0);
        assert_eq!(of_rows(60_000_000_000, 100_000_000_000).between_files_s, 10.0, "a part of the time is selected");
        assert_eq!(of_rows(70_000_000_000, 100_000_000_000).between_files_s, 0.0);
    }
}
