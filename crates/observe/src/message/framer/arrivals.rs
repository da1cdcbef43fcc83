//! When the packets of a message arrived, and how long it waited for those that filled gaps.

use serde::{Deserialize, Serialize};

use crate::packet::Stamp;

/// When the packets of the message under way arrived.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Arrivals {
    /// The latest of all.
    pub(super) latest: Option<Stamp>,
    /// The latest of those that filled no gap, ns.
    in_order_ns: Option<i64>,
    /// The earliest instant at which one of its gaps showed, ns.
    gap_seen_ns: Option<i64>,
    /// Bytes of it were not seen.
    pub(super) incomplete: bool,
}

impl Arrivals {
    pub(super) fn add(&mut self, stamp: Stamp, gap_seen_ns: Option<i64>) {
        let is_later = |latest: Stamp| (stamp.time_ns, stamp.frame) > (latest.time_ns, latest.frame);
        if self.latest.is_none_or(is_later) {
            self.latest = Some(stamp);
        }
        match gap_seen_ns {
            None => self.in_order_ns = self.in_order_ns.max(Some(stamp.time_ns)),
            Some(seen) => self.gap_seen_ns = Some(self.gap_seen_ns.map_or(seen, |before| before.min(seen))),
        }
    }

    /// How long the other bytes of the message waited for retransmitted bytes; if all bytes were retransmitted, the time since the gap
    /// appeared.
    pub(super) fn resent_wait_ns(&self) -> Option<u64> {
        let Some(gap_seen_ns) = self.gap_seen_ns else { return (!self.incomplete).then_some(0) };
        let since = self.in_order_ns.unwrap_or(gap_seen_ns);
        self.latest.filter(|_| !self.incomplete).map(|latest| wait(since, latest.time_ns))
    }
}

/// From one instant to another, ns; 0 where the clock went back.
pub(super) fn wait(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}
