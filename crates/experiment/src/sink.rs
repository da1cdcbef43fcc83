//! The sinks of a run's transactions: statistics and intervals of the measured phase, its recording, and the table of all transactions.

use std::sync::{Arc, Mutex};

use plimsoll_drive::engine::{Part, Plan};
use plimsoll_model::{Names, Sink, Transaction};
use plimsoll_recording::TransactionsFile;
use plimsoll_stats::io::Limits;
use plimsoll_stats::{Dimensions, IntervalRecorder, Intervals, Options, SharedDepth, Statistics};

use crate::level::{empty, headline};
use crate::live::{LiveFeed, LiveSender};
use crate::recording_channel::{RecordingChannel, RecordingSender};

/// Rows that a worker collects before it takes the table's lock: about 200 KiB.
const ROWS: usize = 512;

/// The transactions table, shared by the workers of all levels.
pub type Table = Arc<Mutex<TransactionsFile>>;

/// Outputs of a level besides its statistics.
#[derive(Clone, Copy)]
pub struct SinkOptions<'a> {
    /// Everything, in a table.
    pub table: Option<&'a Table>,
    /// The recording of the measured phase, which has separate intervals.
    pub recording: Option<&'a RecordingChannel>,
    /// The measured phase by time, for a comparison at once.
    pub with_intervals: bool,
    /// All phases, for the live view.
    pub live: Option<&'a LiveFeed>,
    /// The dimensions of the statistics' breakdown.
    pub by: Option<Dimensions>,
}

impl SinkOptions<'_> {
    /// The queue depth that all workers share.
    pub(crate) fn depth(&self, plan: &Plan) -> SharedDepth {
        match self.recording {
            Some(recording) if plan.part.is_some() => recording.depth(),
            _ => SharedDepth::default(),
        }
    }
}

/// One worker's sink.
pub(crate) struct MeasuringSink {
    /// Of the measured phase alone.
    pub statistics: Statistics,
    intervals: Option<IntervalRecorder>,
    table: Option<(Table, Vec<Transaction>)>,
    /// Of the measured phase alone.
    recording: Option<RecordingSender>,
    live: Option<LiveSender>,
}

impl MeasuringSink {
    /// An empty one for a plan; `depth` is what all workers of the level share.
    pub(crate) fn new(options: SinkOptions<'_>, depth: &SharedDepth, plan: &Plan) -> Self {
        let headline = headline(plan);
        // As many as of the whole load, so that parts forget what one process forgets.
        let io = Some(Limits::of_load(plan.whole().connections_in_all()));
        let table = options.table.map(|table| (Arc::clone(table), Vec::with_capacity(ROWS)));
        let intervals = options.with_intervals.then(|| IntervalRecorder::new(empty(plan)).of(headline));
        let statistics =
            Statistics::beside_others(Options { headline, io, by: options.by, ..Options::default() }, depth);
        let recording = options.recording.map(RecordingChannel::sender);
        let live = options.live.map(|live| live.sender(headline));
        Self { statistics, intervals, table, recording, live }
    }

    /// The results, after collected rows were written to the table and the recording.
    pub(crate) fn finish(mut self, names: &Names) -> (Statistics, Option<Intervals>) {
        self.flush(names);
        if let Some(recording) = self.recording {
            recording.finish();
        }
        (self.statistics.without_feed(), self.intervals.map(IntervalRecorder::finish))
    }

    /// The results if the phase had ended now.
    #[cfg(test)]
    pub(super) fn so_far(&self) -> (Statistics, Option<Intervals>) {
        (self.statistics.so_far(), self.intervals.clone().map(IntervalRecorder::finish))
    }

    /// Passes the data so far to the recording and the live view.
    pub(crate) fn checkpoint(&mut self, part: Part) {
        if let Some(live) = &self.live {
            live.checkpoint(part.clone());
        }
        if let Some(recording) = &self.recording {
            recording.checkpoint(self.statistics.so_far(), part);
        }
    }

    #[cold]
    fn flush(&mut self, names: &Names) {
        if let Some((table, rows)) = &mut self.table {
            // A worker that panicked while it held the table has ended the run already.
            let mut table = table.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            table.transactions(rows.iter(), names);
            rows.clear();
        }
    }
}

impl Sink for MeasuringSink {
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        if transaction.level.is_some() {
            self.statistics.record(transaction);
            if let Some(intervals) = &mut self.intervals {
                intervals.record(transaction);
            }
            if let Some(recording) = &mut self.recording {
                recording.record(transaction);
            }
        } else {
            self.statistics.record_outside(transaction);
        }
        if let Some(live) = &mut self.live {
            live.transaction(transaction, names);
        }
        if let Some((_, rows)) = &mut self.table {
            rows.push(transaction.clone());
            if rows.len() == ROWS {
                self.flush(names);
            }
        }
    }
}
