//! Logons and other session requests outside of the measured phase, one line per load level and procedure.

use super::{Cell, Column, Note, Row, Table, wanted_levels};
use crate::findings::{Findings, OutsidePhase};

/// The table; None without such requests.
pub(crate) fn session_requests(sides: &[Findings]) -> Option<Table> {
    let seen = wanted_levels(sides, |_, level| !level.facts.session_requests.is_empty());
    let rows: Vec<Row> = seen
        .iter()
        .flat_map(|(prefix, level)| {
            level.facts.session_requests.iter().map(move |of| Row {
                name: format!("{prefix}{}", level.words()),
                invalid: false,
                cells: [vec![Cell::Words(of.procedure.clone())], cells(&of.before), cells(&of.after)].concat(),
            })
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: "session-requests".to_owned(),
        title: "Logons and logoffs outside of the measured phase".to_owned(),
        scaled: None,
        caption: format!("Logons and logoffs outside of the measured phase. {EXPLANATION}"),
        columns: columns![
            "Level", words "Request", "Before the phase": "Before", "Errors", "Mean", "Max", "After the phase": "After",
            "Errors", "Mean", "Max"
        ],
        rows,
        notes: vec![Note::quiet(EXPLANATION)],
    })
}

const EXPLANATION: &str = "Session requests that were due before the measured phase (logons, warm-up) or after it (drain, logoffs), and \
    their response times. Errors: refused, failed and unanswered requests. All other client-side numbers exclude these requests.";

fn cells(of: &OutsidePhase) -> Vec<Cell> {
    vec![
        Cell::Count(of.requests),
        Cell::Count(of.errors.saturating_add(of.unanswered)),
        Cell::Time(of.response_mean_s),
        Cell::Time(of.response_max_s),
    ]
}
