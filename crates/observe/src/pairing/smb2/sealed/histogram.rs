//! Percentiles of waiting times in little memory.

use serde::{Deserialize, Serialize};

/// Times in 32 classes for each power of two.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Histogram(Vec<u64>);

impl Histogram {
    const CLASSES: u32 = 32;

    fn place(ns: u64) -> usize {
        if ns < u64::from(Self::CLASSES) {
            return ns as usize;
        }
        let shift = ns.ilog2() - Self::CLASSES.ilog2();
        ((shift + 1) * Self::CLASSES) as usize + (ns >> shift) as usize - Self::CLASSES as usize
    }

    /// The middle of a class.
    fn middle(place: usize) -> u64 {
        let (power, class) = (place as u32 / Self::CLASSES, place as u64 % u64::from(Self::CLASSES));
        match power {
            0 => class,
            power => {
                let shift = power - 1;
                ((class + u64::from(Self::CLASSES)) << shift) + ((1_u64 << shift) >> 1)
            }
        }
    }

    pub(super) fn add(&mut self, ns: u64) {
        let place = Self::place(ns);
        if self.0.len() <= place {
            self.0.resize(place + 1, 0);
        }
        self.0[place] += 1;
    }

    pub(super) fn quantile(&self, share: f64) -> Option<u64> {
        let count: u64 = self.0.iter().sum();
        let rank = ((count as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        self.0
            .iter()
            .position(|in_class| {
                below += in_class;
                below >= rank
            })
            .map(Self::middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_narrow_and_lie_side_by_side() {
        for ns in (0..5_000).chain([1 << 40, u64::MAX]) {
            let (place, middle) = (Histogram::place(ns), Histogram::middle(Histogram::place(ns)));
            assert!(middle.abs_diff(ns) as f64 <= ns as f64 * 0.02, "{ns}: {place}, {middle}");
            assert!(ns == u64::MAX || Histogram::place(ns + 1) - place <= 1);
        }
        let mut times = Histogram::default();
        assert_eq!(times.quantile(0.5), None);
        (1..=100).for_each(|ns| times.add(ns * 1_000));
        assert!(
            [(0.5, 50_000), (0.99, 99_000)]
                .iter()
                .all(|&(share, ns)| { times.quantile(share).is_some_and(|found| found.abs_diff(ns) <= ns / 50) })
        );
    }
}
