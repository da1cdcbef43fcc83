//! All clients of each load level: their actions, response times and differences.

use super::generator::UNATTRIBUTABLE;
use super::{Cell, Column, LevelGroup, Note, Row, Table, Weight, driven_level_groups, unattributable};
use crate::findings::{ClientRow, Findings, LoadLevel, MOST_CLIENT_ROWS};

/// A table for what servers did and one for local directories; none where no level has several clients.
pub(crate) fn clients(sides: &[Findings]) -> Vec<Table> {
    driven_level_groups(sides).filter_map(|group| table(&group)).collect()
}

/// Whether clients of a level can be compared.
pub(crate) fn is_shared(level: &LoadLevel) -> bool {
    level.facts.spread.clients.len() > 1
}

fn table(group: &LevelGroup<'_>) -> Option<Table> {
    let shared = || group.levels.iter().filter(|(_, level)| is_shared(level));
    shared().next()?;
    Some(Table {
        id: group.id("each-client"),
        title: format!("Clients{}", group.words()),
        scaled: None,
        caption: format!(
            "Every client of each load level{}: iterations and mean response time (each also divided by the mean of all clients of \
            the level), successful actions, and errors (failed actions).",
            group.words()
        ),
        columns: columns![
            "Level and client": "Level, client", page "Thread of the load generator", "Iterations",
            "Iterations / mean": "/ mean", "Actions", "Errors", "Mean response time": "Mean",
            "Response time / mean": "/ mean"
        ],
        rows: shared().flat_map(|(prefix, level)| rows(prefix, level)).collect(),
        notes: notes(shared().map(|(_, level)| *level)),
    })
}

/// The level, then a line for each of its clients.
fn rows(prefix: &str, level: &LoadLevel) -> Vec<Row> {
    let mark = if unattributable(level) { "*" } else { "" };
    let head = Row { name: format!("{prefix}{}", level.words()), invalid: false, cells: Vec::new() };
    let row =
        |one: &ClientRow| Row { name: format!("  client {}", one.client), invalid: false, cells: cells(one, mark) };
    std::iter::once(head).chain(level.facts.spread.clients.iter().map(row)).collect()
}

fn cells(one: &ClientRow, mark: &'static str) -> Vec<Cell> {
    vec![
        Cell::Count(one.thread.into()),
        Cell::Count(one.iterations),
        Cell::Number(one.iterations_ratio, 2, mark),
        Cell::Count(one.actions),
        Cell::Count(one.errors),
        Cell::Time(one.mean_s),
        Cell::Number(one.mean_ratio, 2, mark),
    ]
}

fn notes<'a>(levels: impl Iterator<Item = &'a LoadLevel> + Clone) -> Vec<Note> {
    let mut notes = vec![Note::quiet(
        "Column \"/ mean\": the client's value in the column to its left, divided by the mean of this value over all clients of the level. \
        Actions: successful actions of the workload, each with one or more requests. Errors: failed actions.",
    )];
    if levels.clone().any(unattributable) {
        notes.push(Note::of(Weight::Caution, format!("* {UNATTRIBUTABLE}")));
    }
    if levels.clone().any(|level| level.facts.clients > MOST_CLIENT_ROWS as u64) {
        notes.push(Note::of(
            Weight::Plain,
            format!("Only the first {MOST_CLIENT_ROWS} clients of each level are listed."),
        ));
    }
    notes
}
