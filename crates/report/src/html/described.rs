//! Title, labels and the system under test in a page: a column for each side.

use super::untrusted::Untrusted;
use crate::described::described;
use crate::findings::Findings;
use maud::{Markup, html};

/// The table; none where nothing was said.
pub(super) fn table(sides: &[Findings]) -> Option<Markup> {
    let rows = described(sides);
    let (one, caption) = match sides.len() {
        1 => (true, "Title, labels and the system under test."),
        _ => (false, "Titles, labels and systems under test. Rows that differ come first."),
    };
    (!rows.is_empty()).then(|| {
        html! {
            div.scroll tabindex="0" role="region" aria-labelledby="described-caption" {
                table.configuration {
                    caption #described-caption { (caption) }
                    thead { tr {
                        th scope="col" { "What" }
                        @if one { th.text scope="col" { "Value" } }
                        @else { @for side in sides { th.text scope="col" { (Untrusted(&side.letter)) } } th.text scope="col" { "Differs" } }
                    } }
                    tbody { @for row in &rows { tr {
                        th scope="row" { (Untrusted(&row.name)) }
                        @for value in &row.values {
                            td.text { @if let Some(value) = value { bdi { (Untrusted(value)) } } @else { "(not given)" } }
                        }
                        @if !one { td.text { @if row.differs() { "yes" } @else { "no" } } }
                    } } }
                }
            }
        }
    })
}
