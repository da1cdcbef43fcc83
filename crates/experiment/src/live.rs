//! Data of a run's threads for a live view: seconds, sums, and the generator's lateness.
//!
//! A load thread never waits: it has two buffers, and the viewer holds at most one of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use plimsoll_drive::engine::{EngineResult, Part, so_far};
use plimsoll_model::{Names, Sink, Transaction};
use plimsoll_report::findings::Generator;
use plimsoll_stats::Headline;
use plimsoll_stats::live::{LivePart, Recent, Totals};

use super::level::counts::keeping_up;
use super::level::{headline, judged_of};
use super::level_spec::LevelSpec;
use super::validity;

/// Data of the load threads of a run.
pub struct LiveFeed {
    with_totals: bool,
    workers: Mutex<Vec<Arc<WorkerFeed>>>,
    level: Mutex<Option<(LevelSpec, Arc<Names>)>>,
}

/// Data of one thread.
struct WorkerFeed {
    buffers: [Mutex<Buffer>; 2],
    /// The engine's counts of about a second ago.
    checkpoint: Mutex<Option<Part>>,
}

struct Buffer {
    seconds: LivePart,
    totals: Option<Totals>,
}

/// A thread's end.
pub(crate) struct LiveSender(Arc<WorkerFeed>);

/// No thread panics while it holds these, and they contain sums: a partial update is one operation.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveFeed {
    /// Of a run that has not begun; sums since its begin cost more for each operation.
    pub fn new(with_totals: bool) -> Self {
        Self { with_totals, workers: Mutex::default(), level: Mutex::default() }
    }

    pub(crate) fn begin(&self, level_spec: &LevelSpec, names: &Arc<Names>) {
        let mut level_spec = level_spec.clone();
        // It is open as long as anybody has it.
        level_spec.plan.tap = None;
        *lock(&self.level) = Some((level_spec, Arc::clone(names)));
    }

    /// One more thread.
    pub(crate) fn sender(&self, headline: Headline) -> LiveSender {
        let buffer = || {
            Mutex::new(Buffer {
                seconds: LivePart::new(headline),
                totals: self.with_totals.then(|| Totals::of(headline)),
            })
        };
        let worker = Arc::new(WorkerFeed { buffers: [buffer(), buffer()], checkpoint: Mutex::default() });
        lock(&self.workers).push(Arc::clone(&worker));
        LiveSender(worker)
    }

    /// The names of transactions; `None` before the first level.
    pub fn names(&self) -> Option<Arc<Names>> {
        lock(&self.level).as_ref().map(|(_, names)| Arc::clone(names))
    }

    /// The response time that leads in this level.
    pub fn headline(&self) -> Option<Headline> {
        lock(&self.level).as_ref().map(|(level_spec, _)| headline(&level_spec.plan))
    }

    /// Iterations per second that the schedule of this level asks for; `None` in a closed loop.
    pub fn asked_per_s(&self) -> Option<f64> {
        lock(&self.level).as_ref().and_then(|(level_spec, _)| level_spec.plan.load.asked_rate())
    }

    /// Takes the seconds that ended at or before an instant, ns since the Unix epoch, and all sums, if they are wanted.
    pub fn take(&self, before_ns: i64, recent: &mut Recent, mut totals: Option<&mut Totals>) {
        lock(&self.workers).retain(|worker| {
            // A thread that has ended brings nothing more.
            let is_over = Arc::strong_count(worker) == 1;
            for buffer in &worker.buffers {
                let mut buffer = lock(buffer);
                let seconds = buffer.seconds.take_before(if is_over { i64::MAX } else { before_ns });
                seconds.into_iter().for_each(|second| recent.merge(second));
                if let Some((all, part)) = totals.as_mut().zip(buffer.totals.as_mut()) {
                    all.merge(&part.take());
                }
            }
            // Its sums wait until they are requested.
            !is_over || (self.with_totals && totals.is_none())
        });
    }

    /// The generator's state in this level's measured phase, as of about a second ago, and its faults; `None` without measurements.
    pub fn generator(&self) -> Option<(Generator, Option<String>)> {
        let plan = lock(&self.level).as_ref()?.0.plan.clone();
        let parts: Vec<Part> =
            lock(&self.workers).iter().filter_map(|worker| lock(&worker.checkpoint).clone()).collect();
        if parts.is_empty() {
            return None;
        }
        let EngineResult { clients, generator, measured, .. } = so_far(&plan, parts);
        let seen = judged_of(&plan, (&generator, &clients), measured, None);
        Some((keeping_up(&seen), validity::generators_fault(&seen)))
    }
}

impl LiveSender {
    /// The engine's counts so far.
    pub(crate) fn checkpoint(&self, part: Part) {
        *lock(&self.0.checkpoint) = Some(part);
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        let free = |buffer| match Mutex::try_lock(buffer) {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let [first, second] = &self.0.buffers;
        // The viewer holds at most one of them.
        free(first).or_else(|| free(second)).unwrap_or_else(|| lock(first))
    }
}

impl Sink for LiveSender {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        let mut buffer = self.buffer();
        buffer.seconds.record(transaction);
        if let Some(totals) = &mut buffer.totals {
            totals.transaction(transaction, names);
        }
    }
}
