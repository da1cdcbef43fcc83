//! Repeats of load levels, from the levels of a run.

use plimsoll_stats::comparison::{Metric, fewest_of_percentile, repeats as statistics};

use crate::findings::{Interval, LoadLevel, RepeatedLevel, Spread, Times, besides_repeat};

/// A load level: its load in words, and its curve whichever repeat.
type Place<'a> = (&'a str, Option<&'a str>);

/// The levels that were run often enough, in the order in which they came first.
pub fn repeats(levels: &[LoadLevel]) -> Vec<RepeatedLevel> {
    let mut places: Vec<(Place<'_>, Vec<&LoadLevel>)> = Vec::new();
    for level in levels {
        let place = (level.facts.load_name.as_str(), level.facts.curve.as_deref().and_then(besides_repeat));
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, runs)) => runs.push(level),
            None => places.push((place, vec![level])),
        }
    }
    let often = places.into_iter().filter(|(_, runs)| runs.len() >= statistics::FEWEST);
    often.map(|(place, runs)| repeated(place, &runs)).collect()
}

fn repeated((load_name, curve): Place<'_>, runs: &[&LoadLevel]) -> RepeatedLevel {
    let time = |metric: Metric, pick: fn(&Times) -> f64| {
        // The percentile of too few requests is too fast in each run, so it does not scatter as the true one does.
        let fewest = metric.percentile().map_or(0, fewest_of_percentile);
        spread(metric, runs, |level| level.headline_time().filter(|times| times.count >= fewest).as_ref().map(pick))
    };
    RepeatedLevel {
        load_name: load_name.to_owned(),
        curve: curve.map(str::to_owned),
        valid: runs.iter().all(|run| run.facts.validity.valid),
        levels: runs.iter().map(|run| run.number).collect(),
        operations_per_s: spread(Metric::Throughput, runs, |level| Some(level.operations_per_s)),
        response_mean_s: time(Metric::Mean, |t| t.mean_s),
        response_p50_s: time(Metric::P50, |t| t.p50_s),
        response_p99_s: time(Metric::P99, |t| t.p99_s),
    }
}

/// `None` unless every run has it.
fn spread(metric: Metric, runs: &[&LoadLevel], pick: impl Fn(&LoadLevel) -> Option<f64>) -> Option<Spread> {
    let values: Vec<f64> = runs.iter().map(|level| pick(level)).collect::<Option<_>>()?;
    let found = statistics::estimate(metric, &values, 0.0)?;
    let ends = found.known.ok()?.interval;
    Some(Spread {
        mean: found.value,
        interval: Interval { low: ends.low, high: ends.high },
        min: values.iter().copied().reduce(f64::min)?,
        max: values.iter().copied().reduce(f64::max)?,
    })
}
