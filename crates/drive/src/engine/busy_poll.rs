//! Busy-polling before a start, so that a worker is awake in time.
//!
//! The system wakes a sleeping thread late, by the wake-up latency of an idle processor: 50 to 160 µs on the virtual machine of
//! docs/performance.md. So a worker sleeps until shortly before the next start and polls from then on; it handles answers that come
//! meanwhile at once. The polling time follows from recent wake-up latencies. Polling takes a processor from other work, perhaps from the
//! server: a worker polls only if starts are scheduled, and for a limited fraction of the time.

/// Maximum polling time before a start, ns: longer than the wake-up latency of idle processors, shorter than delays by other work.
const LONGEST_NS: i64 = super::WAKING_NS as i64;
/// Minimum polling time, ns: a few times the duration of a system call.
const SHORTEST_NS: i64 = 5_000;
/// A thread that wakes up this late waited for other work, which busy-polling cannot prevent, ns.
const WAITED_NS: i64 = 500_000;
/// How fast the busy-poll time shrinks with each earlier wake-up: by the difference divided by this. Slowly, for it is the
/// later ones that count: half of it goes in 44.
const FORGET: i64 = 64;
/// A worker may poll 1 / `MAX_FRACTION` of the time.
const MAX_FRACTION: i64 = 4;
/// Maximum polling time at once, ns.
const CREDIT_NS: i64 = 20 * LONGEST_NS;

/// When a worker busy-polls, and how much it may.
#[derive(Debug)]
pub(super) struct BusyPoll {
    allowed: bool,
    /// How long before a start it begins, ns.
    length: i64,
    /// Remaining polling time, ns, and the time of its last update.
    credit: i64,
    counted: i64,
    /// Processor time that was polled so far, ns.
    polled_ns: u64,
}

impl BusyPoll {
    /// Starts with the longest time. Never polls where it is not `allowed`.
    pub(super) fn new(allowed: bool) -> Self {
        Self { allowed, length: LONGEST_NS, credit: CREDIT_NS, counted: i64::MAX, polled_ns: 0 }
    }

    /// When a worker that is idle at `now` begins to poll for a start at `due`; `None`: it does not poll.
    pub(super) fn begins(&mut self, now: i64, due: i64) -> Option<i64> {
        let since = now.saturating_sub(self.counted).max(0);
        self.credit = self.credit.saturating_add(since / MAX_FRACTION).min(CREDIT_NS);
        self.counted = now;
        (self.allowed && self.credit >= self.length).then(|| due.saturating_sub(self.length))
    }

    /// A sleeping worker woke up `late` ns too late.
    pub(super) fn woken(&mut self, late: i64) {
        if late > WAITED_NS {
            return;
        }
        // An eighth more than the observed latency, because the next one may be worse.
        let wanted = (late + late / 8).clamp(SHORTEST_NS, LONGEST_NS);
        self.length = if wanted > self.length { wanted } else { self.length - (self.length - wanted) / FORGET };
    }

    /// Accounts for `ns` of polling.
    pub(super) fn polled(&mut self, ns: u64) {
        self.credit = self.credit.saturating_sub_unsigned(ns);
        self.polled_ns = self.polled_ns.saturating_add(ns);
    }

    /// Processor time that was polled so far, ns.
    pub(super) fn polled_ns(&self) -> u64 {
        self.polled_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// How long before a start 10 ms from now it begins.
    fn length(busy_poll: &mut BusyPoll) -> i64 {
        10 * MS - busy_poll.begins(0, 10 * MS).unwrap()
    }

    #[test]
    fn it_is_as_long_as_threads_are_woken_late() {
        let mut busy_poll = BusyPoll::new(true);
        assert_eq!(length(&mut busy_poll), LONGEST_NS);
        (0..44).for_each(|_| busy_poll.woken(80_000));
        assert!((135_000..155_000).contains(&length(&mut busy_poll)), "half of the way to 90 µs: {busy_poll:?}");
        busy_poll.woken(160_000);
        assert_eq!(length(&mut busy_poll), 180_000, "at once");
        busy_poll.woken(170_000_000);
        assert_eq!(length(&mut busy_poll), 180_000, "somebody else's work");
        busy_poll.woken(WAITED_NS);
        assert_eq!(length(&mut busy_poll), LONGEST_NS);
        (0..4_000).for_each(|_| busy_poll.woken(0));
        assert!((SHORTEST_NS..SHORTEST_NS + FORGET).contains(&length(&mut busy_poll)), "{busy_poll:?}");
    }

    #[test]
    fn it_takes_its_fraction_of_the_time_and_no_more() {
        let mut busy_poll = BusyPoll::new(true);
        // A start every 100 µs, and all of the time until then polled, where that may be.
        let polled: i64 = (0..100_000)
            .map(|n| {
                let (now, due) = (n * 100_000, (n + 1) * 100_000);
                let polls = busy_poll.begins(now, due).map_or(0, |begins| due - begins.max(now));
                busy_poll.polled(polls.unsigned_abs());
                polls
            })
            .sum();
        let (time, most) = (10_000 * MS, 10_000 * MS / MAX_FRACTION + CREDIT_NS);
        assert!(polled <= most && polled > most - time / 100, "{polled} of {time} ns");
        assert_eq!(busy_poll.polled_ns(), polled.unsigned_abs());
    }

    #[test]
    fn where_it_is_not_allowed_there_is_none() {
        assert_eq!(BusyPoll::new(false).begins(0, MS), None);
    }
}
