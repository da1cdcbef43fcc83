//! Percentiles with their uncertainty, from histograms of parts of a run.

use super::course::{Course, Slot};
use super::difference::{Interval, Side};
use super::estimate::{Basis, Estimate, Known, design_effect, spread_over};
use super::metric::Metric;
use super::missing::Missing;
use super::student::{self, CERTAIN};
use crate::rank::rank;
use crate::{FineCell, FineHistogram};

/// Operations, counted as if they were independent, that must lie beyond a percentile before its place is known.
const BEYOND: f64 = 10.0;

/// Operations without which nothing can be said of a percentile: enough of them must lie beyond it, even if they are independent. With
/// fewer, the slowest ones stand for it, which are too fast for it by chance. The median has as many on each side.
#[must_use]
pub fn fewest(percentile: f64) -> u64 {
    let beyond = 1.0 - percentile.max(50.0) / 100.0;
    // Never below the exact number because of rounding, and never one above it.
    if percentile <= 50.0 { 1 } else { (BEYOND / beyond).round() as u64 }
}

/// A percentile of the response times (Woodruff 1952): an interval of the *share* of operations below the percentile,
/// read off the distribution at its two ends, to whole cells of the histogram (0.1 %).
pub(super) fn estimate(metric: Metric, runs: &[Course], whole: &Slot) -> Option<Estimate> {
    let p = metric.percentile()? / 100.0;
    let value = whole.row.percentile_ns(p * 100.0)? as f64 / 1e9;
    let known = known(p, runs, &whole.row.histogram).map(|mut known| {
        // A cell is represented by its highest value, but at most by the slowest time of all.
        known.interval.low = known.interval.low.min(value);
        known.interval.high = known.interval.high.max(value);
        known
    });
    Some(Estimate { metric, value, known })
}

/// The same with the interval of independent operations, for repeated runs whose scatter shows how far they are from that; `None` without
/// such a number.
///
/// # Errors
/// There are too few operations.
pub(super) fn of_independent(metric: Metric, whole: &Slot) -> Result<Option<Side>, Missing> {
    let found = metric.percentile().and_then(|percentile| Some((percentile, whole.row.percentile_ns(percentile)?)));
    let Some((percentile, value)) = found else { return Ok(None) };
    let (histogram, value) = (&whole.row.histogram, value as f64 / 1e9);
    if histogram.count() < fewest(percentile) {
        return Err(Missing::TooFew);
    }
    let p = percentile / 100.0;
    let half = student::half_width(CERTAIN) * (p * (1.0 - p) / histogram.count() as f64).sqrt();
    let interval = between(histogram, p - half, p + half)?;
    let interval = Interval { low: interval.low.min(value), high: interval.high.max(value) };
    Ok(Some(Side { value, interval, degrees: CERTAIN }))
}

fn known(p: f64, runs: &[Course], histogram: &FineHistogram) -> Result<Known, Missing> {
    let count = histogram.count() as f64;
    let (below, cell) = cell_at(histogram, p).ok_or(Missing::TooFew)?;
    // The edge of the percentile's cell that divides the operations most nearly as the percentile does.
    let (under, through) = (below as f64 / count, (below + cell.count) as f64 / count);
    let (edge, divided) = if p - under < through - p { (cell.from_ns, under) } else { (cell.to_ns + 1, through) };
    let spread = spread_over(runs, |slot| {
        under_edge(&slot.row.histogram, edge) as f64 - divided * slot.row.histogram.count() as f64
    })?;
    let independent = count / design_effect(&spread, divided, count);
    if independent * p.min(1.0 - p) < BEYOND {
        return Err(Missing::TooFew);
    }
    let half = student::half_width(spread.degrees) * (p * (1.0 - p) / independent).sqrt();
    let interval = between(histogram, p - half, p + half)?;
    Ok(Known { interval, degrees: spread.degrees, basis: Basis::Batches(spread.batches) })
}

/// From the value that a share of all does not exceed to that of another share, s.
fn between(histogram: &FineHistogram, from: f64, to: f64) -> Result<Interval, Missing> {
    let ends = cell_at(histogram, from).zip(cell_at(histogram, to));
    let ((_, low), (_, high)) = ends.ok_or(Missing::TooFew)?;
    Ok(Interval { low: low.from_ns as f64 / 1e9, high: high.to_ns as f64 / 1e9 })
}

/// The cell of the value that a share `p` of all does not exceed, and how many values are in cells before it; `None`
/// without values, and where `p` is no share.
fn cell_at(histogram: &FineHistogram, p: f64) -> Option<(u64, FineCell)> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let rank = rank(p * 100.0, histogram.count());
    let mut before = 0;
    histogram.iter().find_map(|cell| {
        let found = before + cell.count >= rank;
        before += cell.count;
        found.then_some((before - cell.count, cell))
    })
}

/// How many values are below the edge of a cell.
fn under_edge(histogram: &FineHistogram, edge: u64) -> u64 {
    histogram.iter().take_while(|cell| cell.to_ns < edge).map(|cell| cell.count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IntervalRow;

    /// A part in which these times were seen, ns.
    fn slot(times: impl Iterator<Item = u64>) -> Slot {
        let mut row = IntervalRow::default();
        for ns in times {
            row.count += 1;
            row.response.record(ns);
            row.histogram.record(ns);
        }
        Slot { seconds: 1.0, row }
    }

    fn of(metric: Metric, slots: Vec<Slot>) -> Estimate {
        super::super::estimate(metric, &[Course { slots }]).unwrap()
    }

    /// 40 parts with the times 1..=1000 each: the interval of a share p is p ± t √(p(1−p)/n), and the times are their own
    /// percentiles.
    #[test]
    fn an_interval_is_that_of_the_share_below() {
        let slots = || (0..40).map(|_| slot(1..=1000)).collect::<Vec<_>>();
        for (metric, p) in [(Metric::P50, 0.5), (Metric::P99, 0.99), (Metric::P999, 0.999)] {
            let found = of(metric, slots());
            let known = found.known.unwrap();
            let half = student::half_width(known.degrees) * (p * (1.0 - p) / 40_000.0_f64).sqrt();
            let close = |at: f64, share: f64| (at * 1e9 - (share * 1000.0).ceil()).abs() <= 1.0;
            assert!(close(found.value, p), "{found:?}");
            assert!(close(known.interval.low, p - half) && close(known.interval.high, p + half), "{found:?}");
        }
    }

    #[test]
    fn too_few_beyond_it_is_no_interval() {
        let slots = |each| (0..40).map(|_| slot(1..=each)).collect::<Vec<_>>();
        assert_eq!(of(Metric::P999, slots(200)).known, Err(Missing::TooFew));
        assert!(of(Metric::P99, slots(200)).known.is_ok());
        assert_eq!(of(Metric::P50, slots(200).split_off(35)).known, Err(Missing::TooShort));
    }

    #[test]
    fn ten_lie_beyond_the_fewest() {
        assert_eq!([50.0, 90.0, 95.0, 99.0, 99.9].map(fewest), [1, 100, 200, 1_000, 10_000]);
        // As for an interval, of operations that are independent.
        let slots = |each: u64| (0..40).map(|_| slot(1..=each)).collect::<Vec<_>>();
        assert!(of(Metric::P99, slots(fewest(99.0) / 40)).known.is_ok());
        assert_eq!(of(Metric::P99, slots(fewest(99.0) / 40 - 1)).known, Err(Missing::TooFew));
    }

    #[test]
    fn times_that_are_all_the_same_have_an_interval_of_one_cell() {
        let found = of(Metric::P90, (0..20).map(|_| slot(std::iter::repeat_n(1_000_000, 100))).collect());
        let interval = found.known.unwrap().interval;
        assert!(interval.low <= 1e-3 && interval.high >= 1e-3 && interval.high - interval.low < 1.1e-6, "{found:?}");
    }

    /// Bad parts come together, as a queue's do: as if there were fewer operations.
    #[test]
    fn slow_times_that_come_together_widen_the_interval() {
        let times = |slow: u64| (1..=1000).map(move |at| if at <= slow { 5_000 + at } else { at });
        let even: Vec<Slot> = (0..200).map(|_| slot(times(150))).collect();
        let lumps: Vec<Slot> = (0..200).map(|part| slot(times(if part % 20 < 6 { 500 } else { 0 }))).collect();
        let width = |slots| {
            let interval = of(Metric::P90, slots).known.unwrap().interval;
            interval.high - interval.low
        };
        let (even, lumps) = (width(even), width(lumps));
        assert!(lumps > 2.0 * even, "{even} {lumps}");
    }
}
