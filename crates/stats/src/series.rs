//! Throughput over time.

use plimsoll_model::{Operation, Transaction, add_fields};
use serde::{Deserialize, Serialize};

use crate::accumulator::Sample;
use crate::bins::{Bins, Cell};
use crate::state::Counter;

/// Most bins of a series.
pub const MAX_SERIES_BINS: usize = 600;

/// Throughput in equal bins of time; an operation counts where its answer ended. Those without an answer are not here.
pub type Series = Bins<SeriesCell>;

/// One bin of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesCell {
    /// Operations that ended in the bin.
    pub operations: u64,
    /// Errors among them.
    pub errors: u64,
    /// File data read, bytes.
    pub read_bytes: u64,
    /// File data written, bytes.
    pub write_bytes: u64,
    /// Operations that moved an unknown amount of file data.
    pub payload_unknown: u64,
    /// Operations with a response time that is not negative.
    pub timed: u64,
    /// Sum of their response times, ns.
    pub response_sum_ns: u128,
}

impl SeriesCell {
    /// Mean response time, ns.
    pub fn response_mean_ns(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.response_sum_ns as f64 / self.timed as f64)
    }

    #[inline]
    pub(crate) fn record(&mut self, t: &Transaction, measured: &Sample) {
        self.operations += 1;
        self.errors += u64::from(t.outcome.is_error());
        if let Some(bytes) = t.moved_bytes() {
            match t.procedure.row().operation {
                Operation::Read => self.read_bytes = self.read_bytes.saturating_add(bytes),
                Operation::Write => self.write_bytes = self.write_bytes.saturating_add(bytes),
                _ => {}
            }
        } else {
            self.payload_unknown += u64::from(t.has_unknown_payload());
        }
        if let Some(ns) = measured.headline_ns() {
            self.timed += 1;
            self.response_sum_ns += u128::from(ns);
        }
    }
}

impl Cell for SeriesCell {
    fn absorb(&mut self, other: &Self) {
        add_fields!(self, other; all
            operations, errors, read_bytes, write_bytes, payload_unknown, timed, response_sum_ns
        );
    }
}

crate::state::fields!("cell of a series"; SeriesCell { operations, errors, read_bytes, write_bytes, payload_unknown, timed, response_sum_ns }
    if |cell| Counter::all(&[cell.operations, cell.errors, cell.payload_unknown, cell.timed]) && Counter::sum(cell.response_sum_ns));
