//! Count, extremes, mean and deviation, exact.

use crate::state::Counter;

/// Exact count, minimum, maximum, sum and sum of squares of nanosecond values, in integers.
///
/// Integers make it exact and mergeable: parts added up in any order are the same to the last bit as the whole, and
/// no cancellation can spoil the deviation. `u128` holds the squares of 10^18 values of 10 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    squares: u128,
}

impl Default for Moments {
    fn default() -> Self {
        Self { count: 0, min: u64::MAX, max: 0, sum: 0, squares: 0 }
    }
}

impl Moments {
    /// Takes one value.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.count += 1;
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.sum += u128::from(ns);
        // Only absurd values (a thousand of 500 years each) can get there.
        self.squares = self.squares.saturating_add(u128::from(ns) * u128::from(ns));
    }

    /// Takes a time, and returns it. A negative one is only counted in `negative`.
    #[inline]
    pub(crate) fn record_time(&mut self, ns: i64, negative: &mut u64) -> Option<u64> {
        let Ok(ns) = u64::try_from(ns) else {
            *negative += 1;
            return None;
        };
        self.record(ns);
        Some(ns)
    }

    /// Adds another part of the same data.
    pub fn merge(&mut self, other: &Moments) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Smallest, ns.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest, ns.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Sum, ns.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// Sum of squares, ns².
    pub fn squares(&self) -> u128 {
        self.squares
    }

    /// Arithmetic mean, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Sample standard deviation (n − 1), ns; `None` for fewer than two values.
    pub fn stddev_ns(&self) -> Option<f64> {
        let n = u128::from(self.count);
        if n < 2 {
            return None;
        }
        // About the whole part q of the mean, the squares are an integer: Σ(x−q)² = Σx² − q(Σx + r), r = Σx − nq;
        // r²/n moves them to the mean itself.
        let (q, r) = (self.sum / n, self.sum % n);
        let about_q = self.squares.saturating_sub(q.saturating_mul(self.sum + r));
        let about_mean = about_q as f64 - (r * r) as f64 / n as f64;
        Some((about_mean.max(0.0) / (n - 1) as f64).sqrt())
    }
}

crate::state::as_bytes!(Moments);
crate::state::fields!("moments"; Moments { count, min, max, sum, squares } if |moments| {
    let (count, sum) = (u128::from(moments.count), moments.sum);
    let low = count.saturating_mul(u128::from(moments.min));
    Counter::all(&[moments.count]) && match moments.count {
        0 => *moments == Moments::default(),
        _ => moments.min <= moments.max && low <= sum && sum <= count * u128::from(moments.max),
    }
});

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|&v| moments.record(v));
        moments
    }

    #[test]
    fn nothing_has_no_mean() {
        let none = Moments::default();
        assert_eq!((none.min_ns(), none.max_ns(), none.mean_ns(), none.stddev_ns()), (None, None, None, None));
        assert_eq!(of(&[7]).stddev_ns(), None);
    }

    /// The classic trap of Σx² − (Σx)²/n in floating point: a small deviation about a large mean.
    #[test]
    fn a_small_deviation_about_a_large_mean_is_exact() {
        let base = 1_000_000_000_000_000;
        let moments = of(&[base + 4, base + 7, base + 13, base + 16]);
        assert_eq!(moments.stddev_ns(), Some(30f64.sqrt()));
        assert_eq!(moments.mean_ns(), Some(base as f64 + 10.0));
    }

    #[test]
    fn absurd_values_do_not_overflow() {
        let moments = of(&[u64::MAX; 5]);
        assert_eq!(moments.max_ns(), Some(u64::MAX));
        assert!(moments.stddev_ns().is_some_and(f64::is_finite));
    }

    proptest! {
        #[test]
        fn agrees_with_two_naive_passes(values in prop::collection::vec(0u64..100_000_000_000, 2..200)) {
            let n = values.len() as f64;
            let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
            let variance = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let moments = of(&values);
            let (m, s) = (moments.mean_ns().unwrap(), moments.stddev_ns().unwrap());
            prop_assert!((m - mean).abs() <= 1e-9 * mean.max(1.0), "{m} {mean}");
            prop_assert!((s - variance.sqrt()).abs() <= 1e-9 * variance.sqrt().max(1.0), "{s}");
        }
    }
}
