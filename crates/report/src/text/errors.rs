//! Answers by status, without success.

use super::full_name;
use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, percent_of};
use crate::findings::{Findings, OperationRow};
use std::fmt;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let rows = &findings.operations;
    // A command's row has its subcommands' answers too: they are shown where they are most particular.
    let is_shown = |row: &&OperationRow| !row.statuses.is_empty() || row.failed_without_status() > 0;
    let all = || rows.iter().chain(&findings.long_lived).chain(&findings.members).filter(is_shown);
    let once = rows.iter().chain(&findings.long_lived).filter(|row| row.is_counted_once());
    let unknown = once.map(|row| row.status_unknown).fold(0, u64::saturating_add);
    if all().next().is_none() {
        return page.heading(&match unknown {
            0 => "Responses with a status other than success: none".to_owned(),
            _ => format!(
                "Responses with a status other than success: none found; the status of {unknown} responses is unknown"
            ),
        });
    }
    page.heading("Responses with a status other than success (share of the command's responses):")?;
    page.blank()?;
    let mut table = Table::new();
    for row in all() {
        table.row_as(Role::Heading, vec![format!("{}:", full_name(row, rows))]);
        for status in &row.statuses {
            table.row(vec![
                format!("  {}", status.name),
                status.count.to_string(),
                percent_of(status.count, row.answered),
                status.outcome.clone(),
                format!("{:#010x}", status.status),
            ]);
        }
        if row.failed_without_status() > 0 {
            let count = row.failed_without_status().to_string();
            table.row(vec!["  (no status)".to_owned(), count, NONE.to_owned(), "failed".to_owned(), NONE.to_owned()]);
        }
    }
    page.table(&table)
}
