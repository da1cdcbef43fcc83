//! How much repeats of a load level differ.

use std::fmt;

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, significant, time};
use crate::findings::{RepeatedLevel, Spread};

/// A line a level that was run often enough; nothing where none was.
pub(super) fn draw(page: &mut Page<'_>, repeats: &[RepeatedLevel]) -> fmt::Result {
    if repeats.is_empty() {
        return Ok(());
    }
    page.heading("Repeats of each level (mean over repeats, 95 % interval):")?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Level", "Runs", "op/s", "Mean", "p50", "p99"]);
    for level in repeats {
        let (role, mark) = if level.valid { (Role::Plain, "") } else { (Role::Bad, " !") };
        let cells = vec![
            format!("{}{mark}", level.words()),
            level.stages.len().to_string(),
            show(level.operations_per_s, significant),
            show(level.response_mean_s, time),
            show(level.response_p50_s, time),
            show(level.response_p99_s, time),
        ];
        table.row_as(role, cells);
    }
    page.table(&table)?;
    page.paragraph(Role::Quiet, "", "±: what a new run changes is in it, and in no number of a single run.")
}

fn show(spread: Option<Spread>, number: fn(f64) -> String) -> String {
    match spread {
        None => NONE.to_owned(),
        Some(Spread { mean, .. }) if mean <= 0.0 => number(mean),
        Some(Spread { mean, interval, .. }) => {
            format!("{} ±{:.1} %", number(mean), (interval.high - mean) / mean * 100.0)
        }
    }
}
