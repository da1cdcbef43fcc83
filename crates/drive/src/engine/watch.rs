//! Progress of a run, and a switch to end it.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Progress of a run, and a switch to end it. Shared between the run, the progress display and a signal handler.
///
/// Counters are updated some hundred times per second. One watch can follow several consecutive runs.
#[derive(Debug, Default)]
pub struct Watch {
    stop: AtomicBool,
    abandon: AtomicBool,
    phase: AtomicU8,
    since: AtomicI64,
    until: AtomicI64,
    clients: AtomicU32,
    connected: AtomicU32,
    iterations: AtomicU64,
    actions: AtomicU64,
    errors: AtomicU64,
}

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Not begun.
    Waiting,
    /// Clients connect and log on.
    Connecting,
    /// Load without measurement.
    WarmUp,
    /// Measurement.
    Measured,
    /// Waiting for outstanding requests.
    Drain,
    /// Logging off.
    Leaving,
    /// Over.
    Over,
}

/// A snapshot. Counts are of the whole run, all phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The current phase.
    pub phase: Phase,
    /// When that began, ns since the Unix epoch.
    pub since: i64,
    /// Its planned end, ns since the Unix epoch; 0 if unknown.
    pub until: i64,
    /// Clients of the plan.
    pub clients: u32,
    /// Those that are logged on.
    pub connected: u32,
    /// Iterations over.
    pub iterations: u64,
    /// Actions that succeeded.
    pub actions: u64,
    /// Actions that failed.
    pub errors: u64,
}

const PHASES: [Phase; 7] =
    [Phase::Waiting, Phase::Connecting, Phase::WarmUp, Phase::Measured, Phase::Drain, Phase::Leaving, Phase::Over];

impl Watch {
    /// Nothing has begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the phase at once, whichever it is: measurements so far are kept, outstanding requests are drained, clients log off. Safe to
    /// call from a signal handler.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// As [`Watch::stop`], but waits for nothing and does not log off.
    pub fn abandon(&self) {
        self.stop.store(true, Relaxed);
        self.abandon.store(true, Relaxed);
    }

    /// Whether the run should end.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Whether the run should end without waiting for anything.
    #[must_use]
    pub fn abandoned(&self) -> bool {
        self.abandon.load(Relaxed)
    }

    /// The present progress.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress {
            phase: PHASES.get(usize::from(self.phase.load(Relaxed))).copied().unwrap_or(Phase::Over),
            since: self.since.load(Relaxed),
            until: self.until.load(Relaxed),
            clients: self.clients.load(Relaxed),
            connected: self.connected.load(Relaxed),
            iterations: self.iterations.load(Relaxed),
            actions: self.actions.load(Relaxed),
            errors: self.errors.load(Relaxed),
        }
    }

    pub(super) fn begin(&self, clients: u32) {
        for counter in [&self.iterations, &self.actions, &self.errors] {
            counter.store(0, Relaxed);
        }
        self.connected.store(0, Relaxed);
        self.clients.store(clients, Relaxed);
        self.phase.store(Phase::Waiting as u8, Relaxed);
    }

    /// Enters a phase, unless another worker was there before.
    pub(super) fn enter(&self, phase: Phase, since: i64, until: i64) {
        if self.phase.fetch_max(phase as u8, Relaxed) < phase as u8 {
            self.since.store(since, Relaxed);
            self.until.store(until, Relaxed);
        }
    }

    pub(super) fn add(&self, iterations: u64, actions: u64, errors: u64) {
        self.iterations.fetch_add(iterations, Relaxed);
        self.actions.fetch_add(actions, Relaxed);
        self.errors.fetch_add(errors, Relaxed);
    }

    pub(super) fn connected(&self, more: u32, fewer: u32) {
        self.connected.fetch_add(more, Relaxed);
        self.connected.fetch_sub(fewer, Relaxed);
    }
}
