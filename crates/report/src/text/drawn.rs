//! A table of [`crate::tables`] in the terminal.

use std::fmt;

use super::page::{Page, Role};
use super::table::Table as Lines;
use super::units::{NONE, TimeScale, bytes, percent, percentage, significant};
use crate::findings::Spread;
use crate::tables::{Cell, Table, Unit, Weight};

/// The meaning of the mark of a row.
const INVALID: &str = "!: INVALID level; use only those of its numbers that the reasons call reliable.";

pub(super) fn draw(page: &mut Page<'_>, tables: impl IntoIterator<Item = Table>) -> fmt::Result {
    tables.into_iter().try_for_each(|table| one(page, &table))
}

fn one(page: &mut Page<'_>, table: &Table) -> fmt::Result {
    let scale = TimeScale::of(table.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| match cell {
        Cell::Scaled(seconds) => *seconds,
        _ => None,
    }));
    let brief = page.scale();
    let has_times = table.rows.iter().flat_map(|row| &row.cells).any(is_time);
    let scaled = match &table.scaled {
        Some(what) => format!(" ({what} {})", scale.words()),
        None if has_times && table.title.ends_with('?') => format!(" Times {}", brief.words()),
        None if has_times => format!(", times {}", brief.words()),
        None => String::new(),
    };
    let end = if scaled.is_empty() && table.title.ends_with('?') { "" } else { ":" };
    page.heading(&format!("{}{scaled}{end}", table.title))?;
    page.blank()?;
    let shown: Vec<(usize, &str, bool)> = (0..)
        .zip(&table.columns)
        .filter_map(|(at, column)| Some((at, column.short.as_deref()?, column.words)))
        .collect();
    let words = (0..).zip(&shown).filter(|(_, (_, _, words))| *words).map(|(place, _)| place);
    let mut lines = words.fold(Lines::new(), Lines::left);
    lines.head(&shown.iter().map(|(_, name, _)| *name).collect::<Vec<_>>());
    for row in &table.rows {
        let (role, mark) = if row.invalid { (Role::Bad, " !") } else { (Role::Plain, "") };
        let cells = shown.iter().skip(1).filter_map(|(at, ..)| row.cells.get(at.checked_sub(1)?));
        let cells = cells.map(|cell| words_of(cell, scale, brief));
        lines.row_as(role, std::iter::once(format!("{}{mark}", row.name)).chain(cells).collect());
    }
    page.table(&lines)?;
    if table.rows.iter().any(|row| row.invalid) {
        page.paragraph(Role::Quiet, "", INVALID)?;
    }
    for note in &table.notes {
        let role = match note.weight {
            Weight::Quiet => Role::Quiet,
            Weight::Plain => Role::Plain,
            Weight::Caution => Role::Caution,
            Weight::Bad => Role::Bad,
        };
        page.paragraph(role, "", &note.text)?;
    }
    Ok(())
}

/// Whether a cell shows a time in the unit of the report.
fn is_time(cell: &Cell) -> bool {
    match cell {
        Cell::Time(seconds) => seconds.is_some(),
        Cell::TimeAtLeast(_) | Cell::TimeBelow(_) => true,
        Cell::Range(range) => range.is_some(),
        Cell::Spread(spread, Unit::Seconds) => spread.is_some(),
        _ => false,
    }
}

/// Times of levels in `scale`, those of other tables in `brief`; only the heading has the unit.
fn words_of(cell: &Cell, scale: TimeScale, brief: TimeScale) -> String {
    let maybe = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or_else(|| NONE.to_owned(), show);
    match cell {
        Cell::Words(words) => words.clone(),
        Cell::Count(count) | Cell::Of(count, _) => count.to_string(),
        Cell::Time(seconds) => maybe(*seconds, &|seconds| brief.brief(seconds)),
        Cell::TimeAtLeast(seconds) => format!("≥ {}", brief.brief(*seconds)),
        Cell::TimeBelow(seconds) => format!("< {}", brief.brief(*seconds)),
        Cell::Scaled(seconds) => scale.show_maybe(*seconds),
        Cell::Rate(rate) => significant(*rate),
        Cell::Bytes(rate) => maybe(*rate, &|rate| significant(rate / 1e6)),
        Cell::Bits(rate) => maybe(*rate, &|rate| significant(rate * 8.0 / 1e6)),
        Cell::Size(size) => maybe(*size, &|size| bytes(size.round() as u64)),
        Cell::Share(share) => maybe(*share, &percent),
        Cell::Percentage(share) => percentage(*share),
        Cell::Number(number, decimals, after) => maybe(*number, &|number| format!("{number:.decimals$}{after}")),
        Cell::Ratio(times) => maybe(*times, &significant),
        Cell::Range(range) => {
            range.map_or_else(|| NONE.to_owned(), |(p50, p99)| format!("{} to {}", brief.brief(p50), brief.brief(p99)))
        }
        Cell::Spread(spread, Unit::Seconds) => spread_of(*spread, |seconds| brief.brief(seconds)),
        Cell::Spread(spread, Unit::PerSecond) => spread_of(*spread, significant),
    }
}

fn spread_of(spread: Option<Spread>, number: impl Fn(f64) -> String) -> String {
    match spread {
        None => NONE.to_owned(),
        Some(Spread { mean, .. }) if mean <= 0.0 => number(mean),
        Some(Spread { mean, interval, .. }) => {
            format!("{} ±{:.1} %", number(mean), (interval.high - mean) / mean * 100.0)
        }
    }
}
