//! A running iteration: its due time, and its results so far.

use crate::engine::IterationTally;

/// An iteration that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IterationClock {
    /// When it was meant to start, ns.
    pub(crate) due: i64,
    /// Due time of the user's next iteration, if users have schedules, ns.
    pub(crate) next: Option<i64>,
    /// It began late because the previous one had not ended.
    pub(crate) waited: bool,
    /// An operation of it failed.
    pub(crate) failed: bool,
}

/// Tallies of iterations, by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct IterationTallies(Vec<IterationTally>);

impl IterationTallies {
    /// An iteration ended at `at`.
    pub(crate) fn ended(&mut self, kind: u32, clock: IterationClock, at: i64) {
        let took = u64::try_from(at.saturating_sub(clock.due)).unwrap_or(0);
        let overrun = clock.next.and_then(|next| u64::try_from(at.saturating_sub(next)).ok()).unwrap_or(0);
        let Some(tally) = self.of(kind) else { return };
        tally.ended += 1;
        tally.failed += u64::from(clock.failed);
        tally.duration_sum_ns = tally.duration_sum_ns.saturating_add(took);
        if overrun > 0 {
            tally.late += 1;
            tally.late_from_before += u64::from(clock.waited);
            tally.overrun_sum_ns = tally.overrun_sum_ns.saturating_add(overrun);
            tally.overrun_max_ns = tally.overrun_max_ns.max(overrun);
        }
    }

    /// An iteration was begun and had not ended when all was over.
    pub(crate) fn unended(&mut self, kind: u32, clock: IterationClock) {
        let Some(tally) = self.of(kind) else { return };
        tally.unended += 1;
        tally.failed += u64::from(clock.failed);
    }

    /// A workload has a few thousand kinds at most.
    fn of(&mut self, kind: u32) -> Option<&mut IterationTally> {
        let place = kind as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, IterationTally::default());
        }
        self.0.get_mut(place)
    }

    pub(crate) fn into_vec(self) -> Vec<IterationTally> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_after_the_next_is_due_is_late() {
        let clock = |due, waited| IterationClock { due, next: Some(due + 10), waited, failed: false };
        let mut tallies = IterationTallies::default();
        tallies.ended(1, clock(0, false), 10);
        tallies.ended(1, clock(10, false), 25);
        tallies.ended(1, clock(20, true), 33);
        tallies.ended(1, IterationClock { next: None, failed: true, ..clock(30, false) }, 31);
        tallies.unended(0, clock(40, true));
        let [first, second] = &tallies.into_vec()[..] else { panic!("two kinds") };
        assert_eq!((first.ended, first.unended, first.late), (0, 1, 0));
        let expected = IterationTally {
            ended: 4,
            unended: 0,
            failed: 1,
            late: 2,
            late_from_before: 1,
            duration_sum_ns: 10 + 15 + 13 + 1,
            overrun_sum_ns: 5 + 3,
            overrun_max_ns: 5,
        };
        assert_eq!(*second, expected);
    }
}
