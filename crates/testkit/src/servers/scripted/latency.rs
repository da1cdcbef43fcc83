//! How long a call takes: distributions whose percentiles are known.

use std::time::Duration;

use crate::random::Random;

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latency {
    /// Always the same.
    Constant(Duration),
    /// Exponential, with this mean.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Two humps, each flat and as wide as a tenth of its middle to both sides: a cache that hits or misses.
    TwoHumps {
        /// The middle of the first.
        low: Duration,
        /// The middle of the second.
        high: Duration,
        /// The second's share, 0 to 1.
        share: f64,
    },
}

/// Half the width of a hump, as a part of its middle.
const WIDTH: f64 = 0.1;

impl Latency {
    /// The time that a part `q` of all calls does not exceed, 0 ≤ q < 1: the inverse of the distribution function.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Duration {
        let flat = |middle: Duration, at: f64| middle.mul_f64(1.0 - WIDTH + 2.0 * WIDTH * at);
        match *self {
            Latency::Constant(time) => time,
            Latency::Exponential { mean } => mean.mul_f64(-(1.0 - q).ln()),
            Latency::TwoHumps { low, share, .. } if q < 1.0 - share => flat(low, q / (1.0 - share)),
            Latency::TwoHumps { high, share, .. } => flat(high, (q - (1.0 - share)) / share),
        }
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Duration {
        match *self {
            Latency::Constant(time) | Latency::Exponential { mean: time } => time,
            Latency::TwoHumps { low, high, share } => low.mul_f64(1.0 - share) + high.mul_f64(share),
        }
    }
}

/// How times are drawn from a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Every thousand calls take one time from each thousandth of the distribution, shuffled: percentiles over some thousand calls are
    /// then those of the distribution, almost without sampling error.
    Stratified,
    /// Each for itself, as queueing theory assumes.
    Independent,
}

/// Calls in a block of [`Draw::Stratified`].
const BLOCK: u32 = 1000;

/// Draws times. The same seed, the same times.
#[derive(Debug)]
pub(super) struct Sampler {
    latency: Latency,
    draw: Draw,
    random: Random,
    /// The remaining quantiles of a block.
    block: Vec<f64>,
}

impl Sampler {
    pub(super) fn new(latency: Latency, draw: Draw, seed: u64) -> Self {
        Self { latency, draw, random: Random::new(seed), block: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Duration {
        let quantile = match self.draw {
            Draw::Independent => self.random.uniform(),
            Draw::Stratified => self.stratified(),
        };
        self.latency.quantile(quantile)
    }

    fn stratified(&mut self) -> f64 {
        if self.block.is_empty() {
            self.block =
                (0..BLOCK).map(|stratum| (f64::from(stratum) + self.random.uniform()) / f64::from(BLOCK)).collect();
        }
        let at = (self.random.uniform() * self.block.len() as f64) as usize;
        self.block.swap_remove(at.min(self.block.len() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn drawn(latency: Latency, draw: Draw, seed: u64, count: usize) -> Vec<Duration> {
        let mut sampler = Sampler::new(latency, draw, seed);
        let mut times: Vec<Duration> = (0..count).map(|_| sampler.next()).collect();
        times.sort();
        times
    }

    #[test]
    fn percentiles_are_those_of_the_distribution() {
        let shapes = [
            Latency::Constant(5 * MS),
            Latency::Exponential { mean: 5 * MS },
            Latency::TwoHumps { low: MS, high: 20 * MS, share: 0.2 },
        ];
        for latency in shapes {
            for (draw, count, tolerance) in [(Draw::Stratified, 20_000, 0.005), (Draw::Independent, 400_000, 0.02)] {
                let times = drawn(latency, draw, 7, count);
                for q in [0.1, 0.5, 0.75, 0.9, 0.95, 0.99] {
                    let (got, wanted) = (times[(q * count as f64) as usize], latency.quantile(q));
                    let error = got.as_secs_f64() / wanted.as_secs_f64() - 1.0;
                    assert!(error.abs() < tolerance, "{latency:?} {draw:?} p{q}: {got:?} instead of {wanted:?}");
                }
                let mean = times.iter().sum::<Duration>().as_secs_f64() / count as f64;
                assert!((mean / latency.mean().as_secs_f64() - 1.0).abs() < tolerance, "{latency:?} {draw:?} {mean}");
            }
        }
    }

    #[test]
    fn a_seed_says_it_all() {
        let latency = Latency::Exponential { mean: MS };
        for draw in [Draw::Stratified, Draw::Independent] {
            assert_eq!(drawn(latency, draw, 3, 2500), drawn(latency, draw, 3, 2500));
            assert_ne!(drawn(latency, draw, 3, 2500), drawn(latency, draw, 4, 2500));
        }
    }

    #[test]
    fn two_humps_leave_the_middle_empty() {
        let latency = Latency::TwoHumps { low: MS, high: 10 * MS, share: 0.25 };
        let times = drawn(latency, Draw::Stratified, 1, 4000);
        assert_eq!(times.iter().filter(|time| **time > 5 * MS).count(), 1000);
        assert!(times.iter().all(|time| (MS * 9 / 10..=MS * 11 / 10).contains(time) || *time >= 9 * MS));
    }
}
