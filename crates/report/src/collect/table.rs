//! Findings from a table of transactions, without packets.

use plimsoll_model::{Coverage, Reason};

use super::unseen;
use crate::findings::Findings;

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
        }
        self.warnings.extend(facts.warnings);
        self.and(facts.reasons)
    }
}
