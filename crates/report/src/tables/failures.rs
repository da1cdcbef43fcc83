//! Actions that did not succeed, by load level.

use super::{Cell, Column, Row, Table, wanted_levels};
use crate::findings::Findings;

/// The table; none where all succeeded.
pub(crate) fn failures(sides: &[Findings]) -> Option<Table> {
    let failing = wanted_levels(sides, |_, level| !level.failures.is_empty());
    let rows = failing.iter().flat_map(|(prefix, level)| {
        level.failures.iter().map(move |failure| Row {
            name: format!("{prefix}{}", level.words()),
            invalid: false,
            cells: vec![Cell::Words(failure.cause.clone()), Cell::Count(failure.count)],
        })
    });
    (!failing.is_empty()).then(|| Table {
        id: "failures".to_owned(),
        title: "Failures".to_owned(),
        scaled: None,
        caption: "Failed actions and connections by cause.".to_owned(),
        columns: vec![Column::new("Level", "Level"), Column::words("Cause", "Cause"), Column::new("Count", "Count")],
        rows: rows.collect(),
        notes: Vec::new(),
    })
}
