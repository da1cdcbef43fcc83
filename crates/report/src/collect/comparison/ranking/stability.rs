//! Which server is more stable: errors, outages, and how unlike it serves its clients. As in Poo and Tan (1988), the quickest server need
//! not be the most stable one.

use plimsoll_stats::comparison::{Difference, Metric, Missing, Side, arithmetic_mean, rate, repeats};

use crate::findings::LoadLevel;
use crate::findings::comparison::{ComparedUnit, Estimate};
use crate::findings::ranking::{CLIENT_SPREAD, ERRORS, OUTAGES};

/// Seconds of an hour: outages are counted per hour.
const HOUR: f64 = 3600.0;

/// A load of every contestant.
pub(super) struct StabilityPoint<'a> {
    /// The share of requests that failed; `None` where one has no interval.
    pub(super) errors: Option<Vec<Side>>,
    /// The runs of each contestant.
    pub(super) levels: Vec<Vec<&'a LoadLevel>>,
}

/// A number of every contestant (less is better), and the difference between the second and the first of two.
pub(super) struct Instability {
    pub(super) metric: &'static str,
    pub(super) unit: ComparedUnit,
    pub(super) estimates: Vec<Option<Estimate>>,
    pub(super) differences: Vec<(usize, usize, Difference)>,
}

/// Errors, outages and differences between clients, for `count` contestants with generated load; empty without a level that all measured.
/// Levels count whether or not their numbers are valid, because errors make them invalid. A late load generator does not cause errors; it
/// may cause silences and differences between clients.
pub(super) fn stability(mut points: Vec<StabilityPoint<'_>>, count: usize) -> Vec<Instability> {
    points.retain(|point| holds(point, LoadLevel::was_measured));
    if points.is_empty() {
        return Vec::new();
    }
    let errors = errors(&points, count);
    points.retain(|point| holds(point, |level| level.facts.validity.valid || level.facts.generator.moved.is_empty()));
    vec![errors, outages(&points, count), client_spread(&points, count)]
}

/// Whether something holds of every run of every contestant, and each has one.
fn holds(point: &StabilityPoint<'_>, of: impl Fn(&LoadLevel) -> bool) -> bool {
    point.levels.iter().all(|own| !own.is_empty() && own.iter().all(|level| of(level)))
}

/// The mean over the loads of the share of requests that failed.
fn errors(points: &[StabilityPoint<'_>], count: usize) -> Instability {
    let all: Vec<&Vec<Side>> = points.iter().filter_map(|point| point.errors.as_ref()).collect();
    let own = |one: usize| -> Vec<Side> { all.iter().filter_map(|point| point.get(one).copied()).collect() };
    let means: Vec<Option<Side>> = (0..count).map(|one| arithmetic_mean(&own(one))).collect();
    of_sides((ERRORS, ComparedUnit::Share), &means, all.len())
}

/// Outages per hour of all loads together.
fn outages(points: &[StabilityPoint<'_>], count: usize) -> Instability {
    let of = |one: usize| {
        let own = || points.iter().filter_map(|point| point.levels.get(one)).flatten();
        let seconds: f64 = own().filter_map(|level| level.span.elapsed_s).sum();
        rate(own().map(|level| level.facts.silence.outages).sum(), seconds / HOUR)
    };
    let rates: Vec<Option<Side>> = (0..count).map(of).collect();
    of_sides((OUTAGES, ComparedUnit::PerHour), &rates, points.len())
}

/// Compares independent numbers.
fn of_sides((metric, unit): (&'static str, ComparedUnit), sides: &[Option<Side>], points: usize) -> Instability {
    let difference = |a: usize, b: usize| {
        // Of errors less is better, as of outages.
        Some(Difference::of_sides(Metric::Errors, sides.get(a)?.as_ref()?, sides.get(b)?.as_ref()?))
    };
    let estimates = sides.iter().map(|side| side.as_ref().map(|side| estimate(side, points))).collect();
    Instability { metric, unit, estimates, differences: pairs(sides.len(), difference) }
}

fn estimate(side: &Side, points: usize) -> Estimate {
    let (low, high) = (Some(side.interval.low), Some(side.interval.high));
    Estimate { value: side.value, low, high, of: Some(points as u64), missing: None }
}

fn pairs(count: usize, of: impl Fn(usize, usize) -> Option<Difference>) -> Vec<(usize, usize, Difference)> {
    let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    all.filter_map(|(a, b)| Some((a, b, of(a, b)?))).collect()
}

/// The standard deviation of the clients' iterations relative to their mean, averaged over the loads at which several clients can be
/// compared. Loads differ from each other, so two servers are compared load by load.
fn client_spread(points: &[StabilityPoint<'_>], count: usize) -> Instability {
    let of =
        |point: &StabilityPoint<'_>| -> Option<Vec<f64>> { point.levels.iter().map(|own| mean_spread(own)).collect() };
    let all: Vec<Vec<f64>> = points.iter().filter_map(of).collect();
    let values = |one: usize| -> Vec<f64> { all.iter().filter_map(|point| point.get(one).copied()).collect() };
    let shown = |one: usize| {
        let own = values(one);
        let known = repeats::estimate(Metric::Errors, &own, 0.0).and_then(|found| Side::of_estimate(&found));
        // With one load or two, the variation between loads is unknown.
        let missing = Some(Missing::TooFew.label().to_owned());
        let bare = |value| Estimate { value, low: None, high: None, of: None, missing };
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        known.map(|side| estimate(&side, own.len())).or_else(|| (!own.is_empty()).then(|| bare(mean)))
    };
    let difference = |a: usize, b: usize| {
        let both: Vec<(f64, f64)> = values(a).into_iter().zip(values(b)).collect();
        repeats::paired(Metric::Errors, &both, 0.0)
    };
    let (metric, unit) = (CLIENT_SPREAD, ComparedUnit::Share);
    Instability { metric, unit, estimates: (0..count).map(shown).collect(), differences: pairs(count, difference) }
}

/// The mean spread of a load's runs; `None` if a run had one client, or if the load generator may have caused the difference between
/// clients.
fn mean_spread(runs: &[&LoadLevel]) -> Option<f64> {
    let of = |level: &&LoadLevel| level.facts.fairness.stddev.filter(|_| level.facts.fairness.attributable);
    let each: Vec<f64> = runs.iter().map(of).collect::<Option<_>>()?;
    Some(each.iter().sum::<f64>() / each.len() as f64)
}
