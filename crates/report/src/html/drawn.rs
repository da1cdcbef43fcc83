//! A table of [`crate::tables`] in a page.

use maud::{Markup, html};

use super::summary::range_bar;
use super::table::scrolled;
use super::units::{UNKNOWN, bits, bytes, count, duration, optional, per_second, percent, percentage};
use super::untrusted::Untrusted;
use crate::findings::Spread;
use crate::tables::{Cell, Row, Table, Unit};

pub(super) fn draw(tables: impl IntoIterator<Item = Table>) -> Vec<Markup> {
    tables.into_iter().map(|table| one(&table)).collect()
}

fn one(table: &Table) -> Markup {
    let caption = format!("{}-caption", table.id);
    let ranges = table.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| match cell {
        Cell::Range(range) => range.map(|(_, p99)| p99),
        _ => None,
    });
    let slowest = ranges.fold(0.0, f64::max);
    html! {
        (scrolled(&caption, "", html! { (Untrusted(&table.caption)) }, html! {
            thead { tr { @for column in &table.columns { th.text[column.words] scope="col" { (Untrusted(&column.name)) } } } }
            tbody { @for row in &table.rows { (line(row, slowest)) } }
        }))
        @for note in table.notes.iter().filter(|note| note.page) { p.note { (Untrusted(&note.text)) } }
    }
}

fn line(row: &Row, slowest: f64) -> Markup {
    html! {
        tr {
            th scope="row" { (Untrusted(&row.name)) @if row.invalid { " (invalid)" } }
            @for cell in &row.cells {
                @match cell {
                    Cell::Words(words) => td.text { (Untrusted(words)) },
                    Cell::Range(range) => td.wide { @if let Some((p50, p99)) = range { (range_bar(*p50, *p99, slowest)) } },
                    _ => td { (words_of(cell)) },
                }
            }
        }
    }
}

fn words_of(cell: &Cell) -> String {
    match cell {
        Cell::Words(words) => words.clone(),
        Cell::Count(n) => count(*n),
        Cell::Of(n, all) => format!("{} of {}", count(*n), count(*all)),
        Cell::Time(seconds) | Cell::Scaled(seconds) => optional(*seconds, duration),
        Cell::TimeAtLeast(seconds) => format!("≥ {}", duration(*seconds)),
        Cell::TimeBelow(seconds) => format!("< {}", duration(*seconds)),
        Cell::Rate(rate) => per_second(*rate),
        Cell::Bytes(rate) => optional(*rate, |rate| format!("{}/s", bytes(rate))),
        Cell::Bits(rate) => optional(*rate, |rate| format!("{}/s", bits(rate * 8.0))),
        Cell::Size(size) => optional(*size, bytes),
        Cell::Share(share) => optional(*share, percent),
        Cell::Percentage(share) => percentage(*share),
        Cell::Number(number, decimals, after) => optional(*number, |number| format!("{number:.decimals$}{after}")),
        Cell::Ratio(times) => optional(*times, |times| format!("{times:.1}")),
        Cell::Range(range) => optional(*range, |(p50, p99)| format!("{} to {}", duration(p50), duration(p99))),
        Cell::Spread(spread, Unit::Seconds) => spread_of(*spread, duration),
        Cell::Spread(spread, Unit::PerSecond) => spread_of(*spread, per_second),
    }
}

fn spread_of(spread: Option<Spread>, number: fn(f64) -> String) -> String {
    let Some(Spread { mean, interval, min, max }) = spread else { return UNKNOWN.to_owned() };
    // Half of the interval in the number's own words: of a rate near nothing there is no percentage.
    format!("{} ± {} ({} to {})", number(mean), number(interval.high - mean), number(min), number(max))
}
