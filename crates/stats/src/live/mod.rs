//! The last minutes, second by second, for a live view.
//!
//! [`Recent`] is a sink of bounded memory. Its seconds have the numbers of [`Intervals`], so a second shows what a report
//! of that second says. Beside them it has what clients waited for by client, share, operation and path at once ([`Cells`]), to look at any
//! part of it, and how many requests were outstanding.
//!
//! Nobody here reads a clock: [`Recent::advance`] is told the time.

mod cells;
mod losses;
mod second;
mod selection;
#[cfg(test)]
mod tests;
mod totals;

use std::collections::VecDeque;

use plimsoll_model::{Names, Outcome, Procedure, Sink, Transaction};

pub use cells::{Cells, Place};
pub use losses::LiveLosses;
pub use second::Second;
pub use selection::{LIVE_DIMENSIONS, LiveRow, LiveSum, LiveTable};
pub use totals::{MAX_TOTAL_KEYS, TOTAL_DIMENSIONS, Totals};

use crate::{Headline, Interval, IntervalRecorder, IntervalWidth, Intervals, Key};

/// Seconds that are kept: five minutes.
pub const KEPT_SECONDS: usize = 300;
const SECOND_NS: i64 = 1_000_000_000;
/// Seconds for which more may come, as transactions end nearly in order.
const OPEN_SECONDS: i64 = 2;

/// The last [`KEPT_SECONDS`] seconds.
#[derive(Clone, Debug)]
pub struct Recent {
    recorder: IntervalRecorder,
    /// Each one second after the one before.
    seconds: VecDeque<Second>,
    write_raw_async: Procedure,
}

impl Default for Recent {
    fn default() -> Self {
        Self::new()
    }
}

impl Recent {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            recorder: IntervalRecorder::new(Intervals::new(IntervalWidth::USUAL)),
            seconds: VecDeque::new(),
            write_raw_async: Procedure::write_raw_async(),
        }
    }

    /// Time has come so far, ns since the Unix epoch: seconds before are there, with or without traffic.
    pub fn advance(&mut self, now_ns: i64) {
        let now = now_ns.div_euclid(SECOND_NS);
        for interval in self.recorder.drain_before(now.saturating_mul(SECOND_NS)) {
            if let Some(second) = self.second_at(interval.start_ns()) {
                second.add(&interval);
            }
        }
        self.second_at(now.saturating_mul(SECOND_NS));
        let ended = self.seconds.iter_mut().filter(|second| second.number() <= now - OPEN_SECONDS);
        ended.for_each(|second| second.cells.fold());
    }

    /// Packets that the capture lost at this time.
    pub fn lose(&mut self, at_ns: i64, packets: u64) {
        if let Some(second) = self.second_at(at_ns) {
            second.lost_packets += packets;
        }
    }

    /// The seconds, each one second after the one before. Those that [`Recent::advance`] has not reached are not complete.
    pub fn seconds(&self) -> impl DoubleEndedIterator<Item = &Second> + ExactSizeIterator {
        self.seconds.iter()
    }

    /// The second of an instant.
    pub fn second(&self, ns: i64) -> Option<&Second> {
        let first = self.seconds.front()?.number();
        self.seconds.get(usize::try_from(ns.div_euclid(SECOND_NS).checked_sub(first)?).ok()?)
    }

    /// What clients waited for in the seconds that begin from `from_ns` on and before `to_ns`, where all of `within` holds, by one of
    /// [`LIVE_DIMENSIONS`].
    pub fn table(&self, (from_ns, to_ns): (i64, i64), within: &[Key], by: crate::Dimension) -> LiveTable {
        let seconds = self.seconds.iter().filter(|second| (from_ns..to_ns).contains(&second.start_ns()));
        selection::table(seconds, within, by)
    }

    /// The second of an instant, made where it is later than all others; `None` where it is too old, or so far away that nothing before
    /// it is recent.
    fn second_at(&mut self, ns: i64) -> Option<&mut Second> {
        let number = ns.div_euclid(SECOND_NS);
        let last = self.seconds.back().map_or(number - 1, Second::number);
        if number.abs_diff(last) > KEPT_SECONDS as u64 && number > last {
            self.seconds.clear();
        }
        let next = self.seconds.back().map_or(number, |second| second.number() + 1);
        self.seconds.extend((next..=number).map(Second::new));
        let too_many = self.seconds.len().saturating_sub(KEPT_SECONDS);
        self.seconds.drain(..too_many);
        let place = number.checked_sub(self.seconds.front()?.number())?;
        self.seconds.get_mut(usize::try_from(place).ok()?)
    }

    fn record(&mut self, t: &Transaction) {
        self.recorder.record(t);
        let is_left_out = t.procedure == self.write_raw_async || t.long_lived || !t.counted;
        if is_left_out || t.outcome == Outcome::NeverSent {
            return;
        }
        let Some(end) = t.timeline.response_last.or(t.timeline.request_first) else { return };
        let response_ns = Headline::Response.of(&t.timeline).and_then(|ns| u64::try_from(ns).ok());
        if let Some(second) = self.second_at(end) {
            second.cells.record(t, response_ns);
        }
        if let (Some(start), Some(response_ns)) = (t.timeline.request_first, response_ns) {
            self.outstanding(start, start.saturating_add_unsigned(response_ns));
        }
    }

    /// A request was outstanding from `start` to `end`.
    fn outstanding(&mut self, start: i64, end: i64) {
        let Some(first) = self.seconds.front().map(Second::start_ns) else { return };
        let mut from = start.max(first);
        while from < end {
            let until = from.div_euclid(SECOND_NS).saturating_add(1).saturating_mul(SECOND_NS).min(end);
            let Some(second) = self.second_at(from) else { return };
            second.outstanding_ns += until.abs_diff(from);
            from = until;
        }
    }
}

impl Sink for Recent {
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        self.record(transaction);
    }
}

/// An empty interval of one second.
fn empty(number: i64) -> Interval {
    Interval::at(number.saturating_mul(SECOND_NS), IntervalWidth::USUAL)
}
