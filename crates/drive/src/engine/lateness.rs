//! Effect of the generator's own lateness on the measured times (docs/decisions/0017-lateness.md).
//!
//! If the kernel had an answer and the thread read it much later because it had no processor, the response time contains the generator's
//! delay; the same is true, from the intended start on, for an intended start that is late. Both delays are known for every request. So
//! there are two distributions, as measured and without the delay: their difference shows the error. A time without delay is recorded once,
//! and belongs to both.

use plimsoll_stats::{Times, TimesRecorder};
use serde::{Deserialize, Serialize};

/// Maximum normal wake-up latency of a thread on an idle processor, ns: 50 to 160 µs on the virtual machine of docs/performance.md. Every
/// client has it; a longer delay is caused by other work.
pub const WAKING_NS: u64 = 200_000;

/// The part of a delay beyond the wake-up latency, ns.
pub(crate) fn beyond_waking(delay: i64) -> u64 {
    u64::try_from(delay).unwrap_or(0).saturating_sub(WAKING_NS)
}

/// Times as they were measured, and without the generator's lateness, ns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Shifted {
    /// As measured.
    pub measured: Times,
    /// The same times without the generator's delay.
    pub on_time: Times,
}

impl Shifted {
    fn merge(&mut self, other: &Shifted) {
        self.measured.merge(&other.measured);
        self.on_time.merge(&other.on_time);
    }
}

/// The generator's lateness in the measured phase, for user requests. Lateness is the delay beyond [`WAKING_NS`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lateness {
    /// Response times: the generator read the answer late.
    pub response: Shifted,
    /// Response times from the intended start: it started late as well. Of schedules alone.
    pub from_intended: Shifted,
    /// Answers without a kernel timestamp, whose delay is unknown.
    pub unstamped: u64,
    /// Requests that it was late for.
    pub requests: u64,
    /// How long actions stood still because it started them or read their answers late, ns.
    pub lost_ns: u64,
}

impl Lateness {
    /// Adds the lateness of another worker.
    pub(super) fn merge(&mut self, other: &Lateness) {
        self.response.merge(&other.response);
        self.from_intended.merge(&other.from_intended);
        self.unstamped += other.unstamped;
        self.requests += other.requests;
        self.lost_ns = self.lost_ns.saturating_add(other.lost_ns);
    }
}

/// Records [`Shifted`]. Most times are the same without the generator's delay, because it caused none: these are recorded once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShiftedRecorder {
    /// Times without a delay, which are in both distributions.
    same: TimesRecorder,
    /// The others.
    late: Shifted,
}

impl ShiftedRecorder {
    /// Adds a time that includes `late` ns of the generator's delay.
    #[inline]
    pub(crate) fn record(&mut self, measured: i64, late: u64) {
        if measured < 0 {
            return;
        }
        if late == 0 {
            return self.same.record(measured);
        }
        self.late.measured.record(measured);
        self.late.on_time.record(measured.saturating_sub(i64::try_from(late).unwrap_or(i64::MAX)).max(0));
    }

    fn so_far(&self) -> Shifted {
        let mut measured = self.same.times();
        let mut on_time = measured.clone();
        measured.merge(&self.late.measured);
        on_time.merge(&self.late.on_time);
        Shifted { measured, on_time }
    }
}

/// Records [`Lateness`].
#[derive(Clone, Debug, Default)]
pub(crate) struct LatenessRecorder {
    pub(crate) response: ShiftedRecorder,
    pub(crate) from_intended: ShiftedRecorder,
    unstamped: u64,
    requests: u64,
    lost_ns: u64,
}

impl LatenessRecorder {
    /// Counts an answered request that the generator delayed by `late` ns; whether its answer has a kernel timestamp.
    #[inline]
    pub(crate) fn count(&mut self, stamped: bool, late: u64) {
        self.unstamped += u64::from(!stamped);
        self.requests += u64::from(late > 0);
    }

    /// An action stood still for so long, ns.
    #[inline]
    pub(crate) fn lose(&mut self, ns: u64) {
        self.lost_ns = self.lost_ns.saturating_add(ns);
    }

    /// All until now.
    pub(crate) fn so_far(&self) -> Lateness {
        Lateness {
            response: self.response.so_far(),
            from_intended: self.from_intended.so_far(),
            unstamped: self.unstamped,
            requests: self.requests,
            lost_ns: self.lost_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_kept_with_and_without_what_was_late() {
        assert_eq!([-5, 0, 200_000, 200_001, i64::MAX].map(beyond_waking), [0, 0, 0, 1, i64::MAX as u64 - 200_000]);
        let mut shifted = ShiftedRecorder::default();
        shifted.record(1_000, 0);
        shifted.record(9_000, 8_000);
        shifted.record(100, 8_000);
        shifted.record(-1, 0);
        let shifted = shifted.so_far();
        let ends = |of: &Times| (of.moments().count(), of.moments().min_ns(), of.moments().max_ns());
        assert_eq!(ends(&shifted.measured), (3, Some(100), Some(9_000)));
        assert_eq!(ends(&shifted.on_time), (3, Some(0), Some(1_000)));
    }

    #[test]
    fn what_is_recorded_once_is_in_both_distributions() {
        let (mut recorder, mut measured, mut on_time) =
            (ShiftedRecorder::default(), Times::default(), Times::default());
        for n in 0..5_000_i64 {
            let (time, late) = (n * n * 37 % 90_000_000, if n % 7 == 0 { 1_000 * n } else { 0 });
            recorder.record(time, late as u64);
            measured.record(time);
            on_time.record((time - late).max(0));
        }
        let shifted = recorder.so_far();
        assert_eq!(shifted.measured, measured);
        assert_eq!(shifted.on_time, on_time);
        assert_ne!(measured, on_time);
    }
}
