//! The largest segment that was acknowledged from an instant on, whichever instant that is.

use serde::{Deserialize, Serialize};

/// Steps that are remembered. Beyond that two become one, the larger size with the later time.
const STEPS: usize = 4;

/// A size in bytes, and when a segment of it was last acknowledged, ns.
type Step = (u32, i64);

/// Sizes of acknowledged segments, each with the last time: the largest first, and so the oldest.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Largest {
    steps: [Step; STEPS],
    count: usize,
}

impl Largest {
    /// Notes that a segment of this size was acknowledged.
    pub(super) fn acknowledged(&mut self, bytes: u32, now_ns: i64) {
        let smaller = |&&(one, _): &&Step| one > bytes;
        let at = self.steps().iter().take_while(smaller).count();
        let later = self.steps().get(at.wrapping_sub(1)).is_some_and(|&(_, at_ns)| at_ns >= now_ns);
        let same = self.steps().get(at).is_some_and(|&(one, at_ns)| one == bytes && at_ns >= now_ns);
        if later || same {
            return;
        }
        // Smaller segments that were acknowledged earlier add no information.
        let told = self.steps()[at..].iter().take_while(|&&(_, at_ns)| at_ns <= now_ns).count();
        self.replace(at, told, (bytes, now_ns));
    }

    /// Replaces `told` steps by this one; if there is no room, merges it into the step before it.
    fn replace(&mut self, at: usize, told: usize, step: Step) {
        if told == 0 && self.count == STEPS {
            match at.checked_sub(1) {
                Some(before) => self.steps[before].1 = step.1,
                None => self.steps[0].0 = step.0,
            }
            return;
        }
        self.steps.copy_within(at + told..self.count, at + 1);
        self.count = self.count + 1 - told;
        self.steps[at] = step;
    }

    /// Adds the steps of another record.
    pub(super) fn add(&mut self, other: &Largest) {
        other.steps().iter().for_each(|&(bytes, at_ns)| self.acknowledged(bytes, at_ns));
    }

    /// The largest that was acknowledged from an instant on, 0 where none was.
    pub(super) fn since(&self, from_ns: i64) -> u32 {
        self.steps().iter().find(|&&(_, at_ns)| at_ns >= from_ns).map_or(0, |&(bytes, _)| bytes)
    }

    /// The largest of all.
    pub(super) fn of_all(&self) -> u32 {
        self.since(i64::MIN)
    }

    fn steps(&self) -> &[Step] {
        &self.steps[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(all: &[Step]) -> Largest {
        let mut largest = Largest::default();
        all.iter().for_each(|&(bytes, at_ns)| largest.acknowledged(bytes, at_ns));
        largest
    }

    #[test]
    fn a_large_segment_counts_until_its_last_acknowledgement() {
        let largest = noted(&[(1_448, 10), (300, 15), (1_448, 20), (100, 25), (300, 30), (200, 40), (200, 35)]);
        let since = |at_ns| largest.since(at_ns);
        assert_eq!(
            [since(0), since(20), since(21), since(30), since(31), since(40), since(41)],
            [1_448, 1_448, 300, 300, 200, 200, 0]
        );
        assert_eq!((largest.of_all(), noted(&[]).of_all()), (1_448, 0));
    }

    #[test]
    fn the_order_does_not_matter() {
        let all = [(500, 1), (400, 2), (450, 3), (90, 9), (300, 4)];
        let (forward, backward) = (noted(&all), noted(&all.into_iter().rev().collect::<Vec<_>>()));
        for from_ns in 0..11 {
            let most = all.iter().filter(|one| one.1 >= from_ns).map(|one| one.0).max().unwrap_or(0);
            assert_eq!([forward.since(from_ns), backward.since(from_ns)], [most; 2], "{from_ns}");
        }
    }

    #[test]
    fn with_too_many_sizes_none_seems_smaller_than_it_was() {
        let all: Vec<Step> = (0..40).map(|at| (1_000 - 7 * at, i64::from(at))).collect();
        for order in [all.clone(), all.iter().rev().copied().collect()] {
            let largest = noted(&order);
            for &(bytes, at_ns) in &all {
                assert!(largest.since(at_ns) >= bytes, "{at_ns}");
            }
        }
    }
}
