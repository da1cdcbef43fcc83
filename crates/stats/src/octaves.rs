//! Times by powers of two of microseconds: count and sum of each class.

use crate::Times;

/// The first edge, ns.
const FIRST_NS: u64 = 1_000;

/// The times from half an edge (the first: from 0) up to the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Octave {
    /// Upper edge, exclusive, ns: 1 µs times a power of two.
    pub below_ns: u64,
    /// How many. Exact: each edge is one of the histogram's too.
    pub count: u64,
    /// Their sum, ns, from the middles of the histogram's cells: within 0.05 % for times from 2 µs on.
    pub sum_ns: u128,
}

/// Which octave a time is in, from 0.
fn place(ns: u64) -> usize {
    (ns / FIRST_NS).checked_ilog2().map_or(0, |power| power as usize + 1)
}

impl Times {
    /// From the fastest octave in use to the slowest, empty ones between them included; none without times.
    pub fn octaves(&self) -> Vec<Octave> {
        let mut found: Vec<(u64, u128)> = Vec::new();
        for (middle_ns, count) in self.middles() {
            let at = place(middle_ns);
            found.resize(found.len().max(at + 1), (0, 0));
            if let Some((counted, sum_ns)) = found.get_mut(at) {
                *counted += count;
                *sum_ns += u128::from(middle_ns) * u128::from(count);
            }
        }
        let first = found.iter().position(|&(count, _)| count > 0).unwrap_or(0);
        let octave = |(at, (count, sum_ns)): (usize, (u64, u128))| Octave {
            below_ns: FIRST_NS.saturating_mul(1 << at.min(63)),
            count,
            sum_ns,
        };
        found.into_iter().enumerate().skip(first).map(octave).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(times: &[u64]) -> Vec<Octave> {
        let mut all = Times::default();
        times.iter().for_each(|&ns| all.record(ns as i64));
        all.octaves()
    }

    #[test]
    fn edges_are_exclusive_and_empty_octaves_between_are_shown() {
        let found = of(&[0, 999, 1_000, 1_999, 2_000, 8_000, 15_999]);
        let counts: Vec<(u64, u64)> = found.iter().map(|octave| (octave.below_ns, octave.count)).collect();
        assert_eq!(counts, [(1_000, 2), (2_000, 2), (4_000, 1), (8_000, 0), (16_000, 2)]);
        assert_eq!(found[1].sum_ns, 2_999, "below 2 µs every nanosecond has a cell of its own");
        assert!(of(&[]).is_empty());
        let slow = of(&[40_000_000_000]);
        assert_eq!((slow.len(), slow[0].below_ns), (1, 67_108_864_000), "from the first in use on");
    }

    #[test]
    fn the_whole_range_of_times_is_taken() {
        assert_eq!(of(&[0, i64::MAX as u64]).iter().map(|octave| octave.count).sum::<u64>(), 2);
    }

    proptest! {
        #[test]
        fn counts_are_exact_and_sums_are_near(times in prop::collection::vec(0u64..100_000_000_000, 1..200)) {
            for octave in of(&times) {
                let from = if octave.below_ns == FIRST_NS { 0 } else { octave.below_ns / 2 };
                let here: Vec<u64> = times.iter().copied().filter(|&ns| ns >= from && ns < octave.below_ns).collect();
                prop_assert_eq!(octave.count, here.len() as u64, "below {} ns", octave.below_ns);
                let exact = here.iter().map(|&ns| u128::from(ns)).sum::<u128>() as f64;
                prop_assert!((octave.sum_ns as f64 - exact).abs() <= exact * 5e-4 + 1e-9);
            }
        }
    }
}
