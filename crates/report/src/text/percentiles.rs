//! The slow tail beside the mean, for response and service time.

use super::page::Page;
use super::table::Table;
use super::units::TimeScale;
use super::{group_name, name, several_protocols};
use crate::findings::{Findings, OperationRow, Times};
use std::fmt;

const COLUMNS: [&str; 7] = ["Times", "Mean", "p90", "p95", "p99", "p99.9", "Slowest"];

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let uncorrected = if findings.headline.is_from_intended() {
        one(page, findings, "Response time from the intended start (to the last byte of the response)", |row| {
            row.headline_time()
        })?;
        ", uncorrected"
    } else {
        ""
    };
    let title = format!("Response time{uncorrected} (first byte of the request to last byte of the response)");
    one(page, findings, &title, |row| row.response_time)?;
    one(page, findings, "Service time (last byte of the request to first byte of the response)", |row| row.service_time)
}

fn one(
    page: &mut Page<'_>,
    findings: &Findings,
    title: &str,
    times: impl Fn(&OperationRow) -> Option<Times>,
) -> fmt::Result {
    let all = || findings.operations.iter().chain(&findings.groups).filter_map(&times);
    if all().next().is_none() {
        return Ok(());
    }
    let scale = page.scale();
    page.heading(&format!("{title}, {}:", scale.words()))?;
    page.blank()?;
    let mut table = Table::new();
    head(&mut table, "Command");
    let mut protocol = "";
    for row in findings.operations.iter().filter(|row| times(row).is_some()) {
        if several_protocols(&findings.operations) && row.protocol != protocol {
            protocol = &row.protocol;
            table.row(vec![format!("{protocol}:")]);
        }
        push(&mut table, name(row), times(row), scale);
    }
    table.blank();
    head(&mut table, "Groups:");
    for row in &findings.groups {
        push(&mut table, group_name(row), times(row), scale);
    }
    page.table(&table)
}

fn head(table: &mut Table, name: &str) {
    let mut cells = vec![name];
    cells.extend(COLUMNS);
    table.head(&cells);
}

fn push(table: &mut Table, name: String, times: Option<Times>, scale: TimeScale) {
    if let Some(t) = times {
        let mut cells = vec![name, t.count.to_string()];
        cells.extend([t.mean_s, t.p90_s, t.p95_s, t.p99_s, t.p999_s, t.max_s].map(|time| scale.show(time)));
        table.row(cells);
    }
}
