//! The server's own counters, one line per load level and counter.

use super::{Cell, Column, Note, Row, Table, Weight, prefix, stages};
use crate::findings::Findings;
use crate::findings::calls::ServerCounter;

/// Counters shown per level, those that took the most time; the JSON report has all.
const SHOWN: usize = 16;

/// The table; None without counters.
pub(crate) fn server_counters(sides: &[Findings]) -> Option<Table> {
    let seen = stages(sides, |side, stage| stage.counters.is_some() && !side.is_local(stage));
    let all = || seen.iter().filter_map(|(prefix, stage)| Some((prefix, *stage, stage.counters.as_ref()?)));
    let loads = loads(sides);
    let rows = |(name, counters): &(String, Vec<ServerCounter>)| {
        longest(counters).into_iter().take(SHOWN).map(|counter| row(name, counter)).collect::<Vec<_>>()
    };
    let hidden: usize = loads.iter().map(|(_, counters)| counters.len().saturating_sub(SHOWN)).sum();
    let mut sources: Vec<&str> = all().map(|(_, _, counters)| counters.source.as_str()).collect();
    sources.dedup();
    let mut more = format!(" Source: {}.", sources.join(", "));
    if sides.iter().any(is_search) {
        more.push_str(" All runs of a search with the same load are one level here.");
    }
    if hidden > 0 {
        more.push_str(&format!(" Counters in the JSON report only: {hidden}."));
    }
    let notes = [Note::quiet(format!("{EXPLANATION}{more}"))];
    let missing = all().filter_map(|(prefix, stage, counters)| {
        Some(Note::of(Weight::Bad, format!("{prefix}{}: {}", stage.words(), counters.why_missing.as_ref()?)))
    });
    (!seen.is_empty()).then(|| Table {
        id: "server-counters".to_owned(),
        title: "The server's own counters".to_owned(),
        scaled: None,
        caption: format!("The server's own counters. {EXPLANATION}{more}"),
        columns: vec![
            Column::new("Level", "Level"),
            Column::words("Counter", "Counter"),
            Column::new("Count", "Count"),
            Column::new("Mean", "Mean"),
            Column::new("Waiting, mean", "Waiting"),
        ],
        rows: loads.iter().flat_map(rows).collect(),
        notes: notes.into_iter().chain(missing).collect(),
    })
}

fn is_search(side: &Findings) -> bool {
    side.run.as_ref().is_some_and(|run| run.capacity.is_some())
}

/// Load levels with their counters; of a search, loads with the sums over their runs.
fn loads(sides: &[Findings]) -> Vec<(String, Vec<ServerCounter>)> {
    let mut loads: Vec<(String, Vec<ServerCounter>)> = Vec::new();
    for side in sides {
        let is_search = is_search(side);
        let before = loads.len();
        for stage in side.remote_stages() {
            let Some(counters) = &stage.counters else { continue };
            let name = format!("{}{}", prefix(sides, side), stage.words());
            match loads.iter_mut().skip(before).find(|(known, _)| is_search && *known == name) {
                Some((_, sums)) => counters.counters.iter().for_each(|counter| add(sums, counter)),
                None => loads.push((name, counters.counters.clone())),
            }
        }
    }
    loads
}

/// Adds a counter; means are over all that it counted.
fn add(sums: &mut Vec<ServerCounter>, counter: &ServerCounter) {
    let Some(sum) = sums.iter_mut().find(|sum| sum.name == counter.name) else { return sums.push(counter.clone()) };
    let (mine, theirs) = (sum.count as f64, counter.count as f64);
    let mean = |one: Option<f64>, other: Option<f64>| Some((one? * mine + other? * theirs) / (mine + theirs).max(1.0));
    sum.mean_s = mean(sum.mean_s, counter.mean_s);
    sum.waiting_mean_s = mean(sum.waiting_mean_s, counter.waiting_mean_s);
    sum.count = sum.count.saturating_add(counter.count);
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
    fn the_counters_of_runs_with_the_same_load_are_added() {
        let counter = |name: &str, count, mean_s| {
            let waiting_mean_s = mean_s;
            ServerCounter { name: name.into(), count, mean_s, waiting_mean_s }
        };
        let mut sums = vec![counter("read", 1, Some(1.0)), counter("untimed", 1, None)];
        let more = [counter("read", 3, Some(2.0)), counter("untimed", 2, None), counter("new", 4, Some(0.5))];
        more.iter().for_each(|one| add(&mut sums, one));
        let expected = [counter("read", 4, Some(1.75)), counter("untimed", 3, None), counter("new", 4, Some(0.5))];
        assert_eq!(sums, expected);
    }

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
