//! The last minutes, second by second, for a live view.
//!
//! [`Recent`] is a sink of bounded memory. Its seconds have the numbers of [`Intervals`](crate::Intervals), so a second shows the same as
//! a report of that second. In addition it has the waits by client, share, operation and path at once ([`Cells`]), to look at any part of
//! them, and the number of outstanding requests.
//!
//! No code here reads a clock: callers pass the time to [`Recent::advance`].
//!
//! A new number goes here, then to `report::live`: `moment.rs` (and `assets/live*.js`) for the browser page, the other files for terminals.
//! The `live` crate has the keys (`view.rs`) and the HTTP server. In a run, each load thread fills a [`LivePart`], and [`Totals`] has the
//! sums for `--metrics`.

mod cells;
mod exemplars;
mod key_sums;
mod losses;
mod part;
mod second;
mod selection;
mod sum;
#[cfg(test)]
mod tests;
mod totals;
mod waiting;

use plimsoll_model::{Names, Sink, Transaction};

pub use cells::{Cells, Place};
pub use exemplars::{Exemplar, Exemplars};
pub use key_sums::{KeySums, SumsByKey};
pub use losses::{InterfaceState, LiveLosses};
pub use part::{KEPT_SECONDS, LivePart};
pub use second::Second;
pub use selection::{LIVE_DIMENSIONS, LiveRow, LiveTable, Selected, live_dimension};
pub use sum::LiveSum;
pub use totals::{MAX_TOTAL_KEYS, TOTAL_DIMENSIONS, Totals};
pub use waiting::{Wait, WaitingNow};

use crate::{Headline, Key};
use part::Seconds;
use second::SECOND_NS;

/// Seconds for which more may come, as transactions end nearly in order.
const OPEN_SECONDS: i64 = 2;

/// The last [`KEPT_SECONDS`] seconds.
#[derive(Clone, Debug)]
pub struct Recent {
    /// Recorded data of seconds that are not over.
    part: LivePart,
    seconds: Seconds,
}

impl Default for Recent {
    fn default() -> Self {
        Self::new()
    }
}

impl Recent {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { part: LivePart::new(Headline::Response), seconds: Seconds::default() }
    }

    /// Sets the current time, ns since the Unix epoch: all earlier seconds exist from now on, with or without traffic.
    pub fn advance(&mut self, now_ns: i64) {
        let now = now_ns.div_euclid(SECOND_NS);
        for second in self.part.take_before(now_ns) {
            self.merge(second);
        }
        self.seconds.at(now.saturating_mul(SECOND_NS));
        let ended = self.seconds.iter_mut().filter(|second| second.number() <= now - OPEN_SECONDS);
        ended.for_each(|second| second.cells.fold());
    }

    /// Adds a second, or a part of one, that was recorded elsewhere. Drops it if it is older than the first stored second.
    pub fn merge(&mut self, part: Second) {
        if self.seconds.first().is_some_and(|first| part.number() < first) {
            return;
        }
        if let Some(second) = self.seconds.at(part.start_ns()) {
            second.merge(part);
        }
    }

    /// Notes the requests that wait now, after [`Recent::advance`]: the queue depth of the seconds that are over contains them, until the
    /// next call. A second also remembers how many waited when it was first noted as over. While the interface was down, nobody knows who
    /// waited: [`Recent::miss`] comes first.
    pub fn wait(&mut self, waiting: &WaitingNow, over_ns: i64) {
        for second in self.seconds.iter_mut() {
            second.waiting_ns = if second.interface_down { 0 } else { waiting.in_second(second.number()) };
            let end_ns = second.start_ns().saturating_add(SECOND_NS);
            if end_ns <= over_ns && !second.is_noted {
                let waited = waiting.before(end_ns).filter(|_| !second.interface_down);
                (second.is_noted, second.waited) = (true, waited);
            }
        }
    }

    /// The clock of the capture was set back to this time, ns since the Unix epoch: what came after it is dropped.
    pub fn back_to(&mut self, ns: i64) {
        let mut before = std::mem::replace(&mut self.part, LivePart::new(Headline::Response));
        before.take_before(i64::MAX).into_iter().for_each(|second| self.merge(second));
        self.seconds.drop_after(ns);
    }

    /// The capture lost packets between two instants. Their times are not known: each second gets a part in proportion to its time between
    /// these instants, and at least one packet as long as there are enough.
    pub fn lose(&mut self, (from_ns, to_ns): (i64, i64), packets: u64) {
        let to_ns = to_ns.max(from_ns);
        // First, because a stored second ends all earlier ones.
        self.advance(to_ns);
        let last = to_ns.div_euclid(SECOND_NS);
        let first = from_ns.div_euclid(SECOND_NS).max(last.saturating_sub(KEPT_SECONDS as i64 - 1));
        let start_ns = from_ns.max(first.saturating_mul(SECOND_NS));
        let spread = packets.saturating_sub(last.abs_diff(first) + 1);
        let mut given = 0;
        for (number, at_least) in (first..=last).zip(1..) {
            let end_ns = (number + 1).saturating_mul(SECOND_NS).min(to_ns);
            let share = end_ns.abs_diff(start_ns) as f64 / to_ns.abs_diff(start_ns).max(1) as f64;
            let so_far = (at_least + (spread as f64 * share) as u64).min(packets);
            let so_far = if number == last { packets } else { so_far };
            if let Some(second) = self.seconds.at(number.saturating_mul(SECOND_NS)) {
                second.lost_packets += so_far - given;
            }
            given = so_far;
        }
    }

    /// Nothing was captured between two instants: the interface was down.
    pub fn miss(&mut self, (from_ns, to_ns): (i64, i64)) {
        let to_ns = to_ns.max(from_ns);
        self.advance(to_ns);
        let last = to_ns.div_euclid(SECOND_NS);
        let first = from_ns.div_euclid(SECOND_NS).max(last.saturating_sub(KEPT_SECONDS as i64 - 1));
        for number in first..=last {
            if let Some(second) = self.seconds.at(number.saturating_mul(SECOND_NS)) {
                second.interface_down = true;
            }
        }
    }

    /// The seconds, without gaps. Those after [`Recent::advance`]'s time are incomplete.
    pub fn seconds(&self) -> impl DoubleEndedIterator<Item = &Second> + ExactSizeIterator {
        self.seconds.iter()
    }

    /// The second of an instant.
    pub fn second(&self, ns: i64) -> Option<&Second> {
        self.seconds.get(ns)
    }

    /// What clients waited for in the seconds that begin from `from_ns` on and before `to_ns`, where all of `within` holds, by one of
    /// [`LIVE_DIMENSIONS`].
    pub fn table(&self, (from_ns, to_ns): (i64, i64), within: &[Key], by: crate::Dimension) -> LiveTable {
        let seconds = self.seconds.iter().filter(|second| (from_ns..to_ns).contains(&second.start_ns()));
        LiveTable::of(seconds, within, by)
    }
}

impl Sink for Recent {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        self.part.record(transaction);
    }
}
