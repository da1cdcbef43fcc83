//! The server's own counters, one line per load level and counter.

use super::{Cell, Column, Note, Row, Table, Weight, prefix, wanted_levels};
use crate::findings::Findings;
use crate::findings::calls::ServerCounter;

/// Counters shown per level, those that took the most time; the JSON report has all.
const SHOWN: usize = 16;

/// The table; None without counters.
pub(crate) fn server_counters(sides: &[Findings]) -> Option<Table> {
    let seen = wanted_levels(sides, |side, level| level.facts.counters.is_some() && !side.is_local(level));
    let all = || seen.iter().filter_map(|(prefix, level)| Some((prefix, *level, level.facts.counters.as_ref()?)));
    let loads = loads(sides);
    let rows = |load: &Load| {
        let counters: Vec<ServerCounter> = load.sums.iter().map(Sum::counter).collect();
        longest(&counters).into_iter().take(SHOWN).map(|counter| row(&load.name, counter)).collect::<Vec<_>>()
    };
    let hidden: usize = loads.iter().map(|load| load.sums.len().saturating_sub(SHOWN)).sum();
    let mut sources: Vec<&str> = all().map(|(_, _, counters)| counters.source.as_str()).collect();
    sources.dedup();
    let mut more = format!(" Source: {}.", sources.join(", "));
    if sides.iter().any(is_search) {
        more.push_str(" The counters of all runs with the same load are added up.");
    }
    if hidden > 0 {
        more.push_str(&format!(" Further counters, only in the JSON report: {hidden}."));
    }
    let notes = [Note::quiet(format!("{EXPLANATION}{more}"))];
    let incomplete = loads.iter().filter_map(partly).map(|text| Note::of(Weight::Plain, text));
    let missing = all().filter_map(|(prefix, level, counters)| {
        Some(Note::of(Weight::Bad, format!("{prefix}{}: {}", level.words(), counters.why_missing.as_ref()?)))
    });
    (!seen.is_empty()).then(|| Table {
        id: "server-counters".to_owned(),
        title: "The server's own counters".to_owned(),
        scaled: None,
        caption: format!("The server's own counters. {EXPLANATION}{more}"),
        columns: columns!["Level", words "Counter", "Count", "Mean", "Waiting, mean": "Waiting"],
        rows: loads.iter().flat_map(rows).collect(),
        notes: notes.into_iter().chain(incomplete).chain(missing).collect(),
    })
}

fn is_search(side: &Findings) -> bool {
    side.run.as_ref().is_some_and(|run| run.capacity.is_some())
}

/// A load level with its counters.
#[derive(Debug, Default)]
struct Load {
    name: String,
    sums: Vec<Sum>,
}

/// A mean over the runs that have one.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum_s: f64,
    count: u64,
    runs: usize,
}

impl Mean {
    fn add(&mut self, mean_s: Option<f64>, count: u64) {
        let Some(mean_s) = mean_s.filter(|_| count > 0) else { return };
        self.sum_s += mean_s * count as f64;
        self.count = self.count.saturating_add(count);
        self.runs += 1;
    }

    fn of(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_s / self.count as f64)
    }
}

/// A counter over the runs with the same load.
#[derive(Debug)]
struct Sum {
    name: String,
    count: u64,
    mean: Mean,
    waiting: Mean,
    /// Runs in which it counted something.
    runs: usize,
}

impl Sum {
    fn add(&mut self, counter: &ServerCounter) {
        self.count = self.count.saturating_add(counter.count);
        self.mean.add(counter.mean_s, counter.count);
        self.waiting.add(counter.waiting_mean_s, counter.count);
        self.runs += usize::from(counter.count > 0);
    }

    fn counter(&self) -> ServerCounter {
        let (name, count) = (self.name.clone(), self.count);
        ServerCounter { name, count, mean_s: self.mean.of(), waiting_mean_s: self.waiting.of() }
    }

    /// Some runs have a mean, and others do not.
    fn is_partly(&self) -> bool {
        [self.mean, self.waiting].iter().any(|mean| mean.runs > 0 && mean.runs < self.runs)
    }
}

/// Load levels with their counters; of a search, loads with the sums over their runs.
fn loads(sides: &[Findings]) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for side in sides {
        let is_search = is_search(side);
        let before = loads.len();
        for level in side.remote_levels() {
            let Some(counters) = &level.facts.counters else { continue };
            let name = format!("{}{}", prefix(sides, side), level.words());
            let known = loads.iter().skip(before).position(|load| is_search && load.name == name);
            let at = known.map_or(loads.len(), |at| before + at);
            if known.is_none() {
                loads.push(Load { name, sums: Vec::new() });
            }
            let Some(load) = loads.get_mut(at) else { continue };
            counters.counters.iter().for_each(|counter| add(&mut load.sums, counter));
        }
    }
    loads
}

fn add(sums: &mut Vec<Sum>, counter: &ServerCounter) {
    if let Some(sum) = sums.iter_mut().find(|sum| sum.name == counter.name) {
        return sum.add(counter);
    }
    let (mean, waiting) = (Mean::default(), Mean::default());
    let mut sum = Sum { name: counter.name.clone(), count: 0, mean, waiting, runs: 0 };
    sum.add(counter);
    sums.push(sum);
}

/// Which means lack runs.
fn partly(load: &Load) -> Option<String> {
    let names: Vec<&str> = load.sums.iter().filter(|sum| sum.is_partly()).map(|sum| sum.name.as_str()).collect();
    let text = || {
        format!(
            "{}: some runs have no mean times of {}. The table has the means of the other runs.",
            load.name,
            names.join(", ")
        )
    };
    (!names.is_empty()).then(text)
}

const EXPLANATION: &str = "These counters count the requests of all clients of the server. For each level, they start before the clients \
    connect and end after the clients have logged off, so they include logons and warm-up. Waiting: part of the mean time in which the \
    request waited inside the server.";

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
pub(crate) fn longest(counters: &[ServerCounter]) -> Vec<&ServerCounter> {
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
        let mut load = Load { name: "8 clients".to_owned(), sums: Vec::new() };
        let first = [counter("read", 1, Some(1.0)), counter("untimed", 1, None)];
        let more = [counter("read", 3, Some(2.0)), counter("untimed", 2, None), counter("new", 4, Some(0.5))];
        first.iter().chain(&more).for_each(|one| add(&mut load.sums, one));
        let sums = |load: &Load| load.sums.iter().map(Sum::counter).collect::<Vec<_>>();
        let others = [counter("untimed", 3, None), counter("new", 4, Some(0.5))];
        assert_eq!(sums(&load), [&[counter("read", 4, Some(1.75))][..], &others].concat());
        assert_eq!(partly(&load), None);
        add(&mut load.sums, &counter("read", 0, None));
        assert_eq!(partly(&load), None, "a run without such requests has no mean");
        add(&mut load.sums, &counter("read", 5, None));
        assert_eq!(sums(&load), [&[counter("read", 9, Some(1.75))][..], &others].concat());
        let text = "8 clients: some runs have no mean times of read. The table has the means of the other runs.";
        assert_eq!(partly(&load).as_deref(), Some(text));
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
