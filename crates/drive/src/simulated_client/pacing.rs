//! When iterations start: schedules that depend on the plan and its seed alone, and pauses.

use rand_distr::{Distribution, Exp1};

use plimsoll_workload::{Arrivals, Pause, Rng, seed_of};

/// The instants at which iterations are due, in order, from a start on. They have no end.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Before the first one, and between them on average, ns.
    first_ns: f64,
    gap_ns: f64,
    start: i64,
    spacing: Spacing,
}

#[derive(Clone, Debug)]
enum Spacing {
    /// How many there were. Computed from the number, so that roundings do not add up.
    Constant(u64),
    /// Sum of the gaps so far, ns.
    Poisson(Rng, f64),
}

/// A slot that no client has: schedules draw from its seed.
const NOBODY: u32 = u32::MAX;

impl Schedule {
    /// One schedule for all clients: `rate` iterations per second from `start` on.
    pub(crate) fn open(start: i64, rate: f64, arrivals: Arrivals, seed: u64) -> Self {
        let gap_ns = 1e9 / rate;
        // Independent arrivals have no instant to begin with: the first one comes after a gap, too.
        let first_ns = 0.0;
        Self { first_ns, gap_ns, start, spacing: Spacing::new(arrivals, seed_of(seed, NOBODY, NOBODY), gap_ns) }
    }

    /// The schedule of user `user` of `users`: an iteration every `every_ns` on average, first starts spread evenly over it.
    pub(crate) fn of_user(start: i64, user: u32, users: u32, every_ns: u64, arrivals: Arrivals, seed: u64) -> Self {
        let gap_ns = every_ns as f64;
        let first_ns = (u128::from(every_ns) * u128::from(user) / u128::from(users.max(1))) as f64;
        let spacing = match arrivals {
            Arrivals::Constant => Spacing::Constant(0),
            Arrivals::Poisson => Spacing::Poisson(Rng::new(seed_of(seed, user, NOBODY)), 0.0),
        };
        Self { first_ns, gap_ns, start, spacing }
    }
}

impl Spacing {
    fn new(arrivals: Arrivals, seed: u64, gap_ns: f64) -> Self {
        match arrivals {
            Arrivals::Constant => Spacing::Constant(0),
            Arrivals::Poisson => {
                let mut rng = Rng::new(seed);
                let first: f64 = Exp1.sample(&mut rng);
                Spacing::Poisson(rng, first * gap_ns)
            }
        }
    }
}

impl Iterator for Schedule {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let after = match &mut self.spacing {
            Spacing::Constant(count) => {
                let after = *count as f64 * self.gap_ns;
                *count += 1;
                after
            }
            Spacing::Poisson(rng, sum) => {
                let after = *sum;
                let gap: f64 = Exp1.sample(rng);
                *sum += gap * self.gap_ns;
                after
            }
        };
        // Exact up to 2^53 ns, 104 days.
        Some(self.start.saturating_add((self.first_ns + after).round() as i64))
    }
}

/// Draws a pause, ns.
#[inline]
pub(crate) fn pause(pause: Pause, rng: &mut Rng) -> i64 {
    let ns = match pause {
        Pause::None => 0,
        Pause::Constant(ns) => ns,
        Pause::Exponential(mean) => {
            let drawn: f64 = Exp1.sample(rng);
            (drawn * mean as f64).round() as u64
        }
        Pause::Uniform(low, high) => rand::Rng::random_range(rng, low..=high.max(low)),
    };
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The pause before a slot's first iteration, so that slots do not run in step: constant pauses are spread evenly over one pause, all
/// others are random as usual.
pub(crate) fn first_pause(first: Pause, slot: u64, slots: u64, rng: &mut Rng) -> i64 {
    match first {
        Pause::Constant(ns) => {
            let spread = u128::from(ns) * u128::from(slot) / u128::from(slots.max(1));
            i64::try_from(spread).unwrap_or(i64::MAX)
        }
        other => pause(other, rng),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_arrivals_stand_where_they_should_however_many_there_were() {
        let third = Schedule::open(1_000, 3.0, Arrivals::Constant, 7);
        let times: Vec<i64> = third.clone().take(4).collect();
        assert_eq!(times, [1_000, 333_334_333, 666_667_667, 1_000_001_000]);
        assert_eq!(third.clone().nth(3_000_000), Some(1_000_000_000_001_000));
    }

    #[test]
    fn users_start_evenly_spread() {
        let first = |user| Schedule::of_user(0, user, 4, 1_000, Arrivals::Constant, 7).take(3).collect::<Vec<_>>();
        assert_eq!((first(0), first(3)), (vec![0, 1_000, 2_000], vec![750, 1_750, 2_750]));
    }

    #[test]
    fn independent_arrivals_have_the_rate_and_the_variance_of_a_poisson_process() {
        let count = 200_000;
        let times: Vec<i64> = Schedule::open(0, 1_000.0, Arrivals::Poisson, 7).take(count).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
        assert_ne!(times[..5], Schedule::open(0, 1_000.0, Arrivals::Poisson, 8).take(5).collect::<Vec<_>>());
    }

    #[test]
    fn pauses_are_as_long_as_they_should_be() {
        let mut rng = Rng::new(1);
        let mean = |which: Pause, rng: &mut Rng| (0..100_000).map(|_| pause(which, rng) as f64).sum::<f64>() / 1e5;
        assert_eq!(pause(Pause::None, &mut rng), 0);
        assert_eq!(pause(Pause::Constant(5), &mut rng), 5);
        assert!((mean(Pause::Exponential(1_000_000), &mut rng) / 1e6 - 1.0).abs() < 0.02);
        assert!((mean(Pause::Uniform(0, 1_000_000), &mut rng) / 5e5 - 1.0).abs() < 0.02);
        assert_eq!(first_pause(Pause::Constant(1_000), 3, 4, &mut rng), 750);
    }
}
