//! The command table and the group table of Appendix A.

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, TimeScale, packets, percentage};
use super::{group_name, name};
use crate::findings::OperationRow;
use crate::shares::{self, Percentage};
use std::fmt;

const COLUMNS: [&str; 8] = ["Count", "% Tot", "Pkts", "Fastest", "Slowest", "Median", "Average", "StdDev"];

pub(super) fn draw(page: &mut Page<'_>, rows: &[OperationRow]) -> fmt::Result {
    if rows.is_empty() {
        page.heading("No operations.")?;
        return Ok(());
    }
    let scale = page.scale();
    page.heading(&format!("Response times{} per command, {}:", OperationRow::headline_words(rows), scale.words()))?;
    page.blank()?;
    page.table(&by_protocol(rows, scale))
}

pub(super) fn groups(page: &mut Page<'_>, rows: &[OperationRow]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let scale = page.scale();
    page.heading(&format!("Response times{} per group, {}:", OperationRow::headline_words(rows), scale.words()))?;
    page.blank()?;
    let mut table = Table::new();
    head(&mut table, "Groups:");
    for (row, share) in rows.iter().zip(shares::of_rows(rows)) {
        table.row(cells(group_name(row), row, share, scale));
    }
    page.table(&table)
}

pub(super) fn long_lived(page: &mut Page<'_>, rows: &[OperationRow]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let scale = scale(rows);
    page.heading(&format!(
        "Response times of long-lived requests, {} (they wait by design; the tables above exclude them):",
        scale.words()
    ))?;
    page.blank()?;
    page.table(&by_protocol(rows, scale))
}

pub(super) fn members(page: &mut Page<'_>, rows: &[OperationRow]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let scale = scale(rows);
    page.heading(&format!(
        "Response times of NFSv4 compounds, and of their operations other than the main one, {} (the tables above count a compound only \
        as its main operation):",
        scale.words()
    ))?;
    page.blank()?;
    page.table(&by_protocol(rows, scale))
}

/// One table, so that all protocols share their columns, with a head for each.
fn by_protocol(rows: &[OperationRow], scale: TimeScale) -> Table {
    let mut table = Table::new();
    let mut protocol = None;
    for (row, share) in rows.iter().zip(shares::of_rows(rows)) {
        if protocol != Some(&row.protocol) {
            if protocol.is_some() {
                table.blank();
            }
            head(&mut table, &protocol_head(&row.protocol));
            protocol = Some(&row.protocol);
        }
        if row.is_asynchronous() {
            let mean = packets(row.packets_mean);
            table.row_as(Role::Quiet, vec![name(row), String::new(), String::new(), mean]);
        } else {
            table.row(cells(name(row), row, share, scale));
        }
    }
    table
}

fn protocol_head(protocol: &str) -> String {
    match protocol {
        "SMB1" => "SMB Command".to_owned(),
        "SMB2" => "SMB2 Command".to_owned(),
        other => format!("{other} Procedure"),
    }
}

fn head(table: &mut Table, name: &str) {
    let mut cells = vec![name];
    cells.extend(COLUMNS);
    table.head(&cells);
}

fn cells(name: String, row: &OperationRow, share: Option<Percentage>, scale: TimeScale) -> Vec<String> {
    let mut cells = vec![name, row.count.to_string(), percentage(share), packets(row.packets_mean)];
    match row.headline_time() {
        Some(t) => {
            cells.extend([t.min_s, t.max_s, t.p50_s, t.mean_s].map(|time| scale.show(time)));
            cells.push(t.stddev_s.map_or_else(String::new, |time| scale.show(time)));
        }
        None => cells.extend(std::iter::repeat_n(NONE.to_owned(), 4)),
    }
    cells
}

fn scale(rows: &[OperationRow]) -> TimeScale {
    // A standard deviation may well be much smaller than the times: it shows its own unit then.
    TimeScale::of(
        rows.iter().filter_map(OperationRow::headline_time).flat_map(|t| [t.min_s, t.max_s, t.p50_s, t.mean_s]),
    )
}

/// The only command with a part that is not answered.
pub(super) fn is_write_raw(row: &OperationRow) -> bool {
    row.protocol == "SMB1" && row.procedure == "WRITE_RAW"
}
