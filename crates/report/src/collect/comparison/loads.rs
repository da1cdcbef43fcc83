//! Whether two sides had the same load. A server that was asked for more does more, and answers later: that is no difference of servers.

use super::contestant::{Contestant, Ignore, LevelRuns, LoadPoint};
use super::work::differing_work;
use crate::findings::comparison::{ComparedRow, ComparedVerdict};
use crate::findings::{Interruption, letter};

/// The beginning of a parameter in [`LoadPoint::pace`] that is no part of the load.
const TIMEOUT: &str = "timeout ";

/// The parameters of the load in `pace`: no client sends more because it would wait longer for a response.
fn load_terms(point: &LoadPoint) -> Vec<&str> {
    point.pace.iter().map(String::as_str).filter(|words| !words.starts_with(TIMEOUT)).collect()
}

/// How long clients wait for a response, in words; `None` if unknown.
pub fn time_out(point: &LoadPoint) -> Option<&str> {
    point.pace.iter().map(String::as_str).find(|words| words.starts_with(TIMEOUT))
}

/// How the loads of two sides differ, each in its own words; `None` if they are the same.
fn other_load(ours: &LoadPoint, theirs: &LoadPoint) -> Option<[String; 2]> {
    let words = |one: &LoadPoint| {
        // A level that was stopped early had the same load.
        let load = one.load_name.trim_end_matches(Interruption::WORDS);
        one.curve.as_ref().map_or_else(|| load.to_owned(), |curve| format!("{load}, {curve}"))
    };
    if words(ours) != words(theirs) {
        return Some([words(ours), words(theirs)]);
    }
    if ours.load.total_cmp(&theirs.load).is_ne() {
        // One number of clients, with other depths.
        let outstanding = |one: &LoadPoint| {
            let actions = if one.outstanding == 1 { "action" } else { "actions" };
            format!("at most {} {actions} outstanding", one.outstanding)
        };
        return Some([outstanding(ours), outstanding(theirs)]);
    }
    let own = |one: &LoadPoint, other: &LoadPoint| {
        let others = load_terms(other);
        let own: Vec<&str> = load_terms(one).into_iter().filter(|words| !others.contains(words)).collect();
        if own.is_empty() { "no other setting".to_owned() } else { own.join(", ") }
    };
    // Recordings from before the parameters were kept have none.
    let known = !ours.pace.is_empty() && !theirs.pace.is_empty();
    (known && load_terms(ours) != load_terms(theirs)).then(|| [own(ours, theirs), own(theirs, ours)])
}

/// A sentence for each side after the baseline with another load or workload than the baseline.
pub(super) fn others(contestants: &[Contestant], level: &[&LevelRuns], ignore: Ignore) -> Vec<Option<String>> {
    let Some((baseline, others)) = level.split_first() else { return Vec::new() };
    let work = |place: usize| {
        let (ours, theirs) = contestants.first().zip(contestants.get(place))?;
        differing_work(&ours.findings, &theirs.findings, place)
    };
    let differs = |(place, other): (usize, &&LevelRuns)| {
        differing_loads(baseline, other, place).or_else(|| work(place)).filter(|_| !ignore.load)
    };
    (1..).zip(others).map(differs).collect()
}

/// How the load of the side at `place` (from 1) differs from the baseline's, as a sentence; `None` if they are the same or unknown.
pub fn differing_loads(baseline: &LevelRuns, other: &LevelRuns, place: usize) -> Option<String> {
    let [ours, theirs] = other_load(baseline.point.as_ref()?, other.point.as_ref()?)?;
    let at = if ours.contains(&baseline.level_name) { String::new() } else { format!(" at {}", baseline.level_name) };
    Some(format!("A had {ours}{at}, {} had {theirs}: the loads differ", letter(place)))
}

/// Whether the side at `place` had the load of the baseline, which has place 0.
pub(super) fn is_same(others: &[Option<String>], place: usize) -> bool {
    place.checked_sub(1).and_then(|other| others.get(other)).is_none_or(Option::is_none)
}

/// The rows with neutral verdicts on throughputs if the load of a side is unknown (a capture): its clients may have requested more. Then
/// no change of a throughput is one for the worse, and none is detectable as such.
pub(super) fn neutral(mut rows: Vec<ComparedRow>, level: &[&LevelRuns], ignore: Ignore) -> Vec<ComparedRow> {
    let is_known = |place: usize| ignore.load || level.get(place).is_some_and(|one| one.point.is_some());
    let throughputs = rows.iter_mut().flat_map(|row| &mut row.metrics).filter(|metric| metric.more_is_better);
    for (place, difference) in throughputs.flat_map(|metric| (1..).zip(&mut metric.differences)) {
        let Some(found) = difference.as_mut().filter(|_| !(is_known(0) && is_known(place))) else { continue };
        found.detectable = None;
        if ![ComparedVerdict::CannotTell, ComparedVerdict::NotShown].contains(&found.verdict) {
            found.verdict = if found.value > 0.0 { ComparedVerdict::More } else { ComparedVerdict::Fewer };
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(load_name: &str, load: f64, pace: &[&str]) -> LoadPoint {
        let (load_name, pace) = (load_name.to_owned(), pace.iter().map(|words| (*words).to_owned()).collect());
        let outstanding = load as u64;
        LoadPoint {
            curve: None,
            load_name,
            load,
            pace,
            outstanding,
            valid: true,
            moved: Vec::new(),
            guarantees: None,
            iteration: None,
        }
    }

    fn differ(ours: &LoadPoint, theirs: &LoadPoint) -> Option<String> {
        other_load(ours, theirs).map(|both| both.join(" | "))
    }

    #[test]
    fn the_load_is_what_was_asked_of_the_server() {
        let four = point("4 clients", 4.0, &["no think time", "timeout 30.0 s"]);
        assert_eq!(differ(&four, &four), None);
        let eight = point("8 clients", 8.0, &["no think time", "timeout 30.0 s"]);
        assert_eq!(differ(&four, &eight).unwrap(), "4 clients | 8 clients");
        let deep = point("4 clients", 8.0, &["no think time", "timeout 30.0 s"]);
        assert_eq!(differ(&four, &deep).unwrap(), "at most 4 actions outstanding | at most 8 actions outstanding");
        let pausing = point("4 clients", 4.0, &["think time 20.0 ms", "timeout 30.0 s"]);
        assert_eq!(differ(&four, &pausing).unwrap(), "no think time | think time 20.0 ms");
        let stopped = point("4 clients (stopped early)", 4.0, &["no think time", "timeout 30.0 s"]);
        assert_eq!(differ(&four, &stopped), None);
        let varied = LoadPoint { curve: Some("block 4 KiB".to_owned()), ..four.clone() };
        assert_eq!(differ(&four, &varied).unwrap(), "4 clients | 4 clients, block 4 KiB");
    }

    #[test]
    fn a_time_out_and_the_clients_of_a_rate_are_no_load() {
        let rate = point("40 iterations/s", 40.0, &["arrivals at constant intervals", "timeout 30.0 s"]);
        let patient = LoadPoint {
            outstanding: 99,
            ..point("40 iterations/s", 40.0, &["arrivals at constant intervals", "timeout 60.0 s"])
        };
        assert_eq!(differ(&rate, &patient), None);
        let random = point("40 iterations/s", 40.0, &["arrivals at random (Poisson)", "timeout 30.0 s"]);
        assert!(differ(&rate, &random).is_some());
        assert_eq!(differ(&rate, &point("40 iterations/s", 40.0, &[])), None, "an old recording does not say");
        assert!(differ(&rate, &point("80 iterations/s", 80.0, &[])).is_some());
    }
}
