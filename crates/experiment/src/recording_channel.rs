//! A recording of a load level, written by a separate thread: the load workers pass on their data and do not wait for the disk.

mod checkpoint_intervals;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::Context;
use plimsoll_drive::engine::Part;
use plimsoll_model::{Names, Transaction};
use plimsoll_recording::folder::{Finished, LevelWriter, Packer, Rows, Sample};
use plimsoll_results::record::{CHECK_INTERVAL, LATE_NS};
use plimsoll_stats::{Headline, Interval, IntervalRecorder, IntervalWidth, Intervals, SharedDepth, Statistics};

use checkpoint_intervals::CheckpointIntervals;

/// Transactions handed over together: 256 KiB.
const ROWS_PER_BATCH: usize = 4096;
/// Maximum number of batches that wait for the disk: about 8 MiB. Beyond it workers wait, too; nothing is lost.
const MAX_QUEUED_BATCHES: usize = 32;

/// A worker's message.
enum Batch {
    Rows(Rows),
    Intervals(usize, Vec<Interval>),
    Rest(Box<Intervals>),
    Spans(Vec<(i64, i64)>),
    Checkpoint(usize, Box<WorkerCheckpoint>, Option<Intervals>),
}

/// A worker's measurements so far.
pub struct WorkerCheckpoint {
    /// Its statistics.
    pub statistics: Statistics,
    /// The engine's counts.
    pub part: Part,
}

/// Makes a recording's description of a level from the data of all workers. Includes intervals if they are needed.
pub(crate) type DescribeLevel =
    Box<dyn Fn(&mut dyn Iterator<Item = &WorkerCheckpoint>, Option<Intervals>) -> anyhow::Result<Finished> + Send>;

/// A level being fed.
pub struct RecordingChannel {
    sender: SyncSender<Batch>,
    thread: JoinHandle<LevelWriter>,
    sample: Sample,
    width: Option<IntervalWidth>,
    headline: Headline,
    senders: Arc<AtomicUsize>,
    /// Checkpoints bring numbers by time.
    with_intervals: bool,
}

/// A worker's end.
pub struct RecordingSender {
    sender: SyncSender<Batch>,
    sample: Sample,
    packer: Packer,
    intervals: IntervalRecorder,
    since: u32,
    number: usize,
    with_intervals: bool,
}

impl RecordingChannel {
    /// Begins to write intervals of `width`, which is `None` where the level's length is not known, with the response time
    /// that leads. Checkpoints bring numbers `by_time` where that is known.
    pub fn begin(
        level: LevelWriter,
        sample: Sample,
        (width, headline, with_intervals): (Option<IntervalWidth>, Headline, bool),
        names: &Arc<Names>,
        describe: DescribeLevel,
    ) -> anyhow::Result<Self> {
        let (sender, receiver) = sync_channel(MAX_QUEUED_BATCHES);
        let (names, senders) = (Arc::clone(names), Arc::new(AtomicUsize::new(0)));
        let with_intervals = with_intervals && width.is_some();
        let intervals = width.filter(|_| with_intervals).map(|width| CheckpointIntervals::new(Intervals::new(width)));
        let checkpoints = Checkpoints::new(Arc::clone(&senders), describe, intervals);
        let write = move || write(level, &receiver, &names, checkpoints);
        let thread = std::thread::Builder::new().name("recording".to_owned()).spawn(write);
        Ok(Self {
            sender,
            thread: thread.context("cannot start the thread that writes the recording")?,
            sample,
            width,
            headline,
            senders,
            with_intervals,
        })
    }

    /// One more worker.
    pub fn sender(&self) -> RecordingSender {
        let number = self.senders.fetch_add(1, Relaxed);
        let packer = Packer::new(number);
        let intervals = IntervalRecorder::new(self.width.map_or_else(Intervals::growing, Intervals::new));
        let intervals = intervals.of(self.headline);
        let (sender, sample, with_intervals) = (self.sender.clone(), self.sample, self.with_intervals);
        RecordingSender { sender, sample, packer, intervals, since: 0, number, with_intervals }
    }

    /// The queue depth that the workers share, of a part of a run: the recording gets all that it is made from.
    pub fn depth(&self) -> SharedDepth {
        let sender = self.sender.clone();
        SharedDepth::copied_to(move |spans| {
            // As with rows: if the thread has ended, `end` reports this.
            let _ = sender.send(Batch::Spans(spans.to_vec()));
        })
    }

    /// All workers have finished, and the depth is gone.
    pub fn end(self) -> anyhow::Result<LevelWriter> {
        drop(self.sender);
        self.thread.join().map_err(|_| anyhow::anyhow!("the thread that writes the recording failed"))
    }
}

fn write(
    mut level: LevelWriter,
    batches: &Receiver<Batch>,
    names: &Names,
    mut checkpoints: Checkpoints,
) -> LevelWriter {
    for batch in batches {
        match batch {
            Batch::Rows(rows) => level.rows(rows, names),
            Batch::Intervals(worker, finished) => {
                checkpoints.ended(worker, &finished);
                level.intervals(finished);
            }
            Batch::Rest(rest) => level.rest(&rest),
            Batch::Spans(spans) => level.spans(&spans),
            Batch::Checkpoint(worker, so_far, open) => checkpoints.take(worker, (so_far, open), &mut level),
        }
    }
    level
}

/// The last checkpoint of each worker.
struct Checkpoints {
    senders: Arc<AtomicUsize>,
    describe: DescribeLevel,
    latest: BTreeMap<usize, Box<WorkerCheckpoint>>,
    /// Workers whose last one was not written.
    fresh: BTreeSet<usize>,
    /// Where they are wanted.
    intervals: Option<CheckpointIntervals>,
}

impl Checkpoints {
    fn new(senders: Arc<AtomicUsize>, describe: DescribeLevel, intervals: Option<CheckpointIntervals>) -> Self {
        Self { senders, describe, latest: BTreeMap::new(), fresh: BTreeSet::new(), intervals }
    }

    fn ended(&mut self, worker: usize, intervals: &[Interval]) {
        if let Some(so_far) = &mut self.intervals {
            so_far.ended(worker, intervals);
        }
    }

    /// Once all workers have sent a checkpoint, they are written together. A worker that is stuck in a call does not delay the others:
    /// their second checkpoint is written with its last one.
    fn take(
        &mut self,
        worker: usize,
        (so_far, open): (Box<WorkerCheckpoint>, Option<Intervals>),
        level: &mut LevelWriter,
    ) {
        if let Some((intervals, open)) = self.intervals.as_mut().zip(open) {
            intervals.checkpoint(worker, open);
        }
        let again = !self.fresh.insert(worker);
        self.latest.insert(worker, so_far);
        if again || self.fresh.len() >= self.senders.load(Relaxed) {
            self.fresh.clear();
            let mut all = self.latest.values().map(|so_far| &**so_far);
            let intervals = self.intervals.as_ref().map(CheckpointIntervals::whole);
            level.progress((self.describe)(&mut all, intervals).map_err(Into::into));
        }
    }
}

impl RecordingSender {
    /// Sends the data so far. If the disk is so slow that this would wait, the checkpoint is skipped.
    pub fn checkpoint(&self, statistics: Statistics, part: Part) {
        let open = self.with_intervals.then(|| self.intervals.clone().finish());
        let _ =
            self.sender.try_send(Batch::Checkpoint(self.number, Box::new(WorkerCheckpoint { statistics, part }), open));
    }

    /// Takes a transaction of the measured phase.
    #[inline]
    pub fn record(&mut self, t: &Transaction) {
        self.intervals.record(t);
        if self.sample.keeps(t) && self.packer.push(t) >= ROWS_PER_BATCH {
            let rows = self.packer.take();
            self.send(Batch::Rows(rows));
        }
        self.since += 1;
        if self.since >= CHECK_INTERVAL {
            self.check(t.timeline.response_last);
        }
    }

    #[cold]
    fn check(&mut self, end: Option<i64>) {
        let Some(end) = end else { return };
        self.since = 0;
        let finished = self.intervals.drain_before(end.saturating_sub(LATE_NS));
        if !finished.is_empty() {
            self.send(Batch::Intervals(self.number, finished));
        }
    }

    /// All that is left.
    pub fn finish(mut self) {
        let rows = self.packer.take();
        self.send(Batch::Rows(rows));
        let none = IntervalRecorder::new(Intervals::growing());
        let rest = std::mem::replace(&mut self.intervals, none).finish();
        self.send(Batch::Rest(Box::new(rest)));
    }

    /// The thread takes batches until the last sender is dropped; if the thread has ended, [`RecordingChannel::end`] reports this.
    fn send(&self, batch: Batch) {
        let _ = self.sender.send(batch);
    }
}
