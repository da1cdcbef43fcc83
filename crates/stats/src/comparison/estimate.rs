//! A number and its uncertainty.

use super::batches::{Spread, spread};
use super::course::{Course, Slot};
use super::difference::Interval;
use super::metric::Metric;
use super::missing::Missing;
use super::{quantile, student};

/// A number and its uncertainty are one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Its metric, which determines the unit, and whether more is better.
    pub metric: Metric,
    /// The number.
    pub value: f64,
    /// The interval of the true value, or the reason why there is none.
    pub known: Result<Known, Missing>,
}

/// The interval of the true value, with its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// Holds it with [`super::CONFIDENCE`].
    pub interval: Interval,
    /// Degrees of freedom of the interval.
    pub degrees: f64,
    /// Where the interval comes from.
    pub basis: Basis,
}

/// Where an interval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// From the scatter of this number of batches in one run.
    Batches(usize),
    /// From the scatter of this number of runs.
    Runs(usize),
}

impl Estimate {
    /// The same number in another unit, multiplied by `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Estimate {
        let known = self.known.map(|known| {
            let Interval { low, high } = known.interval;
            Known { interval: Interval { low: low * factor, high: high * factor }, ..known }
        });
        Estimate { value: self.value * factor, known, ..self }
    }

    /// The same number with an interval that contains this one, too.
    #[must_use]
    pub fn including(self, interval: Interval) -> Estimate {
        let known = self.known.map(|known| Known { interval: known.interval.hull(interval), ..known });
        Estimate { known, ..self }
    }
}

/// The number of a row in one or more runs of the same setup, combined as if they were one run; `None` if the row has no such number. The
/// interval does not contain the scatter between runs: see [`super::repeats`].
pub fn estimate(metric: Metric, runs: &[Course]) -> Option<Estimate> {
    let whole = together(runs);
    match metric {
        Metric::Throughput => rate(metric, runs, &whole, Slot::answered),
        // A lower bound is no number to compare.
        Metric::Bytes if whole.row.payload_unknown > 0 => None,
        Metric::Bytes => rate(metric, runs, &whole, |slot| slot.row.payload_bytes),
        Metric::Mean => mean(metric, runs, &whole),
        Metric::Errors => errors(metric, runs, &whole),
        _ => quantile::estimate(metric, runs, &whole),
    }
}

/// All runs as one part.
pub(super) fn together(runs: &[Course]) -> Slot {
    let mut whole = Slot::default();
    for part in runs.iter().map(Course::sum) {
        whole.seconds += part.seconds;
        whole.row.merge(&part.row);
    }
    whole
}

/// Scatter of the sum of residuals over the parts of all runs, one run after the other.
pub(super) fn spread_over(runs: &[Course], residual: impl Fn(&Slot) -> f64) -> Result<Spread, Missing> {
    let residuals: Vec<f64> = runs.iter().flat_map(|run| &run.slots).map(residual).collect();
    spread(&residuals)
}

fn known(value: f64, half: f64, spread: &Spread) -> Known {
    let interval = Interval { low: (value - half).max(0.0), high: value + half };
    Known { interval, degrees: spread.degrees, basis: Basis::Batches(spread.batches) }
}

/// An amount per second. The interval is at least one operation wide, because one more or less at the ends of a run is chance.
fn rate(metric: Metric, runs: &[Course], whole: &Slot, amount: fn(&Slot) -> u64) -> Option<Estimate> {
    let sum = amount(whole) as f64;
    if whole.seconds <= 0.0 || sum == 0.0 {
        return None;
    }
    let value = sum / whole.seconds;
    let one = sum / whole.answered().max(1) as f64;
    let known = spread_over(runs, |slot| amount(slot) as f64 - value * slot.seconds).map(|spread| {
        let half = (student::half_width(spread.degrees) * spread.deviation + one) / whole.seconds;
        known(value, half, &spread)
    });
    Some(Estimate { metric, value, known })
}

/// The mean response time. Its interval is never narrower than for independent operations.
fn mean(metric: Metric, runs: &[Course], whole: &Slot) -> Option<Estimate> {
    let times = whole.row.response;
    let (count, mean_ns) = (times.count() as f64, times.mean_ns()?);
    let residual = |slot: &Slot| {
        let part = slot.row.response;
        part.mean_ns().map_or(0.0, |mean| part.count() as f64 * (mean - mean_ns))
    };
    let value = mean_ns / 1e9;
    let known = match times.stddev_ns() {
        Some(deviation) => spread_over(runs, residual).map(|spread| {
            let deviation = spread.deviation.max(deviation * count.sqrt());
            known(value, student::half_width(spread.degrees) * deviation / count / 1e9, &spread)
        }),
        None => Err(Missing::TooFew),
    };
    Some(Estimate { metric, value, known })
}

/// Wilson's interval of a share (1927), over as many independent operations as there seem to be. `half` is the half-width of an interval in
/// standard errors.
pub(super) fn wilson(share: f64, independent: f64, half: f64) -> Interval {
    let over = half.powi(2) / independent;
    let middle = (share + over / 2.0) / (1.0 + over);
    let half = (over * (share * (1.0 - share) + over / 4.0)).sqrt() / (1.0 + over);
    Interval { low: (middle - half).clamp(0.0, share), high: (middle + half).clamp(share, 1.0) }
}

/// The share of errors.
fn errors(metric: Metric, runs: &[Course], whole: &Slot) -> Option<Estimate> {
    let count = whole.row.count as f64;
    if count == 0.0 {
        return None;
    }
    let value = whole.row.errors as f64 / count;
    let known = spread_over(runs, |slot| slot.row.errors as f64 - value * slot.row.count as f64).map(|spread| {
        let independent = count / design_effect(&spread, value, count);
        let interval = wilson(value, independent, student::half_width(spread.degrees));
        Known { interval, degrees: spread.degrees, basis: Basis::Batches(spread.batches) }
    });
    Some(Estimate { metric, value, known })
}

/// How many times as large the variance of a count is as if operations were independent; at least once.
pub(super) fn design_effect(spread: &Spread, share: f64, count: f64) -> f64 {
    let independent = count * share * (1.0 - share);
    if independent > 0.0 { (spread.deviation.powi(2) / independent).max(1.0) } else { 1.0 }
}
