//! The difference of two numbers, with its uncertainty and a verdict.

use super::estimate::{Estimate, Known};
use super::metric::Metric;
use super::missing::Missing;
use super::student;

/// Two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower one.
    pub low: f64,
    /// The upper one; may be infinite.
    pub high: f64,
}

/// A number with its interval, to take differences of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// The number.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// Degrees of freedom of the interval.
    pub degrees: f64,
}

/// How one number differs from another, the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The metric of the numbers.
    pub metric: Metric,
    /// Number − baseline, in the metric's unit.
    pub value: f64,
    /// Holds the true difference with [`super::CONFIDENCE`].
    pub interval: Interval,
    /// (Number − baseline) / baseline; `None` where the baseline is zero.
    pub relative: Option<f64>,
    /// Holds the true relative difference; `None` where the baseline may be zero.
    pub relative_interval: Option<Interval>,
    /// The verdict.
    pub verdict: Verdict,
    /// The probability of a difference as large where there is none, about.
    pub p_value: f64,
    /// The smallest change for the worse that runs of this length would have found 9 times of 10, over the baseline.
    pub detectable: Option<f64>,
}

impl Interval {
    /// The smallest interval that contains both.
    #[must_use]
    pub fn hull(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// The verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The interval lies on the good side of zero.
    Better,
    /// The interval lies on the bad side of zero.
    Worse,
    /// The interval holds zero: there may be a difference, but it was not shown.
    NotShown,
}

impl Verdict {
    /// The words used in reports.
    pub fn label(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NotShown => "none shown",
        }
    }
}

/// Cases of 10 in which [`Difference::detectable`] is found.
const POWER: f64 = 0.9;

impl Difference {
    /// The difference of two estimates of the same metric from independent runs.
    ///
    /// # Errors
    /// One of them has no interval.
    pub fn of(baseline: &Estimate, other: &Estimate) -> Result<Difference, Missing> {
        let side = |estimate: &Estimate| estimate.known.map(|known| Side::of(estimate.value, &known));
        Ok(Self::of_sides(baseline.metric, &side(baseline)?, &side(other)?))
    }

    /// From the two intervals alone (MOVER: Zou and Donner 2008; for ratios, Donner and Zou 2012). These may be asymmetric, as for
    /// percentiles. Exact for normal numbers, slightly wide with few degrees of freedom.
    pub fn of_sides(metric: Metric, baseline: &Side, other: &Side) -> Difference {
        let value = other.value - baseline.value;
        let down = (other.value - other.interval.low).hypot(baseline.interval.high - baseline.value);
        let up = (other.interval.high - other.value).hypot(baseline.value - baseline.interval.low);
        let interval = Interval { low: value - down, high: value + up };
        let degrees = baseline.degrees.min(other.degrees);
        // An interval of few runs may reach below zero, where no metric does: nothing loses more than all it has.
        let relative_interval =
            ratio(baseline, other).map(|of| Interval { low: of.low.max(0.0) - 1.0, high: of.high - 1.0 });
        Self::judge(metric, value, interval, baseline.value, relative_interval, degrees)
    }

    /// The same difference where a second method must agree: its interval contains both, and it is shown only if both show it.
    #[must_use]
    pub fn confirmed_by(self, other: &Difference) -> Difference {
        let verdict = if other.verdict == self.verdict { self.verdict } else { Verdict::NotShown };
        Difference {
            interval: self.interval.hull(other.interval),
            relative_interval: self.relative_interval.zip(other.relative_interval).map(|(a, b)| a.hull(b)),
            verdict,
            p_value: self.p_value.max(other.p_value),
            detectable: self.detectable.zip(other.detectable).map(|(a, b)| a.max(b)),
            ..self
        }
    }

    /// The verdict of an interval.
    pub(super) fn judge(
        metric: Metric,
        value: f64,
        interval: Interval,
        baseline: f64,
        relative_interval: Option<Interval>,
        degrees: f64,
    ) -> Difference {
        let verdict = match (interval.low > 0.0, interval.high < 0.0) {
            (true, _) if metric.more_is_better() => Verdict::Better,
            (_, true) if !metric.more_is_better() => Verdict::Better,
            (false, false) => Verdict::NotShown,
            _ => Verdict::Worse,
        };
        let t = student::half_width(degrees);
        let towards_zero = if value >= 0.0 { value - interval.low } else { interval.high - value };
        let p_value = match (value, towards_zero) {
            (0.0, _) => 1.0,
            (_, 0.0) => 0.0,
            (value, half) => student::two_sided(value.abs() / half * t, degrees),
        };
        let for_worse = if metric.more_is_better() { interval.high - value } else { value - interval.low };
        let needed = for_worse * (1.0 + student::quantile(POWER, degrees) / t);
        let over = |amount: f64| (baseline > 0.0 && amount.is_finite()).then(|| amount / baseline);
        let (relative, detectable) = (over(value), over(needed));
        Difference { metric, value, interval, relative, relative_interval, verdict, p_value, detectable }
    }
}

impl Side {
    /// An estimate's number; `None` where it has no interval.
    pub fn of_estimate(estimate: &Estimate) -> Option<Side> {
        Some(Side::of(estimate.value, &estimate.known.ok()?))
    }

    fn of(value: f64, known: &Known) -> Self {
        Self { value, interval: known.interval, degrees: known.degrees }
    }
}

/// The interval of other / baseline: the ratios for which the interval of `other − ratio × baseline` contains zero. So it excludes 1
/// exactly if that of the difference excludes 0. `None` if the baseline may be zero.
fn ratio(baseline: &Side, other: &Side) -> Option<Interval> {
    let (a, b) = (other.value, baseline.value);
    if b <= 0.0 || baseline.interval.low <= 0.0 {
        return None;
    }
    let square = |value: f64, end: f64| value * value - (value - end).powi(2);
    // Roots of (b² − (b − end)²) r² − 2abr + (a² − (a − end)²), written so that nothing cancels.
    let root = |x: f64, y: f64| ((a * b).powi(2) - x * y).max(0.0).sqrt();
    let (lower_a, upper_b) = (square(a, other.interval.low), square(b, baseline.interval.high));
    let (upper_a, lower_b) = (square(a, other.interval.high), square(b, baseline.interval.low));
    let low = lower_a / (a * b + root(lower_a, upper_b));
    let high = (a * b + root(upper_a, lower_b)) / lower_b;
    (low.is_finite() && high.is_finite()).then_some(Interval { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn side(value: f64, low: f64, high: f64) -> Side {
        Side { value, interval: Interval { low, high }, degrees: 9.0 }
    }

    #[test]
    fn equal_half_widths_add_as_squares() {
        let found = Difference::of_sides(Metric::Mean, &side(10.0, 7.0, 13.0), &side(20.0, 16.0, 24.0));
        assert_eq!((found.value, found.interval), (10.0, Interval { low: 5.0, high: 15.0 }));
        assert_eq!((found.verdict, found.relative), (Verdict::Worse, Some(1.0)));
        // 10 is twice the half-width: t of 9 degrees at 2 × 2.262.
        assert!((found.p_value - 0.00144).abs() < 2e-5, "{}", found.p_value);
    }

    #[test]
    fn verdicts_know_what_is_good() {
        let verdict = |metric, a: f64, b: f64| {
            Difference::of_sides(metric, &side(a, a - 1.0, a + 1.0), &side(b, b - 1.0, b + 1.0)).verdict
        };
        assert_eq!(verdict(Metric::Mean, 10.0, 12.0), Verdict::Worse);
        assert_eq!(verdict(Metric::Mean, 12.0, 10.0), Verdict::Better);
        assert_eq!(verdict(Metric::Throughput, 10.0, 12.0), Verdict::Better);
        assert_eq!(verdict(Metric::Throughput, 12.0, 10.0), Verdict::Worse);
        assert_eq!(verdict(Metric::P99, 10.0, 11.0), Verdict::NotShown);
    }

    #[test]
    fn of_a_baseline_that_may_be_zero_there_is_no_ratio() {
        let found = Difference::of_sides(Metric::Errors, &side(0.0, 0.0, 0.01), &side(0.2, 0.1, 0.3));
        assert_eq!((found.relative, found.relative_interval, found.verdict), (None, None, Verdict::Worse));
    }

    #[test]
    fn no_metric_loses_more_than_all_it_has() {
        // Three runs of 1, 1.2 and 10: the half-width of their mean is larger than the mean.
        let found = Difference::of_sides(Metric::Mean, &side(4.0, 3.0, 5.0), &side(4.0, -8.0, 16.0));
        let relative = found.relative_interval.unwrap();
        assert!(relative.low == -1.0 && relative.high > 1.0, "{relative:?}");
        assert_eq!(found.verdict, Verdict::NotShown);
    }

    proptest! {
        #[test]
        fn ratio_and_difference_agree_on_whether_there_is_one(
            a in 1.0..100.0f64, b in 1.0..100.0f64, widths in prop::array::uniform4(0.001..0.9f64)
        ) {
            let baseline = side(a, a - a * widths[0], a + a * widths[1]);
            let other = side(b, b - b * widths[2], b + b * widths[3]);
            let found = Difference::of_sides(Metric::Mean, &baseline, &other);
            let relative = found.relative_interval.unwrap();
            prop_assert!(relative.low <= found.relative.unwrap() && found.relative.unwrap() <= relative.high);
            let near = found.interval.low.abs().min(found.interval.high.abs()) < 1e-9;
            prop_assert!(near || (found.interval.low > 0.0) == (relative.low > 0.0));
            prop_assert!(near || (found.interval.high < 0.0) == (relative.high < 0.0));
        }
    }
}
