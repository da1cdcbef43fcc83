//! Whether the load generator kept up at each level, and how the server shared itself among the clients.

use super::{Cell, Column, LevelGroup, Note, Row, Table, Weight, driven_level_groups};
use crate::findings::Findings;
use crate::findings::{LoadLevel, Times};

/// Said of Jain's index, least and most where [`unattributable`].
pub(super) const UNATTRIBUTABLE: &str = "The load generator, not the server, may cause the differences between clients: the run-queue delay \
or the wake-up lag differs between its threads, or is unknown. Use --threads 1, or pin each thread to a separate CPU.";

/// Whether differences between clients may be the load generator's.
pub(crate) fn unattributable(level: &LoadLevel) -> bool {
    level.facts.fairness.clients > 1 && level.facts.fairness.jain.is_some() && !level.facts.fairness.attributable
}

/// One table for servers and one for local directories; none for captures.
pub(crate) fn generators(sides: &[Findings]) -> Vec<Table> {
    driven_level_groups(sides).map(|group| table(&group)).collect()
}

fn table(group: &LevelGroup<'_>) -> Table {
    Table {
        id: group.id("generator"),
        title: format!("Load generator and fairness{}", group.words()),
        scaled: None,
        caption: format!(
            "Schedule lag, wake-up lag and CPU time of the load generator{}, and how evenly the clients were served. Starved: clients \
            that ended no iteration. Jain's index: 1 if all clients had the same number of iterations. Least, most: fewest and most \
            iterations of a client, divided by the mean of all clients.",
            group.words()
        ),
        columns: columns![
            "Level", "Processor": "CPU", "Processor, per operation": "CPU/op", page "Polling, extra",
            "Schedule lag, p50": "Lag p50", "Schedule lag, p99": "Lag p99", "Wake-up, p50": "Wake p50",
            page "Never sent", page "Avoided by leases", "Starved", "Jain's index": "Jain", "Least": "Min",
            "Most": "Max"
        ],
        rows: group.levels.iter().map(|(prefix, level)| row(prefix, level)).collect(),
        notes: notes(group),
    }
}

fn row(prefix: &str, level: &LoadLevel) -> Row {
    let generator = &level.facts.generator;
    let lag = |pick: fn(&Times) -> f64| Cell::Time(generator.schedule_lag.as_ref().map(pick));
    let mark = if unattributable(level) { "*" } else { "" };
    Row {
        name: format!("{prefix}{}", level.words()),
        invalid: false,
        cells: vec![
            Cell::Number(Some(generator.cpu_share * 100.0), 0, " %"),
            Cell::Time(generator.cpu_per_operation_s),
            Cell::Share(generator.polling_share),
            lag(|t| t.p50_s),
            lag(|t| t.p99_s),
            Cell::Time(generator.wake_up_lag.map(|t| t.p50_s)),
            Cell::Count(generator.never_sent),
            Cell::Count(generator.requests_avoided),
            Cell::Of(level.facts.fairness.starved, level.facts.fairness.clients),
            Cell::Number(level.facts.fairness.jain, 3, mark),
            Cell::Number(level.facts.fairness.min, 2, mark),
            Cell::Number(level.facts.fairness.max, 2, mark),
        ],
    }
}

fn notes(group: &LevelGroup<'_>) -> Vec<Note> {
    let levels = || group.levels.iter();
    let mut notes = vec![Note::quiet(
        "Lag: schedule lag, actual minus intended start. Wake: wake-up lag, from the kernel's receive timestamp to the program's \
        read. Starved: clients that ended no iteration. Jain: Jain's index of the clients' iterations (1: all equal). Min, max: fewest and most \
        iterations of a client, divided by the mean of all clients.",
    )];
    let most = levels().filter_map(|(_, level)| level.facts.generator.polling_share).fold(0.0, f64::max);
    // Where it rounds to nothing, it is nothing to speak of.
    if most >= 0.005 {
        let text = format!(
            "To start requests on time, the threads busy-polled for up to {:.0} % of their time; the CPU figures exclude this.",
            most * 100.0
        );
        notes.push(Note::quiet(text));
    }
    if levels().any(|(_, level)| unattributable(level)) {
        notes.push(Note::of(Weight::Caution, format!("* {UNATTRIBUTABLE}")));
    }
    for (prefix, level) in levels().filter(|(_, level)| level.facts.generator.requests_avoided > 0) {
        let (count, level) = (level.facts.generator.requests_avoided, level.words());
        let text = format!("At {prefix}{level}, leases avoided {count} requests, including the warm-up.");
        notes.push(Note { weight: Weight::Plain, text, page: false });
    }
    notes
}
