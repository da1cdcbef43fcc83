//! Repeated runs: the effect of a restart shows only in the scatter of whole runs.

use super::course::Course;
use super::difference::{Difference, Interval, Side};
use super::estimate::{Basis, Estimate, Known, together, wilson};
use super::metric::Metric;
use super::missing::Missing;
use super::quantile::{self, fewest};
use super::student::{self, CERTAIN};

/// Runs per side from which on their scatter is used.
pub const FEWEST: usize = 3;

/// Minimum uncertainty of a run's number at any length: one operation, or a cell of the histogram. `value` is the number, `seconds` the
/// length of the run.
pub fn grain(metric: Metric, value: f64, seconds: f64) -> f64 {
    match metric {
        Metric::Throughput => 1.0 / seconds,
        _ if metric.percentile().is_some() => value * 1e-3,
        _ => 0.0,
    }
}

/// A number over all runs, with an interval that does not come from their scatter; `None` if their scatter says all. It says too little of
/// few errors, whose number is often the same in each run by chance, and of a percentile of few operations, which is too fast in each run.
///
/// # Errors
/// A percentile has too few operations even in all runs together.
pub fn pooled(metric: Metric, runs: &[Course]) -> Result<Option<Side>, Missing> {
    if runs.len() < FEWEST {
        return Ok(None);
    }
    let Some(percentile) = metric.percentile() else { return Ok(share_of_errors(metric, runs)) };
    let operations = |run: &Course| run.slots.iter().map(|slot| slot.row.response.count()).sum::<u64>();
    if runs.iter().all(|run| operations(run) >= fewest(percentile)) {
        return Ok(None);
    }
    // Batches of runs that differ from each other depend on each other, so their interval would often be none at all.
    quantile::of_independent(metric, &together(runs))
}

/// The share of errors with the interval of independent operations; `None` for other metrics, and without operations.
fn share_of_errors(metric: Metric, runs: &[Course]) -> Option<Side> {
    let rows = || runs.iter().flat_map(|run| &run.slots).map(|slot| &slot.row);
    let (failed, all) = (rows().map(|row| row.errors).sum::<u64>(), rows().map(|row| row.count).sum::<u64>());
    (metric == Metric::Errors && all > 0).then(|| {
        let value = failed as f64 / all as f64;
        let interval = wilson(value, all as f64, student::half_width(CERTAIN));
        Side { value, interval, degrees: CERTAIN }
    })
}

/// The mean of a number over runs, with an interval from their scatter; `None` for fewer than [`FEWEST`]. `grain` is the minimum
/// uncertainty of a single run's number (a cell of its histogram, one operation).
pub fn estimate(metric: Metric, values: &[f64], grain: f64) -> Option<Estimate> {
    let (mean, variance) = moments(values)?;
    let degrees = values.len() as f64 - 1.0;
    let half = student::half_width(degrees) * (variance / values.len() as f64).sqrt() + grain;
    // No metric is below zero, however much the runs differ.
    let interval = Interval { low: (mean - half).max(0.0), high: mean + half };
    Some(Estimate { metric, value: mean, known: Ok(Known { interval, degrees, basis: Basis::Runs(values.len()) }) })
}

/// The difference of the means of two sets of runs in no order (Welch 1947).
pub fn welch(metric: Metric, baseline: &[f64], other: &[f64], grain: f64) -> Option<Difference> {
    let ((a, va), (b, vb)) = (moments(baseline)?, moments(other)?);
    let (na, nb) = (baseline.len() as f64, other.len() as f64);
    let (sa, sb) = (va / na, vb / nb);
    let degrees =
        if sa + sb > 0.0 { (sa + sb).powi(2) / (sa * sa / (na - 1.0) + sb * sb / (nb - 1.0)) } else { na + nb - 2.0 };
    // Each side's share of the interval, so that the ratio's follows as it does elsewhere.
    let t = student::half_width(degrees);
    let side = |value: f64, s: f64| {
        let half = t * s.sqrt() + grain / std::f64::consts::SQRT_2;
        Side { value, interval: Interval { low: value - half, high: value + half }, degrees }
    };
    Some(Difference::of_sides(metric, &side(a, sa), &side(b, sb)))
}

/// The mean difference of runs made in pairs, one right after the other, which cancels slow changes. `pairs` contains (baseline, other).
pub fn paired(metric: Metric, pairs: &[(f64, f64)], grain: f64) -> Option<Difference> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    let (mean, variance) = moments(&differences)?;
    let count = pairs.len() as f64;
    let baseline = pairs.iter().map(|(a, _)| a).sum::<f64>() / count;
    let degrees = count - 1.0;
    let half = student::half_width(degrees) * (variance / count).sqrt() + grain;
    let interval = Interval { low: mean - half, high: mean + half };
    let over = |end: f64| end / baseline;
    // Nothing loses more than all it has.
    let relative = (baseline > 0.0).then(|| Interval { low: over(interval.low).max(-1.0), high: over(interval.high) });
    Some(Difference::judge(metric, mean, interval, baseline, relative, degrees))
}

/// Mean and variance (n − 1) of enough values.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < FEWEST {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some((mean, variance))
}

#[cfg(test)]
mod tests {
    use super::super::course::Slot;
    use super::super::difference::Verdict;
    use super::*;
    use crate::IntervalRow;

    /// Student's own example (1908, "The probable error of a mean", section IX): additional hours of sleep of ten
    /// patients on two drugs.
    const DRUG_1: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const DRUG_2: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    #[test]
    fn students_sleep_data_in_pairs() {
        let pairs: Vec<(f64, f64)> = DRUG_1.into_iter().zip(DRUG_2).collect();
        let found = paired(Metric::Throughput, &pairs, 0.0).unwrap();
        // R: t.test(extra ~ group, data = sleep, paired = TRUE): t = 4.0621, p = 0.002833, interval 0.7001142 2.4598858.
        assert!((found.value - 1.58).abs() < 1e-9 && (found.p_value - 0.002_833).abs() < 1e-6, "{found:?}");
        assert!((found.interval.low - 0.700_114_2).abs() < 1e-6 && (found.interval.high - 2.459_885_8).abs() < 1e-6);
        assert_eq!(found.verdict, Verdict::Better);
    }

    #[test]
    fn fewer_than_three_runs_show_nothing_of_restarts() {
        assert_eq!(estimate(Metric::Mean, &[1.0, 1.1], 0.0), None);
        assert_eq!(welch(Metric::Mean, &[1.0, 1.1, 1.2], &[1.0], 0.0), None);
    }

    /// Fisher's exact test of 3 errors among 300 operations against none: p = 0.25. The scatter of the runs says that it is certain.
    #[test]
    fn the_same_few_errors_in_each_run_show_no_difference() {
        let run = |errors: u64| {
            let row = IntervalRow { count: 100, errors, ..IntervalRow::default() };
            Course { slots: vec![Slot { seconds: 1.0, row }] }
        };
        let side = |errors: u64| pooled(Metric::Errors, &[run(errors), run(errors), run(errors)]).unwrap().unwrap();
        let found = |errors: u64| {
            let chance = Difference::of_sides(Metric::Errors, &side(0), &side(errors));
            let scatter = welch(Metric::Errors, &[0.0; 3], &[errors as f64 / 100.0; 3], 0.0).unwrap();
            assert!(scatter.verdict == Verdict::Worse && scatter.p_value < 1e-9, "{scatter:?}");
            scatter.confirmed_by(&chance)
        };
        let few = found(1);
        assert_eq!(few.verdict, Verdict::NotShown);
        assert!(few.p_value > 0.05 && few.interval.low < 0.0 && few.interval.high > 0.01, "{few:?}");
        assert_eq!(found(10).verdict, Verdict::Worse);
        // Wilson's interval of none among 300 ends at 3.84 / 303.84.
        let none = estimate(Metric::Errors, &[0.0; 3], 0.0).unwrap().including(side(0).interval);
        assert!((none.known.unwrap().interval.high - 0.012_643).abs() < 1e-5, "{none:?}");
        assert_eq!(pooled(Metric::Throughput, &[run(0), run(0), run(0)]), Ok(None));
    }

    /// p99.9 of 60 operations is the slowest one. Of all runs together it is no more than that.
    #[test]
    fn a_percentile_of_few_operations_does_not_come_from_the_scatter_of_runs() {
        let run = |each: u64| {
            let slot = |_| {
                let mut row = IntervalRow::default();
                for ns in 1..=each {
                    row.count += 1;
                    row.response.record(ns);
                    row.histogram.record(ns);
                }
                Slot { seconds: 1.0, row }
            };
            Course { slots: (0..12).map(slot).collect() }
        };
        let of = |metric, each| pooled(metric, &[run(each), run(each), run(each)]);
        assert_eq!(of(Metric::P999, 5), Err(Missing::TooFew));
        assert_eq!(of(Metric::P99, 100), Ok(None), "each run has enough");
        let all = of(Metric::P99, 50).unwrap().unwrap();
        assert!(all.interval.low <= all.value && all.value <= all.interval.high, "{all:?}");
        assert_eq!(pooled(Metric::P999, &[run(5), run(5)]), Ok(None), "two runs are never judged by their scatter");
    }

    /// Parts of five runs at different levels resemble each other, so batches say nothing. The other side is five times slower.
    #[test]
    fn runs_at_different_levels_do_not_take_the_verdict_away() {
        let run = |unit_ns: u64| {
            let mut row = IntervalRow::default();
            for at in 1..=990 {
                row.count += 1;
                row.response.record(at * unit_ns);
                row.histogram.record(at * unit_ns);
            }
            Course { slots: vec![Slot { seconds: 1.0, row }] }
        };
        let side = |unit_ns: u64| [10, 12, 11, 10, 12].map(|level: u64| run(level * unit_ns));
        let [a, b] = [side(1_000), side(5_000)];
        let p99 = |run: &Course| super::super::estimate(Metric::P99, std::slice::from_ref(run)).unwrap().value;
        let of_runs = welch(Metric::P99, &a.each_ref().map(p99), &b.each_ref().map(p99), 0.0).unwrap();
        let all = |runs: &[Course]| pooled(Metric::P99, runs).unwrap().unwrap();
        let found = of_runs.confirmed_by(&Difference::of_sides(Metric::P99, &all(&a), &all(&b)));
        assert_eq!(found.verdict, Verdict::Worse, "{found:?}");
    }

    #[test]
    fn no_number_of_runs_is_below_zero() {
        let interval = estimate(Metric::Mean, &[1.0, 1.2, 10.0], 0.0).unwrap().known.unwrap().interval;
        assert!(interval.low == 0.0 && interval.high > 16.0, "{interval:?}");
        let close = estimate(Metric::Mean, &[1.0, 1.1, 1.2], 0.0).unwrap().known.unwrap().interval;
        assert!(close.low > 0.8 && close.low < 1.1, "{close:?}");
    }

    #[test]
    fn a_restart_that_moves_the_mean_is_in_the_interval() {
        let found = welch(Metric::Mean, &[1.0, 1.2, 0.9], &[1.05, 1.25, 0.95], 0.0).unwrap();
        assert_eq!(found.verdict, Verdict::NotShown);
        let pairs = [(1.0, 1.05), (1.2, 1.26), (0.9, 0.945)];
        assert_eq!(paired(Metric::Mean, &pairs, 0.0).unwrap().verdict, Verdict::Worse, "each pair says so");
    }
}
