//! Groups and their operations in one table: count, share of all waiting, percentiles.

use super::super::commands::is_asynchronous;
use super::super::page::Page;
use super::super::table::Table;
use super::super::units::{NONE, percent};
use crate::findings::{Findings, OperationRow};
use crate::safe;
use std::fmt;

/// Lines of the table that are no rows: what it shows, and its head; another one counts the rows that are left out.
const HEADING: usize = 2;
/// Below so many columns only the count, the share, p99 and max fit beside a name.
const NARROW: usize = 64;
/// Widest name: what eight-digit numbers leave of 80 columns.
const NAME: usize = 28;

/// A row, and whether it is an operation of the group above it.
struct Line<'f> {
    name: String,
    row: &'f OperationRow,
    within: bool,
}

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings, room: usize) -> fmt::Result {
    let (lines, left_out) = choose(findings, room.saturating_sub(HEADING + 1));
    if lines.is_empty() {
        return Ok(());
    }
    let scale = page.scale();
    let waited: f64 = findings.groups.iter().filter(|row| !row.group.contains('.')).map(|row| row.waited_s).sum();
    let narrow = page.width() < NARROW;
    page.heading(&format!(
        "Response time{} {}; Waited: share of all time waited:",
        findings.headline.words(),
        scale.words()
    ))?;
    let mut table = Table::new();
    table.head(if narrow {
        &["Operation", "Count", "Waited", "p99", "max"]
    } else {
        &["Operation", "Count", "Waited", "p50", "p95", "p99", "max"]
    });
    for line in lines {
        let times = line.row.headline_time();
        let name = format!("{}{}", if line.within { "  " } else { "" }, line.name);
        // Members of compounds are waited for with the first; they have times, but no part of the waiting.
        let has_part = waited > 0.0 && (line.row.waited_s > 0.0 || times.is_none());
        let share = if has_part { percent(line.row.waited_s / waited) } else { NONE.to_owned() };
        let mut cells = vec![safe::fit_middle(&name, NAME), line.row.count.to_string(), share];
        if !narrow {
            cells.extend([scale.show_maybe(times.map(|t| t.p50_s)), scale.show_maybe(times.map(|t| t.p95_s))]);
        }
        cells.extend([scale.show_maybe(times.map(|t| t.p99_s)), scale.show_maybe(times.map(|t| t.max_s))]);
        table.row(cells);
    }
    if left_out > 0 {
        table.row(vec![format!("  {left_out} more: --section percentiles")]);
    }
    page.table(&table)
}

/// Groups by how long clients waited for them, each with its operations; where there is no room for all operations, those that
/// were waited for longest.
fn choose(findings: &Findings, room: usize) -> (Vec<Line<'_>>, usize) {
    let mut groups: Vec<&OperationRow> = leaves(&findings.groups, |row, other| is_subgroup(other, row)).collect();
    groups.sort_by(|a, b| b.waited_s.total_cmp(&a.waited_s));
    if groups.len() > room {
        let left_out = groups.len() - room;
        groups.truncate(room);
        let lines = groups.into_iter().map(|row| Line { name: row.group.clone(), row, within: false });
        return (lines.collect(), left_out);
    }
    let of = |group: &OperationRow| {
        let rows = leaves(&findings.operations, |row, other| {
            other.protocol == row.protocol && other.parent.as_ref() == Some(&row.procedure)
        });
        let of_group = |row: &&OperationRow| row.group == group.group && !is_asynchronous(row);
        let mut rows: Vec<&OperationRow> = rows.filter(of_group).collect();
        rows.sort_by(|a, b| b.waited_s.total_cmp(&a.waited_s));
        rows
    };
    let members: Vec<Vec<&OperationRow>> = groups.iter().map(|group| of(group)).collect();
    let mut candidates: Vec<&OperationRow> = members.iter().filter(|rows| rows.len() > 1).flatten().copied().collect();
    candidates.sort_by(|a, b| b.waited_s.total_cmp(&a.waited_s));
    let space = room.saturating_sub(groups.len());
    let left_out = candidates.len().saturating_sub(space);
    candidates.truncate(space);
    let mut lines = Vec::new();
    for (group, rows) in groups.iter().zip(&members) {
        let name = match rows.as_slice() {
            [only] => format!("{} ({})", group.group, super::super::standard_name(only, &findings.operations)),
            _ => group.group.clone(),
        };
        lines.push(Line { name, row: group, within: false });
        for row in rows.iter().filter(|row| candidates.iter().any(|one| std::ptr::eq(*one, **row))) {
            lines.push(Line { name: super::super::standard_name(row, &findings.operations), row, within: true });
        }
    }
    (lines, left_out)
}

/// Rows that no other row is a part of.
fn leaves(
    rows: &[OperationRow],
    is_part: impl Fn(&OperationRow, &OperationRow) -> bool,
) -> impl Iterator<Item = &OperationRow> {
    rows.iter().filter(move |row| !rows.iter().any(|other| is_part(row, other)))
}

fn is_subgroup(other: &OperationRow, row: &OperationRow) -> bool {
    other.group.split_once('.').is_some_and(|(group, _)| group == row.group)
}
