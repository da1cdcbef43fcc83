//! Checkpoints: a worker's measurements so far, about once per second, in case the program is killed.

use plimsoll_model::Sink;
use plimsoll_workload::Load;

use super::super::worker_result::{Part, WorkerResult};
use super::super::{Generator, Phase};
use super::Worker;
use crate::network::Network;
use crate::simulated_client::arrival_queue::ArrivalQueue;

/// The receiver of checkpoints. It gets the worker's sink too, so that both have the same time.
pub type Checkpoint<'a, S> = &'a (dyn Fn(&mut S, Part) + Sync);

/// Interval between checkpoints of a worker, ns. With more than `PER_SECOND` workers it is longer.
const PERIOD_NS: i64 = 1_000_000_000;
/// Maximum number of checkpoints per second of all workers. (Clients with blocking calls have one worker each.)
const PER_SECOND: u32 = 16;

/// Iterations of a schedule that are due in the measured phase and found no free slot.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Number of these iterations.
    count: u64,
    /// Number of these iterations whose user's next iteration is due already: they are late, whenever they end.
    late: u64,
}

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
        let waiting = self.waiting();
        let part = Part(self.so_far(&waiting));
        checkpoint(&mut self.accounting.sink, part);
    }

    /// For each schedule: the iterations of the measured phase that are due and found no free slot. For the others there is one, but the
    /// thread has not begun them yet: they are not counted, because they are not late.
    fn waiting(&mut self) -> Vec<Waiting> {
        let ((begin, end), now) = (self.accounting.window, self.now);
        let until = end.min(now);
        let (own, all, tallies) = (self.has_users(), self.generator.planned, &self.accounting.tallies);
        let begun = |user: usize| if own { tallies.get(user).map_or(0, |tally| tally.due_iterations) } else { all };
        let queues = self.arrival_queues.iter_mut().enumerate();
        let waiting = |(user, queue): (usize, &mut ArrivalQueue)| {
            let due = queue.due_until((begin, until), begun(user));
            let count = due.saturating_sub(begun(user)).saturating_sub(queue.free.len() as u64);
            // All of them are late, except the last one while its user's next iteration is not due yet.
            let last = u64::from(queue.next_counted() >= now);
            Waiting { count, late: if own { count.saturating_sub(last) } else { 0 } }
        };
        queues.map(waiting).collect()
    }

    /// Whether each client has a schedule of its own.
    fn has_users(&self) -> bool {
        matches!(self.job.plan.load, Load::Partly { .. })
    }

    /// The result if the phase had ended now. Does not query the kernel for round trips. `waiting`: as [`Worker::waiting`] returns it.
    fn so_far(&self, waiting: &[Waiting]) -> WorkerResult<()> {
        let (begin, end) = self.accounting.window;
        let end = end.min(self.now);
        let mut gaps = None;
        let mut tallies = self.accounting.tallies.clone();
        for (tally, waiting) in tallies.iter_mut().zip(waiting).filter(|_| self.has_users()) {
            tally.due_iterations += waiting.count;
            tally.late_iterations += waiting.count;
        }
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
        // They found no free slot. Those that are late count as never begun, as at the end of a level.
        for waiting in waiting {
            generator.planned += waiting.count;
            generator.late_starts += waiting.count - waiting.late;
            generator.never_sent += waiting.late;
        }
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
            iterations: self.accounting.iterations_until(self.now).into_vec(),
            generator,
            gaps: gaps.unwrap_or_else(|| self.gaps.clone()),
            cpu,
            stopped: false,
        }
    }
}
