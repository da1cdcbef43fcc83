//! Groups and their operations in one table: count, share of all time waited, percentiles.

use super::super::page::{Page, Role};
use super::super::table::Table;
use super::super::units::{NONE, percentage};
use crate::findings::{Findings, OperationRow};
use crate::safe;
use crate::shares::{self, Percentage};
use std::fmt;

/// Why a row has no share of the waiting.
const WITHIN: &str = "Waited -: counted with the first request of its compound.";
/// What the marks of load levels do not say.
const POOLED: &str = "Operations and slowest requests are of all levels, INVALID ones included.";
/// With fewer lines, the rows need the line of [`WITHIN`].
const ROOMY: usize = 12;
/// With fewer lines, the rows need the line of [`POOLED`], too.
const FEWEST: usize = 6;
/// Lines of the table besides rows: its title, and its header; another one counts the omitted rows.
const HEADING: usize = 2;
/// With fewer columns only the count, the share, p99 and max fit beside a name.
const NARROW: usize = 64;
/// Columns of a name in any case: what eight-digit numbers leave of 80 columns.
const NAME: usize = 28;
/// Columns between numbers.
const GAP: usize = 2;

/// A row, and whether it is an operation of the group above it.
struct Line<'f> {
    name: String,
    row: &'f OperationRow,
    within: bool,
    /// Part of all time waited: groups add up to 100, operations to their group.
    waited: Option<Percentage>,
}

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings, room: usize) -> fmt::Result {
    // Members of compounds are waited for with the first; they have times, but no part of the waiting. Times of 0 come from a coarse clock.
    let is_within =
        |row: &OperationRow| row.waited_s <= 0.0 && row.headline_time().is_some_and(|times| times.max_s > 0.0);
    let lines_of = |note: &str| note.len().div_ceil(page.width().max(1));
    let is_invalid = findings.levels.iter().any(|level| !level.facts.validity.valid);
    let is_pooled = is_invalid && findings.levels.len() > 1 && room >= FEWEST;
    let mut notes: Vec<&str> = if is_pooled { vec![POOLED] } else { Vec::new() };
    let rows = room.saturating_sub(HEADING + 1 + notes.iter().map(|note| lines_of(note)).sum::<usize>());
    let (mut lines, mut left_out) = choose(findings, rows);
    if room >= ROOMY && lines.iter().any(|line| is_within(line.row)) {
        (lines, left_out) = choose(findings, rows.saturating_sub(lines_of(WITHIN)));
        notes.push(WITHIN);
    }
    if lines.is_empty() {
        return Ok(());
    }
    let is_timed = lines.iter().any(|line| line.row.headline_time().is_some());
    let scale = page.scale();
    page.heading(&match is_timed {
        true => {
            format!("Response time{} {} (Waited: share of all time waited):", findings.headline.words(), scale.words())
        }
        false => "Requests without a known response time:".to_owned(),
    })?;
    let narrow = page.width() < NARROW;
    let head: &[&str] = match (is_timed, narrow) {
        (false, _) => &["Operation", "Count"],
        (true, true) => &["Operation", "Count", "Waited", "p99", "max"],
        (true, false) => &["Operation", "Count", "Waited", "p50", "p95", "p99", "max"],
    };
    let numbers = |line: &Line<'_>| {
        let times = line.row.headline_time();
        let share = if is_within(line.row) { NONE.to_owned() } else { percentage(line.waited) };
        let mut cells = vec![line.row.count.to_string(), share];
        if !narrow {
            cells.extend([scale.show_maybe(times.map(|t| t.p50_s)), scale.show_maybe(times.map(|t| t.p95_s))]);
        }
        cells.extend([scale.show_maybe(times.map(|t| t.p99_s)), scale.show_maybe(times.map(|t| t.max_s))]);
        cells.truncate(head.len().saturating_sub(1));
        cells
    };
    let rows: Vec<(&Line<'_>, Vec<String>)> = lines.iter().map(|line| (line, numbers(line))).collect();
    let room = room_of_names(page.width(), head, &rows);
    let mut table = Table::new();
    table.head(head);
    for (line, numbers) in rows {
        let name = format!("{}{}", if line.within { "  " } else { "" }, line.name);
        table.row([vec![safe::fit_middle(&name, room)], numbers].concat());
    }
    if left_out > 0 {
        table.row(vec![format!("  {left_out} more: --section percentiles")]);
    }
    page.table(&table)?;
    notes.iter().try_for_each(|note| page.paragraph(Role::Quiet, "", note))
}

/// The columns that the numbers leave for names.
fn room_of_names(width: usize, head: &[&str], rows: &[(&Line<'_>, Vec<String>)]) -> usize {
    let widest = |(column, name): (usize, &&str)| {
        let cells = rows.iter().filter_map(|(_, cells)| cells.get(column)).map(|cell| safe::columns(cell));
        cells.chain([name.len()]).max().unwrap_or(0) + GAP
    };
    let numbers: usize = head.iter().skip(1).enumerate().map(widest).sum();
    width.saturating_sub(numbers).max(NAME)
}

/// Groups by how long clients waited for them, each with its operations; where there is no room for all operations, those that
/// were waited for longest.
fn choose<'f>(findings: &'f Findings, room: usize) -> (Vec<Line<'f>>, usize) {
    let mut groups: Vec<&OperationRow> = leaves(&findings.groups, |row, other| is_subgroup(other, row)).collect();
    groups.sort_by(|a, b| b.waited_s.total_cmp(&a.waited_s));
    let waits = |rows: &[&OperationRow]| rows.iter().map(|row| row.waited_s).collect::<Vec<f64>>();
    let all: f64 = findings.groups.iter().filter(|row| !row.group.contains('.')).map(|row| row.waited_s).sum();
    let waited = shares::of(&waits(&groups), all);
    if groups.len() > room {
        let left_out = groups.len() - room;
        groups.truncate(room);
        let line = |(row, waited): (&'f OperationRow, _)| Line { name: row.group.clone(), row, within: false, waited };
        return (groups.into_iter().zip(waited).map(line).collect(), left_out);
    }
    let of = |group: &OperationRow| {
        let rows = leaves(&findings.operations, |row, other| {
            other.protocol == row.protocol && other.parent.as_ref() == Some(&row.procedure)
        });
        let of_group = |row: &&OperationRow| row.group == group.group && !row.is_asynchronous();
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
    for ((group, rows), waited) in groups.iter().zip(&members).zip(waited) {
        let name = match rows.as_slice() {
            [only] => format!("{} ({})", group.group, super::super::standard_name(only, &findings.operations)),
            _ => group.group.clone(),
        };
        lines.push(Line { name, row: group, within: false, waited });
        let parts = shares::of_part(&waits(rows), group.waited_s, waited, all);
        for (row, waited) in rows.iter().zip(parts) {
            if candidates.iter().any(|one| std::ptr::eq(*one, *row)) {
                let name = super::super::standard_name(row, &findings.operations);
                lines.push(Line { name, row, within: true, waited });
            }
        }
    }
    (lines, left_out)
}

/// Rows that are not the sum of other rows.
fn leaves(
    rows: &[OperationRow],
    is_part: impl Fn(&OperationRow, &OperationRow) -> bool,
) -> impl Iterator<Item = &OperationRow> {
    rows.iter().filter(move |row| !rows.iter().any(|other| is_part(row, other)))
}

fn is_subgroup(other: &OperationRow, row: &OperationRow) -> bool {
    other.group.split_once('.').is_some_and(|(group, _)| group == row.group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Times;
    use crate::text::Style;

    fn row(group: &str, procedure: &str, waited_s: f64) -> OperationRow {
        let (group, procedure) = (group.to_owned(), procedure.to_owned());
        OperationRow { group, procedure, count: 1, waited_s, ..OperationRow::default() }
    }

    #[test]
    fn a_row_without_a_share_is_explained() {
        let times = Times::alike(1, 0.001);
        let mut member = row("Other.Attributes", "QUERY_INFO", 0.0);
        let draw = |member: &OperationRow| {
            let groups = vec![row("Read", "", 3.0), OperationRow { procedure: String::new(), ..member.clone() }];
            let operations = vec![row("Read", "READ", 3.0), member.clone()];
            let findings = Findings { groups, operations, ..Findings::default() };
            let mut text = String::new();
            draw(&mut Page::new(&mut text, &Style::plain(80)), &findings, 20).unwrap();
            text
        };
        assert!(!draw(&member).contains(WITHIN), "without a time there is no share to explain");
        member.response_time = Some(times);
        assert!(draw(&member).ends_with(&format!("{WITHIN}\n")), "{}", draw(&member));
        assert!(draw(&member).contains("Response time") && !draw(&member).contains(POOLED));
        let zero =
            Times { min_s: 0.0, max_s: 0.0, mean_s: 0.0, p50_s: 0.0, p90_s: 0.0, p95_s: 0.0, p99_s: 0.0, ..times };
        member.response_time = Some(Times { p999_s: 0.0, ..zero });
        assert!(!draw(&member).contains(WITHIN), "a coarse clock is no compound");
    }

    fn drawn(findings: &Findings) -> String {
        let mut text = String::new();
        draw(&mut Page::new(&mut text, &Style::plain(80)), findings, 20).unwrap();
        text
    }

    #[test]
    fn a_name_has_the_columns_that_the_numbers_leave() {
        let groups = vec![row("Other.Directory", "", 3.0)];
        let operations = vec![row("Other.Directory", "TRANSACTION2 FIND_FIRST2", 3.0)];
        let findings = Findings { groups, operations, ..Findings::default() };
        assert!(drawn(&findings).contains("Other.Directory (TRANSACTION2 FIND_FIRST2)"), "{}", drawn(&findings));
        assert!(drawn(&findings).contains("Requests without a known response time:"), "no empty columns");
        assert!(!drawn(&findings).contains("Waited"), "{}", drawn(&findings));
    }

    #[test]
    fn numbers_of_invalid_levels_among_others_are_named() {
        use crate::findings::{LevelFacts, LoadLevel};
        use plimsoll_model::Validity;
        let level = |validity| {
            let facts = LevelFacts { validity, ..LevelFacts::default() };
            LoadLevel { facts, ..LoadLevel::default() }
        };
        let late = || level(Validity::invalid("it was late"));
        let of = |levels| {
            let (groups, operations) = (vec![row("Read", "", 3.0)], vec![row("Read", "READ", 3.0)]);
            drawn(&Findings { groups, operations, levels, ..Findings::default() })
        };
        let said = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(POOLED);
        assert!(said(of(vec![late(), level(Validity::default())])));
        assert!(!said(of(vec![late()])), "the verdict of the report is that of its only level");
        assert!(!said(of(vec![level(Validity::default()), level(Validity::default())])));
    }

    #[test]
    fn the_shares_of_all_waiting_add_up() {
        let groups = [("Read", 3.0), ("Write", 1.0), ("Open/Close", 1.0), ("Session", 1.0)];
        let mut operations: Vec<OperationRow> = ["READ", "READLINK", "SEEK"].map(|name| row("Read", name, 1.0)).into();
        operations.extend([row("Write", "WRITE", 1.0), row("Open/Close", "OPEN", 1.0), row("Session", "LOGON", 1.0)]);
        let groups = groups.map(|(group, waited_s)| row(group, "", waited_s)).into();
        let findings = Findings { groups, operations, ..Findings::default() };
        let (lines, _) = choose(&findings, 20);
        let tenths = |within: bool| -> Vec<i64> {
            lines.iter().filter(|line| line.within == within).filter_map(|line| Some(line.waited?.tenths)).collect()
        };
        // Each by itself they are 50.0 and three times 16.7: 100.1.
        assert_eq!(tenths(false), [500, 167, 167, 166]);
        assert_eq!(tenths(true).iter().sum::<i64>(), 500, "operations add up to their group");
    }
}
