//! The document: one side, or several for comparison.

use serde::{Deserialize, Serialize};

use super::Findings;
use super::comparison::Comparison;
use super::letter::letter;

/// The schema's name; its number changes when a field is removed or changes its meaning.
pub const SCHEMA: &str = "plimsoll.report/2";

/// The tool and its version.
pub const TOOL: &str = concat!("plimsoll ", env!("CARGO_PKG_VERSION"));

/// A report: the findings of each side, and their differences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The tool and version that wrote it.
    pub tool: String,
    /// At least one. The first is the baseline for the others.
    pub sides: Vec<Findings>,
    /// How they differ; null of one side.
    pub comparison: Option<Comparison>,
}

impl Report {
    /// Of sides, which get their letters here.
    pub(crate) fn of(sides: impl IntoIterator<Item = Findings>, comparison: Option<Comparison>) -> Report {
        let named = |(place, side)| Findings { letter: letter(place), ..side };
        Report {
            schema: SCHEMA.to_owned(),
            tool: TOOL.to_owned(),
            sides: sides.into_iter().enumerate().map(named).collect(),
            comparison,
        }
    }

    /// The side, where there is one.
    pub fn only(&self) -> Option<&Findings> {
        if let ([only], None) = (self.sides.as_slice(), &self.comparison) { Some(only) } else { None }
    }
}

impl From<Findings> for Report {
    fn from(findings: Findings) -> Report {
        Report::of([findings], None)
    }
}
