//! When a load thread looked for answers, and when it did not: a stopped process, a paused machine or a busy CPU is no silence of a server.

/// A shorter delay is no stall, ns: a shorter silence is none either.
const SHORTEST_NS: i64 = 10_000_000;

/// The attention of a load thread.
#[derive(Clone, Debug)]
pub(crate) struct Attention {
    /// Until then the thread looked, or waited as planned.
    until: i64,
    /// The last stall: from, to.
    stall: Option<(i64, i64)>,
    /// Answers that came in the last stall may still be unread.
    unread: bool,
    /// The longest stall, ns.
    longest_ns: u64,
}

impl Default for Attention {
    fn default() -> Self {
        Self { until: i64::MAX, stall: None, unread: false, longest_ns: 0 }
    }
}

impl Attention {
    /// The thread looks at `now`. Only time in the measured phase (from, until before) can be a stall.
    #[inline]
    pub(crate) fn looks(&mut self, now: i64, (begin, end): (i64, i64)) {
        let (from, to) = (self.until.max(begin), now.min(end));
        self.until = now;
        if to.saturating_sub(from) >= SHORTEST_NS {
            self.stalled(from, to);
        }
    }

    /// The thread begins a wait that ends at `until` at the latest.
    #[inline]
    pub(crate) fn waits(&mut self, now: i64, until: i64, window: (i64, i64)) {
        self.looks(now, window);
        self.until = now.max(until);
        self.unread = false;
    }

    #[cold]
    fn stalled(&mut self, from: i64, to: i64) {
        self.longest_ns = self.longest_ns.max(u64::try_from(to - from).unwrap_or(0));
        // While answers of the last stall are being read, they may have come at any time since its start.
        let from = self.stall.filter(|_| self.unread).map_or(from, |(earlier, _)| earlier);
        self.stall = Some((from, to));
        self.unread = true;
    }

    /// The earliest instant at which an answer that was read at `at` may have come; `waited`: how long the kernel had it, ns, if known.
    #[inline]
    pub(crate) fn came(&self, at: i64, waited: Option<i64>) -> i64 {
        let Some((from, to)) = self.stall else { return at };
        let to = if self.unread { at } else { to };
        let came = waited.map_or(if self.unread { from } else { at }, |waited| at.saturating_sub(waited));
        // The kernel's time holds, also before the stall was noticed: the wait before it may have been planned to be longer.
        if came < to { came.min(at) } else { at }
    }

    /// The end of the phase, or if a stall includes it, the start of that stall: later answers are unknown.
    pub(crate) fn end(&self, end: i64) -> i64 {
        self.stall.filter(|&(from, to)| from < end && end <= to).map_or(end, |(from, _)| from)
    }

    /// The longest stall so far, ns.
    pub(crate) fn longest_stall_ns(&self) -> u64 {
        self.longest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const WINDOW: (i64, i64) = (0, 1_000 * MS);

    #[test]
    fn a_thread_that_wakes_as_planned_has_no_stall() {
        let mut attention = Attention::default();
        attention.looks(5 * MS, WINDOW);
        attention.waits(5 * MS, 45 * MS, WINDOW);
        attention.looks(46 * MS, WINDOW);
        attention.waits(46 * MS, 500 * MS, WINDOW);
        attention.looks(60 * MS, WINDOW);
        assert_eq!((attention.longest_stall_ns(), attention.came(60 * MS, None)), (0, 60 * MS));
        assert_eq!(attention.end(1_000 * MS), 1_000 * MS);
    }

    #[test]
    fn answers_that_were_read_after_a_stall_may_have_come_in_it() {
        let mut attention = Attention::default();
        attention.waits(0, 40 * MS, WINDOW);
        attention.looks(340 * MS, WINDOW);
        assert_eq!(attention.longest_stall_ns(), 300_000_000);
        assert_eq!(attention.came(341 * MS, None), 40 * MS, "unknown: at its start");
        assert_eq!(attention.came(341 * MS, Some(50 * MS)), 291 * MS, "the kernel says when");
        assert_eq!(attention.came(341 * MS, Some(320 * MS)), 21 * MS, "before the planned end of the wait");
        attention.waits(342 * MS, 400 * MS, WINDOW);
        assert_eq!(attention.came(350 * MS, None), 350 * MS, "the thread waits again");
        assert_eq!(attention.came(350 * MS, Some(100 * MS)), 250 * MS, "one that was not read at once");
        assert_eq!(attention.came(350 * MS, Some(MS)), 350 * MS, "one that came after it");
        attention.waits(980 * MS, 990 * MS, WINDOW);
        attention.looks(3_000 * MS, WINDOW);
        assert_eq!(attention.end(1_000 * MS), 990 * MS);
    }

    #[test]
    fn stalls_one_after_another_are_not_added() {
        let mut attention = Attention::default();
        attention.waits(0, 40 * MS, WINDOW);
        [60, 69, 78, 98].into_iter().for_each(|at| attention.looks(at * MS, WINDOW));
        assert_eq!(attention.longest_stall_ns(), 20_000_000);
        assert_eq!(attention.came(99 * MS, None), 40 * MS, "no answer was read since the first one");
    }

    #[test]
    fn only_the_measured_phase_has_stalls() {
        let mut attention = Attention::default();
        attention.waits(0, MS, (i64::MAX, i64::MAX));
        attention.looks(500 * MS, (495 * MS, 900 * MS));
        assert_eq!(attention.longest_stall_ns(), 0, "5 ms of it are in the phase");
    }
}
