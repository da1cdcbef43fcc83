//! Impairments of a direction of the wire, and their effect on each packet.

use std::time::Duration;

use crate::Random;

/// Impairments of a direction. The default passes all packets at once.
#[derive(Clone, Copy, Debug)]
pub struct Impairments {
    /// Delay from one end to the other.
    pub delay: Duration,
    /// Mean of an exponential time that is added to the delay. The order of packets stays.
    pub jitter: Duration,
    /// Bytes per second; without it no packet waits for those before it.
    pub rate: Option<f64>,
    /// Bytes that may wait for the rate. Packets that find more are dropped.
    pub queue_bytes: f64,
    /// Share of packets that are lost.
    pub loss: f64,
    /// Share of packets that arrive twice.
    pub duplication: f64,
    /// Share of packets that later packets may overtake.
    pub reordering: f64,
    /// How much longer these take.
    pub held_back: Duration,
    /// The same seed and the same packets have the same fates.
    pub seed: u64,
}

impl Default for Impairments {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            rate: None,
            queue_bytes: f64::INFINITY,
            loss: 0.0,
            duplication: 0.0,
            reordering: 0.0,
            held_back: Duration::ZERO,
            seed: 1,
        }
    }
}

/// The decision about a packet before it travels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drawn {
    pub(super) is_lost: bool,
    pub(super) is_doubled: bool,
    pub(super) is_held_back: bool,
    pub(super) jitter: Duration,
}

impl Impairments {
    /// Decides of the next packet: as many numbers for each, so that the decisions for one do not depend on those before.
    pub(super) fn draw(&self, random: &mut Random) -> Drawn {
        let [loss, duplication, reordering, jitter] = [(); 4].map(|()| random.uniform());
        Drawn {
            is_lost: loss < self.loss,
            is_doubled: duplication < self.duplication,
            is_held_back: reordering < self.reordering,
            jitter: self.jitter.mul_f64(-(1.0 - jitter).ln()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_has_its_fates_and_their_shares_are_as_asked_for() {
        let asked = Impairments {
            jitter: Duration::from_millis(1),
            loss: 0.01,
            duplication: 0.02,
            reordering: 0.03,
            ..Impairments::default()
        };
        let drawn = |seed| {
            let mut random = Random::new(seed);
            (0..100_000).map(|_| asked.draw(&mut random)).collect::<Vec<_>>()
        };
        let first = drawn(1);
        assert!(first == drawn(1) && first != drawn(2));
        let share = |is: fn(&Drawn) -> bool| first.iter().filter(|drawn| is(drawn)).count() as f64 / 1e5;
        let shares = [share(|drawn| drawn.is_lost), share(|drawn| drawn.is_doubled), share(|drawn| drawn.is_held_back)];
        // Five standard deviations of the last.
        assert!(
            shares.iter().zip([0.01, 0.02, 0.03]).all(|(share, asked)| (share - asked).abs() < 0.0027),
            "{shares:?}"
        );
        let mean_ms = first.iter().map(|drawn| drawn.jitter.as_secs_f64()).sum::<f64>() / 1e2;
        assert!((mean_ms - 1.0).abs() < 0.02, "{mean_ms}");
    }
}
