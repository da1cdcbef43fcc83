//! Title, labels and the system under test in a page: a column for each side.

use super::table::scrolled;
use super::untrusted::Untrusted;
use crate::described::{self, DescribedRow, described};
use crate::findings::Findings;
use crate::findings::comparison::ComparedGuarantee;
use maud::{Markup, html};

/// The guarantees of the servers in a comparison; None if unknown.
pub(super) fn guarantees(sides: &[Findings], rows: &[ComparedGuarantee]) -> Option<Markup> {
    let rows = described::guarantees(rows.iter());
    let caption = "What the servers guarantee. Rows with a difference that rules out a ranking come first.";
    (!rows.is_empty()).then(|| rows_of("guarantees", caption, sides, &rows))
}

/// The table; none where nothing was said.
pub(super) fn table(sides: &[Findings]) -> Option<Markup> {
    let rows = described(sides);
    let caption = match sides.len() {
        1 => "Title, labels and the system under test.",
        _ => "Titles, labels and systems under test. Rows that differ come first.",
    };
    (!rows.is_empty()).then(|| rows_of("described", caption, sides, &rows))
}

fn rows_of(id: &str, caption: &str, sides: &[Findings], rows: &[DescribedRow]) -> Markup {
    let (one, id) = (sides.len() == 1, format!("{id}-caption"));
    html! {
            (scrolled(&id, "configuration", html! { (caption) }, html! {
                thead { tr {
                    th scope="col" { "What" }
                    @if one { th.text scope="col" { "Value" } }
                    @else { @for side in sides { th.text scope="col" { (Untrusted(&side.letter)) } } th.text scope="col" { "Differs" } }
                } }
                tbody { @for row in rows { tr {
                    th scope="row" { (Untrusted(&row.name)) }
                    @for value in &row.values {
                        td.text { @if let Some(value) = value { bdi { (Untrusted(value)) } } @else { "(not given)" } }
                    }
                    @if !one { td.text { @if row.differs() { "yes" } @else { "no" } } }
                } } }
            }))
    }
}
