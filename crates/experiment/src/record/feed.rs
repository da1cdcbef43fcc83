//! A recording of a load level, written by a thread of its own: workers that make the load hand over what they have and
//! wait for no disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::Context;
use plimsoll_drive::engine::Part;
use plimsoll_model::{Names, Transaction};
use plimsoll_recording::folder::{Finished, Packer, Rows, Sample, StageWriter};
use plimsoll_stats::{Headline, Interval, IntervalRecorder, IntervalWidth, Intervals, Statistics};

use super::intervals_so_far::IntervalsSoFar;
use super::{LATE_NS, LOOK};

/// Transactions handed over together: 256 KiB.
const ROWS: usize = 4096;
/// Pieces that wait for the disk at the most: some 8 MiB of them. Then workers wait, too; nothing is lost.
const WAITING: usize = 32;

/// What a worker hands over.
enum Piece {
    Rows(Rows),
    Intervals(usize, Vec<Interval>),
    Rest(Box<Intervals>),
    Checkpoint(usize, Box<SoFar>, Option<Intervals>),
}

/// What a worker has measured so far.
pub struct SoFar {
    /// Its statistics.
    pub statistics: Statistics,
    /// What the engine has counted.
    pub part: Part,
}

/// Makes of what all workers have what a recording says of a stage.
/// Numbers by time come with it where they are wanted.
pub type Describe = Box<dyn Fn(&mut dyn Iterator<Item = &SoFar>, Option<Intervals>) -> anyhow::Result<Finished> + Send>;

/// A stage being fed.
pub struct Feed {
    sender: SyncSender<Piece>,
    thread: JoinHandle<StageWriter>,
    sample: Sample,
    width: Option<IntervalWidth>,
    headline: Headline,
    takers: Arc<AtomicUsize>,
    /// Checkpoints bring numbers by time.
    by_time: bool,
}

/// A worker's end.
pub struct Taker {
    sender: SyncSender<Piece>,
    sample: Sample,
    packer: Packer,
    intervals: IntervalRecorder,
    since: u32,
    number: usize,
    by_time: bool,
}

impl Feed {
    /// Begins to write intervals of `width`, which is `None` where the stage's length is not known, with the response time
    /// that leads. Checkpoints bring numbers `by_time` where that is known.
    pub fn begin(
        stage: StageWriter,
        sample: Sample,
        (width, headline, by_time): (Option<IntervalWidth>, Headline, bool),
        names: &Arc<Names>,
        describe: Describe,
    ) -> anyhow::Result<Self> {
        let (sender, receiver) = sync_channel(WAITING);
        let (names, takers) = (Arc::clone(names), Arc::new(AtomicUsize::new(0)));
        let by_time = by_time && width.is_some();
        let intervals = width.filter(|_| by_time).map(|width| IntervalsSoFar::new(Intervals::new(width)));
        let checkpoints = Checkpoints::new(Arc::clone(&takers), describe, intervals);
        let write = move || write(stage, &receiver, &names, checkpoints);
        let thread = std::thread::Builder::new().name("recording".to_owned()).spawn(write);
        Ok(Self {
            sender,
            thread: thread.context("a thread that writes the recording")?,
            sample,
            width,
            headline,
            takers,
            by_time,
        })
    }

    /// One more worker.
    pub fn taker(&self) -> Taker {
        let number = self.takers.fetch_add(1, Relaxed);
        let packer = Packer::new(number);
        let intervals = IntervalRecorder::new(self.width.map_or_else(Intervals::growing, Intervals::new));
        let intervals = intervals.of(self.headline);
        let (sender, sample, by_time) = (self.sender.clone(), self.sample, self.by_time);
        Taker { sender, sample, packer, intervals, since: 0, number, by_time }
    }

    /// All workers have finished.
    pub fn end(self) -> anyhow::Result<StageWriter> {
        drop(self.sender);
        self.thread.join().map_err(|_| anyhow::anyhow!("the thread that writes the recording broke down"))
    }
}

fn write(mut stage: StageWriter, pieces: &Receiver<Piece>, names: &Names, mut checkpoints: Checkpoints) -> StageWriter {
    for piece in pieces {
        match piece {
            Piece::Rows(rows) => stage.rows(rows, names),
            Piece::Intervals(worker, finished) => {
                checkpoints.ended(worker, &finished);
                stage.intervals(finished);
            }
            Piece::Rest(rest) => stage.rest(&rest),
            Piece::Checkpoint(worker, so_far, open) => checkpoints.take(worker, (so_far, open), &mut stage),
        }
    }
    stage
}

/// The last checkpoint of each worker.
struct Checkpoints {
    takers: Arc<AtomicUsize>,
    describe: Describe,
    latest: BTreeMap<usize, Box<SoFar>>,
    /// Workers whose last one was not written.
    fresh: BTreeSet<usize>,
    /// Where they are wanted.
    intervals: Option<IntervalsSoFar>,
}

impl Checkpoints {
    fn new(takers: Arc<AtomicUsize>, describe: Describe, intervals: Option<IntervalsSoFar>) -> Self {
        Self { takers, describe, latest: BTreeMap::new(), fresh: BTreeSet::new(), intervals }
    }

    /// Intervals of a worker have ended.
    fn ended(&mut self, worker: usize, intervals: &[Interval]) {
        if let Some(so_far) = &mut self.intervals {
            so_far.ended(worker, intervals);
        }
    }

    /// Once all workers have brought one, they are written together. One that is stuck in a call holds nobody up: the others' second
    /// one is written with its last.
    fn take(&mut self, worker: usize, (so_far, open): (Box<SoFar>, Option<Intervals>), stage: &mut StageWriter) {
        if let Some((intervals, open)) = self.intervals.as_mut().zip(open) {
            intervals.checkpoint(worker, open);
        }
        let again = !self.fresh.insert(worker);
        self.latest.insert(worker, so_far);
        if again || self.fresh.len() >= self.takers.load(Relaxed) {
            self.fresh.clear();
            let mut all = self.latest.values().map(|so_far| &**so_far);
            let intervals = self.intervals.as_ref().map(IntervalsSoFar::whole);
            stage.progress((self.describe)(&mut all, intervals).map_err(Into::into));
        }
    }
}

impl Taker {
    /// What there is so far. Where the disk is so far behind that it would have to wait, the next one does.
    pub fn checkpoint(&self, statistics: Statistics, part: Part) {
        let open = self.by_time.then(|| self.intervals.clone().finish());
        let _ = self.sender.try_send(Piece::Checkpoint(self.number, Box::new(SoFar { statistics, part }), open));
    }

    /// Takes a transaction of the measured phase.
    #[inline]
    pub fn record(&mut self, t: &Transaction) {
        self.intervals.record(t);
        if self.sample.keeps(t) && self.packer.push(t) >= ROWS {
            let rows = self.packer.take();
            self.hand_over(Piece::Rows(rows));
        }
        self.since += 1;
        if self.since >= LOOK {
            self.look(t.timeline.response_last);
        }
    }

    #[cold]
    fn look(&mut self, end: Option<i64>) {
        let Some(end) = end else { return };
        self.since = 0;
        let finished = self.intervals.drain_before(end.saturating_sub(LATE_NS));
        if !finished.is_empty() {
            self.hand_over(Piece::Intervals(self.number, finished));
        }
    }

    /// All that is left.
    pub fn finish(mut self) {
        let rows = self.packer.take();
        self.hand_over(Piece::Rows(rows));
        let none = IntervalRecorder::new(Intervals::growing());
        let rest = std::mem::replace(&mut self.intervals, none).finish();
        self.hand_over(Piece::Rest(Box::new(rest)));
    }

    /// The thread takes pieces until the last sender is gone; were it not there, its end would be told by [`Feed::end`].
    fn hand_over(&self, piece: Piece) {
        let _ = self.sender.send(piece);
    }
}
