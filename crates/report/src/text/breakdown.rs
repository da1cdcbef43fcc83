//! `--by`: one line a key.

use super::page::{Page, Role};
use super::table::Table;
use super::units::{TimeScale, data, percentage};
use crate::findings::Findings;
use crate::{safe, shares};
use std::fmt;

/// Keys shown; the JSON report has more.
const SHOWN: usize = 25;
/// A key (a path, say) is cut to this many columns, or to a third of a wider page.
const KEY_COLUMNS: usize = 26;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let Some(breakdown) = &findings.breakdown else { return Ok(()) };
    let times = || breakdown.rows.iter().filter_map(|entry| entry.row.headline_time());
    let scale = TimeScale::of(times().flat_map(|t| [t.mean_s, t.p99_s, t.max_s]));
    page.heading(&format!("By {}, response times {}:", breakdown.by, scale.words()))?;
    page.blank()?;
    let room = KEY_COLUMNS.max(page.width() / 3);
    let mut table = Table::new();
    table.head(&["Key", "Count", "% Tot", "Errors", "Data", "Average", "p99", "Slowest"]);
    // What is not shown has its part of the whole.
    let shares = shares::of(&breakdown.rows.iter().map(|entry| entry.row.share).collect::<Vec<_>>(), 1.0);
    for (entry, share) in breakdown.rows.iter().zip(shares).take(SHOWN) {
        let row = &entry.row;
        let key = if entry.key.is_empty() { "(empty)".to_owned() } else { safe::fit_path(&entry.key, room) };
        let time = |pick: fn(&crate::findings::Times) -> f64| scale.show_maybe(row.headline_time().as_ref().map(pick));
        table.row(vec![
            key,
            row.count.to_string(),
            percentage(share),
            row.errors.to_string(),
            data(row.payload_bytes, row.payload_unknown),
            time(|t| t.mean_s),
            time(|t| t.p99_s),
            time(|t| t.max_s),
        ]);
    }
    page.table(&table)?;
    if breakdown.rows.len() > SHOWN {
        let text = format!("{} more keys are in the JSON report.", breakdown.rows.len() - SHOWN);
        page.paragraph(Role::Quiet, "", &text)?;
    }
    if breakdown.others > 0 {
        let text = format!("{} operations belong to other keys or to none.", breakdown.others);
        page.paragraph(Role::Quiet, "", &text)?;
    }
    Ok(())
}
