//! The clock that every instant of a run comes from.

use std::sync::OnceLock;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The monotonic clock, set to the Unix epoch once per process. It never goes back and does not follow later changes of the system time.
/// All clocks of a process show the same time, on any thread.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Anchor);

/// Where the clock starts.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    /// Epoch time − monotonic time, ns.
    ns: i64,
    /// The clock is shared by several machines, so this machine's time of day is unrelated to it.
    is_common: bool,
}

/// Set when the first clock is made.
static ANCHOR: OnceLock<Anchor> = OnceLock::new();
/// Number of readings to compare two clocks; the one with the shortest interruption counts.
const READINGS: u32 = 8;

impl Clock {
    /// The process's clock.
    #[must_use]
    pub fn new() -> Self {
        Self(*ANCHOR.get_or_init(|| Anchor { ns: realtime_ahead(), is_common: false }))
    }

    /// Takes a clock that several machines have in common: so far is it ahead of this machine's monotonic clock, ns. False if the process
    /// has read the time before.
    #[must_use]
    pub fn set_common(ahead_ns: i64) -> bool {
        ANCHOR.set(Anchor { ns: ahead_ns, is_common: true }).is_ok()
    }

    /// Nanoseconds since the Unix epoch.
    #[inline]
    #[must_use]
    pub fn now(&self) -> i64 {
        monotonic().saturating_add(self.0.ns)
    }

    /// How far the system's time of day is ahead of this clock, ns: 0 until it is set, and of a common clock. Takes below 1 µs.
    #[must_use]
    #[cold]
    pub fn drift(&self) -> i64 {
        if self.0.is_common { 0 } else { realtime_ahead() - self.0.ns }
    }

    /// The smallest step that the clock was seen to take, ns: its granularity, or what reading it twice takes.
    #[must_use]
    pub fn granularity(&self) -> u64 {
        let steps = (0..1_000).map(|_| self.now().abs_diff(self.now()));
        steps.filter(|&step| step > 0).min().unwrap_or(1)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// The system's time of day, ns since the Unix epoch.
#[must_use]
pub fn time_of_day() -> i64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// Epoch time − monotonic time, ns.
fn realtime_ahead() -> i64 {
    let reading = |_| {
        let before = monotonic();
        let real = time_of_day();
        let after = monotonic();
        (after - before, real - (before + (after - before) / 2))
    };
    (0..READINGS).map(reading).min().map_or(0, |(_, ahead)| ahead)
}

#[inline]
fn monotonic() -> i64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

#[inline]
fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn it_never_goes_back_and_all_threads_agree() {
        let clock = Clock::new();
        let mut last = clock.now();
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        let elsewhere = std::thread::spawn(|| Clock::new().now()).join().unwrap();
        assert!(elsewhere >= last && elsewhere <= clock.now());
        assert!(clock.granularity() > 0);
    }

    #[test]
    fn it_says_the_time_of_day() {
        let system = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        // A machine may be suspended between the two readings, or its time set: an hour is enough to tell an epoch.
        let apart = Clock::new().now().abs_diff(i64::try_from(system.as_nanos()).unwrap());
        assert!(apart < 3_600_000_000_000, "{apart} ns");
    }
}
