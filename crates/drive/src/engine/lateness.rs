//! Effect of the generator's own lateness on the measured times (docs/decisions/0017-lateness.md).
//!
//! If the kernel had an answer and the thread read it much later because it had no processor, the response time contains the generator's
//! delay; the same is true, from the intended start on, for a planned start that is late. Both delays are known for every request. So
//! each time is recorded twice, as measured and without the delay: the difference of the two distributions shows the error.

use plimsoll_stats::Times;
use serde::{Deserialize, Serialize};

use super::encoded;

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
    #[serde(with = "encoded::times")]
    pub measured: Times,
    /// The same times without the generator's delay.
    #[serde(with = "encoded::times")]
    pub on_time: Times,
}

impl Shifted {
    /// Adds a time that includes `late` ns of the generator's delay.
    pub(crate) fn record(&mut self, measured: i64, late: u64) {
        if measured >= 0 {
            self.measured.record(measured);
            self.on_time.record(measured.saturating_sub(i64::try_from(late).unwrap_or(i64::MAX)).max(0));
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_kept_with_and_without_what_was_late() {
        assert_eq!([-5, 0, 200_000, 200_001, i64::MAX].map(beyond_waking), [0, 0, 0, 1, i64::MAX as u64 - 200_000]);
        let mut shifted = Shifted::default();
        shifted.record(1_000, 0);
        shifted.record(9_000, 8_000);
        shifted.record(100, 8_000);
        shifted.record(-1, 0);
        let ends = |of: &Times| (of.moments().count(), of.moments().min_ns(), of.moments().max_ns());
        assert_eq!(ends(&shifted.measured), (3, Some(100), Some(9_000)));
        assert_eq!(ends(&shifted.on_time), (3, Some(0), Some(1_000)));
    }
}
