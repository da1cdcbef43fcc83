//! Sums for one key.

use plimsoll_model::{Transaction, add_fields};
use serde::{Deserialize, Serialize};

use crate::accumulator::Sample;
use crate::bins::{Bins, Cell};
use crate::state::Counter;
use crate::{ByteSum, Moments, SparseHistogram, Waiting};

/// Most bins of one key's series: a sparkline and more, small enough to have one for every key.
pub const MAX_KEY_BINS: usize = 64;

/// The numbers of one key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyStats {
    /// Requests.
    pub count: u64,
    /// Answered requests.
    pub answered: u64,
    /// Requests whose answer was not seen.
    pub unanswered: u64,
    /// Answers with a status that is part of ordinary work.
    pub expected: u64,
    /// Requests to which the server said no.
    pub refused: u64,
    /// Requests that trouble kept from being carried out.
    pub failed: u64,
    /// Answers whose status was not seen; they may be errors.
    pub status_unknown: u64,
    /// File data moved.
    pub payload: ByteSum,
    /// Request and response messages.
    pub wire: ByteSum,
    /// How long clients waited for the answers.
    pub waiting: Waiting,
    /// Response times, exact; negative ones are left out.
    pub response: Moments,
    /// Response times for percentiles, ns.
    pub histogram: SparseHistogram,
    /// The same over time; an operation counts where its answer ended.
    pub series: Bins<KeyCell>,
}

/// One bin of a key's series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCell {
    /// Operations that ended in the bin.
    pub operations: u64,
    /// Errors among them.
    pub errors: u64,
    /// Operations with a response time that is not negative.
    pub timed: u64,
    /// Sum of their response times, ns.
    pub response_sum_ns: u64,
    /// How long clients waited, ns.
    pub waited_ns: u64,
}

impl Default for KeyStats {
    fn default() -> Self {
        Self {
            count: 0,
            answered: 0,
            unanswered: 0,
            expected: 0,
            refused: 0,
            failed: 0,
            status_unknown: 0,
            payload: ByteSum::default(),
            wire: ByteSum::default(),
            waiting: Waiting::default(),
            response: Moments::default(),
            histogram: SparseHistogram::default(),
            series: Bins::new(MAX_KEY_BINS),
        }
    }
}

impl KeyStats {
    #[inline]
    pub(super) fn record(&mut self, t: &Transaction, measured: &Sample) {
        use plimsoll_model::Outcome::{Expected, Failed, Refused, Unanswered, Unknown};
        self.count += 1;
        self.unanswered += u64::from(t.outcome == Unanswered);
        self.answered += u64::from(t.outcome != Unanswered && (t.outcome != Failed || t.status.is_some()));
        self.expected += u64::from(t.outcome == Expected);
        self.refused += u64::from(t.outcome == Refused);
        self.failed += u64::from(t.outcome == Failed);
        self.status_unknown += u64::from(t.outcome == Unknown);
        self.payload.add_payload(t);
        self.wire.add_messages(t);
        let waited_ns = measured.headline_ns();
        if let Some(ns) = waited_ns {
            self.response.record(ns);
            self.histogram.record(ns);
            self.waiting.record(t, ns, measured.service_ns());
        }
        if let Some(cell) = t.timeline.response_last.and_then(|end| self.series.at(end)) {
            cell.record(t, waited_ns);
        }
    }

    /// Adds another part of the same data.
    pub fn merge(&mut self, other: &KeyStats) {
        add_fields!(self, other; count, answered, unanswered, expected, refused, failed, status_unknown);
        self.payload.merge(other.payload);
        self.wire.merge(other.wire);
        self.waiting.merge(other.waiting);
        self.response.merge(&other.response);
        self.histogram.merge(&other.histogram);
        self.series.merge(&other.series);
    }

    /// A percentile (0..=100) of the response times, ns, to the histogram's resolution and within the exact extremes.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let (min, max) = (self.response.min_ns()?, self.response.max_ns()?);
        Some(self.histogram.percentile(percentile)?.clamp(min, max))
    }
}

impl KeyCell {
    #[inline]
    fn record(&mut self, t: &Transaction, response_ns: Option<u64>) {
        self.operations += 1;
        self.errors += u64::from(t.outcome.is_error());
        if let Some(ns) = response_ns {
            self.timed += 1;
            // Sums of 584 years are absurd.
            self.response_sum_ns = self.response_sum_ns.saturating_add(ns);
            if Waiting::counts(t) {
                self.waited_ns = self.waited_ns.saturating_add(ns);
            }
        }
    }
}

impl Cell for KeyCell {
    fn absorb(&mut self, other: &Self) {
        add_fields!(self, other; all operations, errors, timed, response_sum_ns, waited_ns);
    }
}

crate::state::fields!("cell of a key's series"; KeyCell { operations, errors, timed, response_sum_ns, waited_ns }
    if |cell| Counter::all(&[cell.operations, cell.errors, cell.timed]));

crate::state::fields!("key's numbers"; KeyStats {
    count, answered, unanswered, expected, refused, failed, payload, wire, response, histogram,
    status_unknown, waiting, series,
} if |stats| {
    let counters = [stats.count, stats.answered, stats.unanswered, stats.expected, stats.refused, stats.failed];
    Counter::all(&counters) && Counter::all(&[stats.status_unknown]) && stats.series.limit() == MAX_KEY_BINS
});
