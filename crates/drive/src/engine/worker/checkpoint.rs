//! Checkpoints: a worker's measurements so far, about once per second, in case the program is killed.

use plimsoll_model::Sink;

use super::super::worker_result::{Part, WorkerResult};
use super::super::{Generator, Phase};
use super::Worker;
use crate::network::Network;

/// The receiver of checkpoints. It gets the worker's sink too, so that both have the same time.
pub type Checkpoint<'a, S> = &'a (dyn Fn(&mut S, Part) + Sync);

/// Interval between checkpoints of a worker, ns. With more than `PER_SECOND` workers it is longer.
const PERIOD_NS: i64 = 1_000_000_000;
/// Maximum number of checkpoints per second of all workers. (Clients with blocking calls have one worker each.)
const PER_SECOND: u32 = 16;

impl<'a, S: Sink, N: Network> Worker<'a, S, N> {
    /// The worker with a receiver of checkpoints; `workers` is the number of workers with one.
    pub(in super::super) fn with_checkpoints(mut self, checkpoint: Option<Checkpoint<'a, S>>, workers: u32) -> Self {
        self.checkpoint = checkpoint;
        self.checkpoint_every = PERIOD_NS.saturating_mul(workers.div_ceil(PER_SECOND).into());
        self
    }

    /// Sends a checkpoint, if it is due.
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

    /// The result if the phase had ended now. Does not query the kernel for round trips.
    fn so_far(&self) -> WorkerResult<()> {
        let (begin, end) = self.accounting.window;
        let end = end.min(self.now);
        let mut gaps = None;
        let mut tallies = self.accounting.tallies.clone();
        let mut cpu = self.cpu;
        // The same function judges finished levels.
        let (answered, unanswered, lateness) =
            (self.accounting.answered, self.accounting.unanswered, self.accounting.lateness.so_far());
        let session_requests = self.accounting.session_requests.clone();
        let wake_up_lag = self.wake_up_lag.times();
        let longest_stall_ns = self.accounting.attention.longest_stall_ns();
        let mut generator = Generator {
            answered,
            unanswered,
            lateness,
            session_requests,
            wake_up_lag,
            longest_stall_ns,
            ..self.generator.clone()
        };
        if self.phase == Phase::Measured {
            gaps = Some(self.gaps_until(end));
            for (tally, up) in tallies.iter_mut().zip(&self.up) {
                tally.connected = *up > 0;
            }
            let until_now = self.reading();
            cpu = self.begin.map_or_else(Default::default, |begin| until_now.since(&begin));
            cpu.wake_up_ns = self.wake_up_lag.moments().mean_ns().map(|mean| mean as u64);
            generator.stolen_ns = self.begin.and_then(|begin| until_now.stolen_since(&begin));
            generator.throttled_ns = self.begin.and_then(|begin| until_now.throttled_since(&begin));
        }
        WorkerResult {
            measured: (begin, end),
            sink: (),
            tallies,
            iterations: self.accounting.iterations.clone().into_vec(),
            generator,
            gaps: gaps.unwrap_or_else(|| self.gaps.clone()),
            cpu,
            stopped: false,
        }
    }
}
