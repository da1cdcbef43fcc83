//! What a worker has measured so far, handed out about once a second: were the program killed, that much is known.

use plimsoll_model::Sink;

use super::super::worker_result::{Part, WorkerResult};
use super::super::{Generator, Phase};
use super::Worker;
use crate::network::Network;
use crate::simulated_client::arrival_queue::ArrivalQueue;

/// Who gets it: with the worker's sink, so that both are of the same instant.
pub(in super::super) type Checkpoint<'a, S> = &'a (dyn Fn(&mut S, Part) + Sync);

/// Checkpoints of up to so many workers are this far apart, ns; of more of them, so that each second has as many …
const PERIOD_NS: i64 = 1_000_000_000;
/// … a multiple of it. (Clients that block have a worker each.)
const PER_SECOND: u32 = 16;

impl<'a, S: Sink, N: Network> Worker<'a, S, N> {
    /// The same, which hands out what it has; `workers` is how many do.
    pub(in super::super) fn with_checkpoints(mut self, checkpoint: Option<Checkpoint<'a, S>>, workers: u32) -> Self {
        self.checkpoint = checkpoint;
        self.checkpoint_every = PERIOD_NS.saturating_mul(workers.div_ceil(PER_SECOND).into());
        self
    }

    /// Hands out what there is, if it is time.
    pub(super) fn check_point(&mut self) {
        let Some(checkpoint) = self.checkpoint else { return };
        let measured = matches!(self.phase, Phase::Measured | Phase::Drain) && self.begin.is_some();
        if !measured || self.now < self.next_checkpoint {
            return;
        }
        self.next_checkpoint = self.now.saturating_add(self.checkpoint_every);
        let part = Part(self.so_far());
        checkpoint(&mut self.accounting.sink, part);
    }

    /// What it would bring if the phase had ended now. The kernel is not asked for round trips.
    fn so_far(&self) -> WorkerResult<()> {
        let (begin, end) = self.accounting.window;
        let end = end.min(self.now);
        let mut gaps = self.accounting.gaps.clone();
        let mut tallies = self.accounting.tallies.clone();
        let mut cpu = self.cpu;
        // What judges a finished level judges this one as well.
        let (answered, unanswered, lateness) =
            (self.accounting.answered, self.accounting.unanswered, self.accounting.lateness.clone());
        let mut generator = Generator { answered, unanswered, lateness, ..self.generator.clone() };
        if self.phase == Phase::Measured {
            let due = self.arrival_queues.iter().map(ArrivalQueue::next).filter(|due| *due < end).min();
            self.accounting.end_gaps(&mut gaps, end, due);
            for (tally, up) in tallies.iter_mut().zip(&self.up) {
                tally.connected = *up > 0;
            }
            let until_now = self.reading();
            cpu = self.begin.map_or_else(Default::default, |begin| until_now.since(&begin));
            cpu.wake_up_ns = generator.wake_up_lag.moments().mean_ns().map(|mean| mean as u64);
            generator.stolen_ns = self.begin.and_then(|begin| until_now.stolen_since(&begin));
        }
        WorkerResult {
            measured: (begin, end),
            sink: (),
            tallies,
            iterations: self.accounting.iterations.clone().into_vec(),
            generator,
            gaps: gaps.take(),
            cpu,
            stopped: false,
        }
    }
}
