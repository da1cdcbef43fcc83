//! What clients wait for, by one dimension.

use super::{LiveScreen, LiveScreenRow};
use crate::safe::{columns as width_of, fit, fit_middle};
use crate::{duration, significant};

/// Columns of the numbers.
const NUMBERS: usize = 49;

/// Two header lines, and `rows` rows.
pub(super) fn lines(live: &LiveScreen, columns: usize, rows: usize) -> Vec<String> {
    let within = if live.within.is_empty() { String::new() } else { format!(", within {}", live.within.join(", ")) };
    let unknown = if live.unknown_share > 0.0 {
        format!(" (up to {} % more requests may match)", significant(live.unknown_share * 100.0))
    } else {
        String::new()
    };
    let name_columns = columns.saturating_sub(NUMBERS);
    let mut lines = vec![
        format!("Time waited in the last minute, by {}{within}{unknown}", live.by),
        format!("{:name_columns$}{:>9}{:>8}{:>11}{:>11}{:>10}", "", "ops/s", "waited", "mean", "p99 ~", "errors"),
    ];
    // Where the selected row would be below the last one, the table begins later.
    let start = (live.selected + 1).saturating_sub(rows);
    let shown = live.rows.iter().enumerate().skip(start).take(rows);
    lines.extend(shown.map(|(at, row)| line(row, at == live.selected, name_columns)));
    lines.resize(2 + rows, String::new());
    lines
}

fn line(row: &LiveScreenRow, selected: bool, name_columns: usize) -> String {
    let mark = if selected { "> " } else { "  " };
    let name = fit(&fit_middle(&row.name, name_columns.saturating_sub(3)), name_columns.saturating_sub(3));
    let pad = name_columns.saturating_sub(2 + width_of(&name));
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| duration(ns / 1e9));
    format!(
        "{mark}{name}{:pad$}{:>9}{:>8}{:>11}{:>11}{:>10}",
        "",
        significant(row.operations_per_s),
        format!("{:.1}%", row.waited_share * 100.0),
        time(row.mean_ns),
        time(row.p99_ns.map(|ns| ns as f64)),
        row.errors,
    )
}
