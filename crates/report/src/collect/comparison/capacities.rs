//! Compares the results of searches for a capacity: their intervals, and whether they are of the same load and objective.

use super::contestant::Ignore;
use crate::collect::answers::measured;
use crate::findings::capacity::Capacity;
use crate::findings::comparison::{ComparedCapacity, ComparedVerdict};
use crate::findings::{Findings, Rule, Statement, letter};
use crate::text::{exact_load, load_name, time};
use plimsoll_stats::comparison::Verdict;

/// Each side after the baseline against the baseline; empty without a search among the sides. `refused`: the servers guarantee different
/// things, and that is not ignored.
pub(super) fn compared(sides: &[Findings], refused: bool, ignore: Ignore) -> Vec<ComparedCapacity> {
    let Some((baseline, others)) = sides.split_first().filter(|_| sides.iter().any(|side| of(side).is_some())) else {
        return Vec::new();
    };
    (1..).zip(others).map(|(place, other)| pair(baseline, other, place, (refused, ignore))).collect()
}

/// The capacities in sentences.
pub(super) fn statements(capacities: &[ComparedCapacity]) -> impl Iterator<Item = Statement> {
    let sentence = |(place, one): (usize, &ComparedCapacity)| {
        let other = letter(place);
        let follows = match (&one.why, one.verdict) {
            (Some(why), _) => format!(". The capacities cannot be compared: {why}"),
            (None, ComparedVerdict::Better) => format!(": {other} carries more"),
            (None, ComparedVerdict::Worse) => format!(": {other} carries less"),
            (None, ComparedVerdict::NotShown) => ". The intervals overlap, so no difference was shown".to_owned(),
            (None, ComparedVerdict::More | ComparedVerdict::Fewer | ComparedVerdict::CannotTell) => {
                ". The capacities cannot be compared".to_owned()
            }
        };
        measured(Rule::Capacity, format!("{}{follows}.", one.words))
    };
    (1..).zip(capacities).map(sentence)
}

fn of(side: &Findings) -> Option<&Capacity> {
    side.run.as_ref()?.capacity.as_deref()
}

fn pair(a: &Findings, b: &Findings, place: usize, conditions: (bool, Ignore)) -> ComparedCapacity {
    let objective = of(a).or(of(b)).map(|capacity| capacity.objectives.join(", ")).unwrap_or_default();
    let why = why_not([a, b], place, conditions);
    let about = if why.is_none() { format!(" ({objective})") } else { String::new() };
    let words = format!("{} {}, {} {}{about}", letter(0), carries(of(a)), letter(place), carries(of(b)));
    let verdict = match (of(a).and_then(interval), of(b).and_then(interval)) {
        (Some(a), Some(b)) if why.is_none() => verdict(a, b).into(),
        _ => ComparedVerdict::CannotTell,
    };
    ComparedCapacity { words, verdict, why }
}

/// What a side carries, with its verb.
fn carries(capacity: Option<&Capacity>) -> String {
    let Some(capacity) = capacity else { return "is not a search for a capacity".to_owned() };
    let unit = &capacity.unit;
    match (capacity.low, capacity.high) {
        (Some(low), Some(high)) => format!("carries {} to {}", exact_load(low), load_name(high, unit)),
        (Some(low), None) => format!("carries at least {}", load_name(low, unit)),
        (None, Some(high)) => format!("carries less than {}", load_name(high, unit)),
        (None, None) => "has no known capacity".to_owned(),
    }
}

/// Where the capacity lies; `None` if the search had no result.
fn interval(capacity: &Capacity) -> Option<(f64, f64)> {
    let known = capacity.low.is_some() || capacity.high.is_some();
    known.then(|| (capacity.low.unwrap_or(0.0), capacity.high.unwrap_or(f64::INFINITY)))
}

/// Only intervals without a common load differ.
fn verdict((a_low, a_high): (f64, f64), (b_low, b_high): (f64, f64)) -> Verdict {
    if b_low > a_high {
        Verdict::Better
    } else if b_high < a_low {
        Verdict::Worse
    } else {
        Verdict::NotShown
    }
}

/// Why two capacities have no verdict; `None` if they have one.
fn why_not(sides: [&Findings; 2], place: usize, (refused, ignore): (bool, Ignore)) -> Option<String> {
    let names = [letter(0), letter(place)];
    let both = |of: [&str; 2]| format!("{}: {}; {}: {}", names[0], of[0], names[1], of[1]);
    let [Some(a), Some(b)] = sides.map(of) else { return Some("only one of the sides is a search".to_owned()) };
    for (name, capacity) in names.iter().zip([a, b]) {
        if interval(capacity).is_none() {
            let why = capacity.why.as_deref().unwrap_or("the search has no result");
            return Some(format!("{name} has no result ({why})"));
        }
    }
    if a.unit != b.unit {
        return Some(format!("the loads have different units ({})", both([&a.unit, &b.unit])));
    }
    if a.objectives != b.objectives {
        let [a, b] = [a, b].map(|one| one.objectives.join(", "));
        return Some(format!("the objectives differ ({})", both([&a, &b])));
    }
    let workloads = sides.map(|side| side.run.as_ref().map(|run| &run.workload_sha256));
    if workloads[0] != workloads[1] {
        return Some("the workloads differ".to_owned());
    }
    let loads = sides.map(load);
    if loads[0] != loads[1] && !ignore.load {
        return Some(format!("the loads differ ({})", both([&loads[0], &loads[1]])));
    }
    refused.then(|| "the servers give different guarantees".to_owned())
}

/// The load of a search in words, without the number of clients or users. A rate is also limited by the actions that may be outstanding, and
/// a longer run shows a slower overload.
fn load(side: &Findings) -> String {
    let (Some(level), Some(capacity)) = (side.levels.first(), of(side)) else { return String::new() };
    let depth = format!("queue depth {}", level.facts.depth);
    let is_rate = capacity.unit.contains('/');
    let outstanding = is_rate.then(|| format!("at most {} actions outstanding", level.outstanding));
    let longest = capacity.trials.iter().map(|one| one.seconds).reduce(f64::max);
    let length = longest.map(|seconds| format!("runs of {}", time(seconds)));
    level.facts.pace.iter().cloned().chain([depth]).chain(outstanding).chain(length).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::findings::capacity::Trial;
    use crate::findings::{LevelFacts, LoadLevel, Run};

    use super::*;

    fn side((low, high): (Option<f64>, Option<f64>), change: impl FnOnce(&mut Capacity)) -> Findings {
        let (unit, objectives) = ("users".to_owned(), vec!["p99 < 50ms".to_owned()]);
        let mut capacity = Capacity { unit, objectives, low, high, ..Capacity::default() };
        change(&mut capacity);
        let run = Run { capacity: Some(Box::new(capacity)), ..Run::default() };
        let level = LoadLevel {
            facts: LevelFacts { pace: vec!["one iteration per user every 11.0 s".to_owned()], ..LevelFacts::default() },
            ..LoadLevel::default()
        };
        Findings { run: Some(run), levels: vec![level], ..Findings::default() }
    }

    fn said(a: &Findings, b: &Findings, refused: bool) -> (ComparedVerdict, String) {
        let all = compared(&[a.clone(), b.clone()], refused, Ignore::default());
        let statement = statements(&all).next().unwrap().text;
        (all[0].verdict, statement)
    }

    #[test]
    fn capacities_differ_if_their_intervals_have_no_common_load() {
        let of = |low: f64, high: f64| side((Some(low), Some(high)), |_| ());
        let (verdict, text) = said(&of(40.0, 44.0), &of(52.0, 55.0), false);
        assert_eq!(verdict, ComparedVerdict::Better);
        assert_eq!(text, "A carries 40 to 44 users, B carries 52 to 55 users (p99 < 50ms): B carries more.");
        assert_eq!(said(&of(52.0, 55.0), &of(40.0, 44.0), false).0, ComparedVerdict::Worse);
        let (verdict, text) = said(&of(40.0, 44.0), &of(44.0, 46.0), false);
        assert_eq!(verdict, ComparedVerdict::NotShown);
        assert!(text.ends_with("The intervals overlap, so no difference was shown."), "{text}");
        let at_least = side((Some(50.0), None), |_| ());
        let (verdict, text) = said(&of(40.0, 44.0), &at_least, false);
        assert!(verdict == ComparedVerdict::Better && text.contains("B carries at least 50 users"), "{text}");
        assert_eq!(said(&of(40.0, 60.0), &at_least, false).0, ComparedVerdict::NotShown);
        let none = side((None, Some(1.0)), |_| ());
        assert!(said(&of(40.0, 44.0), &none, false).1.contains("B carries less than 1 user"));
    }

    #[test]
    fn capacities_of_different_searches_have_no_verdict() {
        let ends = (Some(40.0), Some(44.0));
        let a = side(ends, |_| ());
        let why = |b: &Findings| {
            let (verdict, text) = said(&a, b, false);
            assert_eq!(verdict, ComparedVerdict::CannotTell, "{text}");
            text
        };
        let objective = side(ends, |one| one.objectives = vec!["p95 < 50ms".to_owned()]);
        assert!(why(&objective).contains("the objectives differ (A: p99 < 50ms; B: p95 < 50ms)"));
        assert!(why(&side(ends, |one| one.unit = "clients".to_owned())).contains("different units"));
        let unknown = side((None, None), |one| one.why = Some("interrupted after 2 runs: no result".to_owned()));
        assert!(why(&unknown).contains("B has no known capacity. The capacities cannot be compared: B has no result"));
        let mut other = side(ends, |_| ());
        other.run.as_mut().unwrap().workload_sha256 = "x".to_owned();
        assert!(why(&other).contains("the workloads differ"));
        let mut other = side(ends, |_| ());
        other.levels[0].facts.pace = vec!["one iteration per user every 5.00 s".to_owned()];
        assert!(why(&other).contains("the loads differ (A: one iteration per user every 11.0 s"), "{}", why(&other));
        assert!(why(&Findings { run: Some(Run::default()), ..Findings::default() }).contains("only one of the sides"));
        assert!(said(&a, &a, true).1.contains("different guarantees"));
        assert!(compared(&[Findings::default(), Findings::default()], false, Ignore::default()).is_empty());
    }

    /// Of two searches on the same server, four clients wait for each other at a rate at which 64 do not; and a short run hides a slow
    /// overload.
    #[test]
    fn rates_with_other_clients_and_runs_of_another_length_have_no_verdict() {
        let search = |unit: &str, low: f64, outstanding: u64, seconds: f64| {
            let trial =
                |(level, seconds)| Trial { level, load: low, brief: false, seconds, met: Some(true), because: vec![] };
            let mut side = side((Some(low), Some(low * 1.02)), |capacity| {
                capacity.unit = unit.to_owned();
                capacity.trials = [(0, seconds / 4.0), (1, seconds)].map(trial).to_vec();
            });
            (side.levels[0].outstanding, side.levels[0].facts.depth) = (outstanding, 1);
            side
        };
        let a = search("iterations/s", 400.0, 4, 10.0);
        let (verdict, text) = said(&a, &search("iterations/s", 900.0, 64, 10.0), false);
        assert!(verdict == ComparedVerdict::CannotTell && text.contains("at most 4 actions outstanding"), "{text}");
        let (verdict, text) = said(&a, &search("iterations/s", 900.0, 4, 60.0), false);
        assert!(
            verdict == ComparedVerdict::CannotTell
                && text.contains("runs of 10.0 s; B: ")
                && text.contains("runs of 60.0 s"),
            "{text}"
        );
        assert_eq!(said(&a, &search("iterations/s", 900.0, 4, 10.0), false).0, ComparedVerdict::Better);
        let ignore = Ignore { load: true, ..Ignore::default() };
        assert_eq!(
            compared(&[a, search("iterations/s", 900.0, 64, 60.0)], false, ignore)[0].verdict,
            ComparedVerdict::Better
        );
        // The number of clients or users is the result, and the first run of each search may have another.
        assert_eq!(
            said(&search("clients", 4.0, 1, 10.0), &search("clients", 9.0, 8, 10.0), false).0,
            ComparedVerdict::Better
        );
    }
}
