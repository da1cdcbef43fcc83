//! A distribution of times, with bounded error and a fixed size.

/// A distribution of times in ns. Values above 15 are kept with a relative error of at most 1/32, in a fixed size.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

/// Steps in each power of two.
const STEPS: usize = 16;
/// Values below [`STEPS`] are exact; above there are 60 powers of two.
const BINS: usize = STEPS * 61;

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if self.counts.is_empty() {
            self.counts = vec![0; BINS];
        }
        if let Some(count) = self.counts.get_mut(bin(value)) {
            *count += 1;
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
        } else {
            self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// How many values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The greatest, exact; 0 where there is none.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean, exact; `None` where there is no value.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The value below which the share `quantile` (0 to 1) of all values lies; `None` where there is no value.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let rank = ((self.count as f64 * quantile.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        for (bin, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && *count > 0 {
                return Some(middle(bin).min(self.max));
            }
        }
        None
    }
}

/// Values below 16 have a bin each; from there on every power of two has 16.
fn bin(value: u64) -> usize {
    if value < STEPS as u64 {
        return value as usize;
    }
    let power = 63 - value.leading_zeros() as usize;
    let step = (value >> (power - 4)) as usize & (STEPS - 1);
    (power - 3) * STEPS + step
}

/// The middle of a bin.
fn middle(bin: usize) -> u64 {
    if bin < STEPS {
        return bin as u64;
    }
    let (power, step) = (bin / STEPS + 3, bin % STEPS);
    let width = 1u64 << (power - 4);
    (STEPS + step) as u64 * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bin_whose_middle_is_near() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) + (1u64 << shift) / 3, u64::MAX >> shift] {
                let bin = bin(value);
                assert!(bin < BINS, "{value}");
                assert!(middle(bin).abs_diff(value) as f64 <= value as f64 / 32.0 + 1e-9, "{value} in {bin}");
            }
        }
    }

    #[test]
    fn quantiles_of_a_ramp() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.mean()), (None, None));
        (1..=10_000).for_each(|value| histogram.record(value));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        for (quantile, exact) in [(0.5, 5_000.0), (0.99, 9_900.0), (1.0, 10_000.0)] {
            let value = twice.quantile(quantile).unwrap() as f64;
            assert!((value / exact - 1.0).abs() <= 1.0 / 32.0, "{quantile}: {value}");
        }
        assert_eq!((twice.count(), twice.max(), twice.mean()), (20_000, 10_000, Some(5_000.5)));
    }
}
