//! How late the generator made a slot.

use crate::engine::lateness::beyond_waking;

/// Delays of a slot's operation and iteration that are the generator's, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delay {
    /// When the slot was free for its iteration.
    ready: i64,
    /// How much of the wait of its iteration the iteration before caused, because that was late itself.
    inherited: u64,
    /// From the intended instant of its operation until it was begun.
    start: u64,
    /// How long its operation has stood still, and for how much of that before the end of the phase.
    stood: u64,
    stood_in_phase: u64,
    /// Delays until then are in `stood`.
    counted: i64,
    /// Delays of this iteration, which delay the next one if it waits for this one.
    iteration: u64,
}

impl Delay {
    /// An iteration that was due at `due` starts; the slot has been free since `since`.
    pub(crate) fn start_iteration(&mut self, due: i64, since: i64) {
        self.ready = since;
        // The iteration waited for the previous one, including that one's delays.
        self.inherited = std::mem::take(&mut self.iteration).min(u64::try_from(since.saturating_sub(due)).unwrap_or(0));
    }

    /// An operation begins. `possible`: the earliest time at which the slot could have begun it; `None` if unknown. `phase_end`: when the
    /// measured phase ends.
    pub(crate) fn begin(&mut self, (intended, possible): (i64, Option<i64>), now: i64, phase_end: i64) {
        let since = possible.map(|possible| possible.max(intended).max(self.ready));
        let until = |at: i64| since.map_or(0, |since| beyond_waking(at.saturating_sub(since)));
        (self.stood, self.stood_in_phase) = (until(now), until(now.min(phase_end)));
        let inherited = std::mem::take(&mut self.inherited);
        self.start = inherited.saturating_add(self.stood);
        self.iteration = self.iteration.saturating_add(inherited);
        self.counted = now;
    }

    /// How late the operation was begun.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// An answer was read at `at`, `late` later than it could have been. Answers that lay there together were late together. A stop may have
    /// moved `phase_end` since the operation began.
    pub(crate) fn read(&mut self, at: i64, late: u64, phase_end: i64) {
        let new = late.min(u64::try_from(at.saturating_sub(self.counted)).unwrap_or(0));
        let after_phase = u64::try_from(at.saturating_sub(phase_end)).unwrap_or(0);
        self.stood = self.stood.saturating_add(new);
        self.stood_in_phase = self.stood_in_phase.saturating_add(new.saturating_sub(after_phase));
        self.counted = self.counted.max(at);
    }

    /// The operation that was meant for `intended` ended: how long it stood still before the end of the phase.
    pub(crate) fn end(&mut self, intended: i64, at: i64) -> u64 {
        let late = std::mem::take(&mut self.stood).min(u64::try_from(at.saturating_sub(intended)).unwrap_or(0));
        self.iteration = self.iteration.saturating_add(late);
        std::mem::take(&mut self.stood_in_phase).min(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::lateness::WAKING_NS;

    const MS: i64 = 1_000_000;

    /// An iteration of one operation: how late it was from its intended start, and how long it stood still.
    fn iteration(delay: &mut Delay, (due, free): (i64, i64), (begun, read, late): (i64, i64, u64)) -> (u64, u64) {
        delay.start_iteration(due, free);
        delay.begin((due, Some(0)), begun, i64::MAX);
        delay.read(read, late, i64::MAX);
        (delay.start() + late, delay.end(due, read))
    }

    #[test]
    fn a_iteration_that_waited_inherits_what_the_iteration_before_was_late_by() {
        let mut delay = Delay::default();
        // Due every 10 ms, served within 1 ms. The first answer is read 20 ms late.
        assert_eq!(iteration(&mut delay, (0, 0), (0, 21 * MS, 20_000_000)), (20_000_000, 20_000_000));
        // It was due at 10 ms and could begin at 21 ms: these 11 ms are the generator's, and nothing of it stood still.
        assert_eq!(iteration(&mut delay, (10 * MS, 21 * MS), (21 * MS, 22 * MS, 0)), (11_000_000, 0));
        assert_eq!(iteration(&mut delay, (20 * MS, 22 * MS), (22 * MS, 23 * MS, 0)), (2_000_000, 0));
        assert_eq!(iteration(&mut delay, (30 * MS, 23 * MS), (30 * MS, 31 * MS, 0)), (0, 0), "it did not wait");
    }

    #[test]
    fn a_iteration_that_waited_for_the_server_inherits_nothing() {
        let mut delay = Delay::default();
        assert_eq!(iteration(&mut delay, (0, 0), (0, 40 * MS, 0)), (0, 0));
        assert_eq!(iteration(&mut delay, (10 * MS, 40 * MS), (40 * MS, 41 * MS, 0)), (0, 0));
        // Of a wait of 30 ms the generator caused 5 ms.
        assert_eq!(iteration(&mut delay, (50 * MS, 50 * MS), (50 * MS, 90 * MS, 5_000_000)), (5_000_000, 5_000_000));
        assert_eq!(iteration(&mut delay, (60 * MS, 90 * MS), (90 * MS, 91 * MS, 0)), (5_000_000, 0));
    }

    #[test]
    fn an_action_stands_still_once_at_a_time() {
        let mut delay = Delay::default();
        let late_start = 3 * MS + i64::try_from(WAKING_NS).unwrap();
        delay.begin((0, Some(0)), late_start, i64::MAX);
        assert_eq!(delay.start(), 3_000_000);
        // Two answers were there for 8 ms and 6 ms when both were read; one that came after was read 2 ms late.
        delay.read(20 * MS, 8_000_000, i64::MAX);
        delay.read(20 * MS, 6_000_000, i64::MAX);
        delay.read(23 * MS, 2_000_000, i64::MAX);
        assert_eq!(delay.end(0, 23 * MS), 13_000_000);
        // The next operation of the iteration is due when this one ended; the earliest possible time of its start is unknown.
        delay.begin((23 * MS, None), 40 * MS, i64::MAX);
        assert_eq!((delay.start(), delay.end(23 * MS, 41 * MS)), (0, 0));
        delay.start_iteration(0, 90 * MS);
        delay.begin((0, Some(0)), 90 * MS, i64::MAX);
        assert_eq!(delay.start(), 13_000_000, "the iteration waited for both actions");
    }

    #[test]
    fn what_stands_still_after_the_phase_is_lost_to_no_phase() {
        let waking = i64::try_from(WAKING_NS).unwrap();
        let lost = |(begun, read, late), phase_end| {
            let mut delay = Delay::default();
            delay.begin((0, Some(0)), begun, phase_end);
            delay.read(read, late, phase_end);
            delay.end(0, read)
        };
        let late_start = (20 * MS + waking, 21 * MS + waking, 0);
        assert_eq!([99 * MS, 5 * MS + waking].map(|end| lost(late_start, end)), [20_000_000, 5_000_000]);
        let late_read = (0, 30 * MS, 8_000_000);
        assert_eq!([30, 27, 22, 10].map(|end| lost(late_read, end * MS)), [8_000_000, 5_000_000, 0, 0]);
        // The run was stopped after the operation began.
        let mut delay = Delay::default();
        delay.begin((0, Some(0)), 0, 99 * MS);
        delay.read(30 * MS, 8_000_000, 27 * MS);
        assert_eq!(delay.end(0, 30 * MS), 5_000_000);
    }
}
