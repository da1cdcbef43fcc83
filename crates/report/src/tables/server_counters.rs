//! The server's own counters, one line per load level and counter.

use super::{Cell, Column, Note, Row, Table, Weight, stages};
use crate::findings::calls::ServerCounter;
use crate::findings::{Findings, ServerCounters, Stage};

/// Counters shown per level, those that took the most time; the JSON report has all.
const SHOWN: usize = 16;

/// The table; None without counters.
pub(crate) fn server_counters(sides: &[Findings]) -> Option<Table> {
    let seen = stages(sides, |side, stage| stage.counters.is_some() && !side.is_local(stage));
    let all = || seen.iter().filter_map(|(prefix, stage)| Some((prefix, *stage, stage.counters.as_ref()?)));
    let rows = |(prefix, stage, counters): (&String, &Stage, &ServerCounters)| {
        let name = format!("{prefix}{}", stage.words());
        longest(&counters.counters).into_iter().take(SHOWN).map(|counter| row(&name, counter)).collect::<Vec<_>>()
    };
    let hidden: usize = all().map(|(_, _, counters)| counters.counters.len().saturating_sub(SHOWN)).sum();
    let mut sources: Vec<&str> = all().map(|(_, _, counters)| counters.source.as_str()).collect();
    sources.dedup();
    let more = if hidden > 0 { format!(" Counters in the JSON report only: {hidden}.") } else { String::new() };
    let notes = [Note::quiet(format!("{EXPLANATION} Source: {}.{more}", sources.join(", ")))];
    let missing = all().filter_map(|(prefix, stage, counters)| {
        Some(Note::of(Weight::Bad, format!("{prefix}{}: {}", stage.words(), counters.why_missing.as_ref()?)))
    });
    (!seen.is_empty()).then(|| Table {
        id: "server-counters".to_owned(),
        title: "The server's own counters".to_owned(),
        scaled: None,
        caption: format!("The server's own counters. {EXPLANATION} Source: {}.{more}", sources.join(", ")),
        columns: vec![
            Column::new("Level", "Level"),
            Column::words("Counter", "Counter"),
            Column::new("Count", "Count"),
            Column::new("Mean", "Mean"),
            Column::new("Waiting, mean", "Waiting"),
        ],
        rows: all().flat_map(rows).collect(),
        notes: notes.into_iter().chain(missing).collect(),
    })
}

const EXPLANATION: &str = "They count the requests of all clients of the server, from before the clients of the level connected until after they had logged off, so also logons and warm-up. Waiting: part of the mean time in which the request waited inside the server.";

fn row(level: &str, counter: &ServerCounter) -> Row {
    Row {
        name: level.to_owned(),
        invalid: false,
        cells: vec![
            Cell::Words(counter.name.clone()),
            Cell::Count(counter.count),
            Cell::Time(counter.mean_s),
            Cell::Time(counter.waiting_mean_s),
        ],
    }
}

/// The most time first; those without a time by count.
fn longest(counters: &[ServerCounter]) -> Vec<&ServerCounter> {
    let took = |counter: &ServerCounter| counter.mean_s.map_or(0.0, |mean| mean * counter.count as f64);
    let mut sorted: Vec<&ServerCounter> = counters.iter().collect();
    sorted.sort_by(|a, b| took(b).total_cmp(&took(a)).then(b.count.cmp(&a.count)));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_with_the_most_time_come_first() {
        let counter =
            |name: &str, count, mean_s| ServerCounter { name: name.into(), count, mean_s, waiting_mean_s: None };
        let all = [
            counter("few", 1, None),
            counter("many", 9, None),
            counter("short", 9, Some(0.1)),
            counter("long", 2, Some(1.0)),
        ];
        assert_eq!(
            longest(&all).iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["long", "short", "many", "few"]
        );
    }
}
