//! The intervals of a running level at the latest checkpoint of each worker.
//!
//! Workers send intervals when these end, and with a checkpoint the unfinished ones. Intervals that a worker sends after its checkpoint
//! are later than the statistics of that checkpoint: they wait for the next one.

use std::collections::BTreeMap;

use plimsoll_stats::{Interval, Intervals};

/// The intervals that the workers of a level have sent.
pub(super) struct CheckpointIntervals {
    /// Ended before the latest checkpoint of their worker.
    ended: Intervals,
    /// Ended since, by worker.
    since: BTreeMap<usize, Vec<Interval>>,
    /// Not ended at the latest checkpoint, by worker.
    open: BTreeMap<usize, Intervals>,
}

impl CheckpointIntervals {
    /// None yet; `ended` is empty.
    pub(super) fn new(ended: Intervals) -> Self {
        Self { ended, since: BTreeMap::new(), open: BTreeMap::new() }
    }

    /// A worker's intervals have ended.
    pub(super) fn ended(&mut self, worker: usize, intervals: &[Interval]) {
        self.since.entry(worker).or_default().extend_from_slice(intervals);
    }

    /// A worker is at a checkpoint, with these that have not ended.
    pub(super) fn checkpoint(&mut self, worker: usize, open: Intervals) {
        for interval in self.since.remove(&worker).unwrap_or_default() {
            self.ended.add(interval);
        }
        self.open.insert(worker, open);
    }

    /// All that belongs to the checkpoints.
    pub(super) fn whole(&self) -> Intervals {
        let mut whole = self.ended.clone();
        self.open.values().for_each(|open| whole.merge(open));
        whole
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol, Transaction};
    use plimsoll_stats::{IntervalRecorder, IntervalWidth};
    use plimsoll_testkit::Random;

    use super::*;

    fn at(ns: i64) -> Transaction {
        plimsoll_testkit::transaction(Procedure::of(Protocol::Nfs3, 6), ns, 1_000)
    }

    /// At every checkpoint the intervals are those of each worker's latest checkpoint, whatever it has sent since.
    #[test]
    fn each_worker_counts_as_it_was_at_its_checkpoint() {
        const STEP: i64 = 7_000_000;
        let width = IntervalWidth::NARROW;
        let mut random = Random::new(15);
        let mut workers = [0, 1, 2].map(|_| IntervalRecorder::new(Intervals::new(width)));
        // Each worker's measurements: all of them, and the number at its latest checkpoint.
        let mut measured: [(Vec<Transaction>, usize); 3] = Default::default();
        let mut found = CheckpointIntervals::new(Intervals::new(width));
        for step in 1..3_000_i64 {
            let worker = (random.bits() % 3) as usize;
            let t = at(step * STEP);
            workers[worker].record(&t);
            measured[worker].0.push(t);
            if random.bits().is_multiple_of(5) {
                let ended = workers[worker].drain_before(step * STEP - 200_000_000);
                found.ended(worker, &ended);
            }
            if random.bits().is_multiple_of(50) {
                found.checkpoint(worker, workers[worker].clone().finish());
                measured[worker].1 = measured[worker].0.len();
                let mut expected = IntervalRecorder::new(Intervals::new(width));
                let known = measured.iter().flat_map(|(all, count)| &all[..*count]);
                known.for_each(|t| expected.record(t));
                assert_eq!(found.whole(), expected.finish(), "step {step}");
            }
        }
    }
}
