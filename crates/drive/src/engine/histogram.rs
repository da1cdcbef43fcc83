//! A distribution of times.

use std::fmt;

/// Significant digits: values are told apart to 0.1 %. The same as everywhere (docs/decisions/0003-histograms.md).
const SIGNIFICANT_DIGITS: u8 = 3;

/// A distribution of times, ns: count, extremes, mean and deviation are exact, quantiles to 0.1 %.
///
/// It grows with the longest time seen: 168 KiB up to 1 s, 432 KiB at most, nothing while it is empty.
#[derive(Clone, Default)]
pub struct Histogram {
    counts: Option<hdrhistogram::Histogram<u64>>,
    sum: u128,
    squares: f64,
    extremes: Option<(u64, u64)>,
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if self.counts.is_none() {
            self.counts = hdrhistogram::Histogram::new(SIGNIFICANT_DIGITS).ok();
        }
        if let Some(counts) = &mut self.counts {
            // Cannot fail: it resizes itself, up to u64::MAX.
            let _ = counts.record(value);
        }
        self.sum += u128::from(value);
        self.squares += (value as f64).powi(2);
        self.widen(value, value);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Histogram) {
        match (&mut self.counts, &other.counts) {
            (Some(mine), Some(theirs)) => {
                // Cannot fail: it resizes itself.
                let _ = mine.add(theirs);
            }
            (None, theirs) => self.counts.clone_from(theirs),
            (Some(_), None) => {}
        }
        self.sum += other.sum;
        self.squares += other.squares;
        if let Some((min, max)) = other.extremes {
            self.widen(min, max);
        }
    }

    /// How many values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.as_ref().map_or(0, hdrhistogram::Histogram::len)
    }

    /// The smallest; `None` where there is no value.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.extremes.map(|(min, _)| min)
    }

    /// The greatest; `None` where there is no value.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.extremes.map(|(_, max)| max)
    }

    /// The mean; `None` where there is no value.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// The standard deviation of the values (not of a sample's estimate); `None` where there is no value.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        let variance = self.squares / self.count() as f64 - mean * mean;
        Some(variance.max(0.0).sqrt())
    }

    /// The smallest value that at least the share `quantile` (0 to 1) of all values does not exceed, to 0.1 %; `None`
    /// where there is no value.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let (min, max) = self.extremes?;
        let value = self.counts.as_ref()?.value_at_quantile(quantile);
        Some(match quantile {
            ..=0.0 => min,
            1.0.. => max,
            _ => value.clamp(min, max),
        })
    }

    #[inline]
    fn widen(&mut self, low: u64, high: u64) {
        let (min, max) = self.extremes.unwrap_or((low, high));
        self.extremes = Some((min.min(low), max.max(high)));
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (median, worst) = (self.quantile(0.5), self.max());
        f.debug_struct("Histogram").field("count", &self.count()).field("p50", &median).field("max", &worst).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_ramp() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.mean(), histogram.max()), (None, None, None));
        (1..=10_000).for_each(|value| histogram.record(value));
        let mut twice = Histogram::default();
        twice.merge(&histogram);
        twice.merge(&histogram);
        for (quantile, exact) in [(0.0, 1.0), (0.5, 5_000.0), (0.99, 9_900.0), (1.0, 10_000.0)] {
            let value = twice.quantile(quantile).unwrap() as f64;
            assert!((value / exact - 1.0).abs() <= 0.001, "{quantile}: {value}");
        }
        assert_eq!((twice.count(), twice.min(), twice.max()), (20_000, Some(1), Some(10_000)));
        assert_eq!(twice.mean(), Some(5_000.5));
        // Of 1..=n: (n² − 1) / 12.
        let exact = ((10_000.0f64.powi(2) - 1.0) / 12.0).sqrt();
        assert!((twice.stddev().unwrap() - exact).abs() < 1e-6);
    }

    #[test]
    fn the_longest_times_are_kept() {
        let mut histogram = Histogram::default();
        histogram.record(0);
        histogram.record(u64::MAX);
        assert_eq!((histogram.min(), histogram.max(), histogram.count()), (Some(0), Some(u64::MAX), 2));
        assert_eq!(histogram.quantile(1.0), Some(u64::MAX));
    }
}
