//! The file set: looked for, made or verified before anything is measured, removed on request.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use plimsoll_client::clock::Clock;
use plimsoll_drive::connect::{Connector, Lease, LeaseError, Work};
use plimsoll_drive::engine::{self, Plan, Watch};
use plimsoll_model::{Names, Sink, Transaction};
use plimsoll_workload::FileSet;
use plimsoll_workload::fileset::{Create, Found, Job, Look, Remove, Verify};
use plimsoll_workload::{Load, Pause, Phases};

use super::monitor::Monitor;

/// Concurrency of the work on files.
#[derive(Clone, Copy)]
struct Concurrency {
    /// Connections that work at the same time, and actions of each.
    clients: u32,
    lanes: u32,
    /// Attempts in a row to connect again.
    attempts: u32,
    /// Whether an attempt that timed out is retried, too.
    after_timeout: bool,
    /// The timeout of the run, or this if it is shorter, ns.
    timeout_ns: u64,
}

/// For the first check, which shows whether the server accepts the logon. A wrong password is tried only once, not once per client, and a
/// missing server is reported soon: a server that is silent until the timeout will be silent again.
const FIRST_CONTACT: Concurrency =
    Concurrency { clients: 1, lanes: 1, attempts: 3, after_timeout: false, timeout_ns: u64::MAX };
/// Enough concurrency to hide the network latency, but not too much for a small server. A restarting server is awaited as in a run.
const MANY: Concurrency = Concurrency { clients: 8, lanes: 4, attempts: 10, after_timeout: true, timeout_ns: u64::MAX };

/// Enough for the remaining files; a lost server is not awaited.
const SOME: Concurrency = Concurrency { clients: 4, lanes: 4, attempts: 3, after_timeout: true, timeout_ns: u64::MAX };
/// The same after the user stopped the run: Plimsoll does not wait for a server that hangs.
const SOON: Concurrency = Concurrency { after_timeout: false, timeout_ns: 2_000_000_000, ..SOME };

/// Which process creates the files of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    /// This process, which drives the whole run.
    This,
    /// This process, for all parts of the run.
    ThisForAll,
    /// The process of the first part, until this instant, ns since the Unix epoch.
    FirstPart(i64),
}

impl Maker {
    /// Of a plan.
    pub(super) fn of(plan: &Plan) -> Self {
        match plan.part {
            None => Self::This,
            Some(part) if part.is_first() => Self::ThisForAll,
            Some(_) => Self::FirstPart(plan.start_at_ns.unwrap_or(i64::MAX)),
        }
    }
}

/// Between looks for files that another process makes.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A file set on a server.
pub(super) struct Files<'a> {
    pub(super) server: &'a Arc<dyn Connector>,
    pub(super) set: Arc<FileSet>,
    /// Whether other machines can reach the files, too.
    pub(super) shared: bool,
    pub(super) maker: Maker,
    pub(super) names: Arc<Names>,
    pub(super) monitor: &'a dyn Monitor,
    pub(super) timeout_ns: u64,
}

impl Files<'_> {
    /// Prevents other runs from using the set.
    ///
    /// # Errors
    /// Another run, or another target of this run, has the lease.
    pub(super) fn lease(&self) -> Result<Option<Lease>, LeaseError> {
        // The first part has it for all.
        if !self.shared || matches!(self.maker, Maker::FirstPart(_)) {
            return Ok(None);
        }
        Lease::take(self.server, &self.set, Duration::from_nanos(self.timeout_ns)).map(Some)
    }

    /// Checks for existing files. The first request shows whether the server accepts the logon. Waits for files that another process
    /// creates.
    pub(super) fn look(&self) -> anyhow::Result<Found> {
        let Maker::FirstPart(until) = self.maker else { return self.look_once() };
        loop {
            let found = self.look_once()?;
            if found == Found::Set || self.monitor.stopped() {
                return Ok(found);
            }
            if Clock::new().now() >= until {
                anyhow::bail!(
                    "the first part did not create the file set {} before the start time (--start-at); start the first part, \
                    or give all parts a later --start-at",
                    self.set.root()
                );
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn look_once(&self) -> anyhow::Result<Found> {
        let look = Look::new(Arc::clone(&self.set));
        self.work("Looking for files", &look, FIRST_CONTACT, true)?;
        Ok(look.outcome()?)
    }

    /// Completes the set, of which `found` exists. If it cannot be completed, its files are removed, so that a full disk does not stay
    /// full.
    pub(super) fn make(&self, found: Found) -> anyhow::Result<()> {
        if matches!(self.maker, Maker::FirstPart(_)) {
            return Ok(());
        }
        // Before the lease was ours, another run may have made it.
        let found = if found == Found::Set || !self.shared { found } else { self.look()? };
        match found {
            Found::Set => {
                let verify = Verify::new(Arc::clone(&self.set));
                self.work("Verifying files", &verify, MANY, true)?;
                return Ok(verify.outcome()?);
            }
            // The creation was interrupted; the directory belongs only to the set.
            Found::Incomplete => self.remove_all(true, MANY)?,
            Found::Nothing => {}
        }
        let create = Create::new(Arc::clone(&self.set));
        let made = self.work("Creating files", &create, MANY, true).and_then(|()| Ok(create.outcome()?));
        match made {
            Err(error) if !self.monitor.stopped() => Err(match self.remove_all(false, MANY) {
                Ok(()) => error,
                Err(left) => error.context(format!(
                    "cannot create the file set {}, and cannot delete its files ({left:#})",
                    self.set.root()
                )),
            }),
            made => made,
        }
    }

    /// Removes files of slots that were stopped in the middle of an iteration, from a server that `may_hang`.
    pub(super) fn remove_leftovers(&self, may_hang: bool) -> anyhow::Result<()> {
        let sweep = Verify::leftovers(Arc::clone(&self.set));
        let concurrency = if self.monitor.stopped() { SOON } else { Concurrency { after_timeout: !may_hang, ..SOME } };
        let swept = self.work("Removing private files", &sweep, concurrency, false);
        swept.and_then(|()| Ok(sweep.outcome()?)).with_context(|| {
            let root = self.set.root();
            format!("private files of this run may remain in {root}; the next run on this file set deletes them")
        })
    }

    /// Removes it, when all is over, from a server that `may_hang`.
    pub(super) fn remove(&self, may_hang: bool) -> anyhow::Result<()> {
        self.remove_all(false, Concurrency { after_timeout: !may_hang, ..MANY })
            .with_context(|| format!("files of this run may remain in {}", self.set.root()))
    }

    fn remove_all(&self, before: bool, concurrency: Concurrency) -> anyhow::Result<()> {
        let remove = Remove::new(&self.set);
        self.work("Removing files", &remove, concurrency, before)?;
        Ok(remove.outcome()?)
    }

    fn work<J: Job + Send + Sync>(
        &self,
        what: &'static str,
        job: &Arc<J>,
        concurrency: Concurrency,
        before: bool,
    ) -> anyhow::Result<()> {
        let scenarios = Box::new(|_, _, _| Arc::clone(job).scenario());
        let work = Work { server: &**self.server, scenarios, names: Arc::clone(&self.names) };
        let phases = Phases { warmup_ns: 0, measured_ns: None, ..Phases::default() };
        let Concurrency { clients, lanes, attempts, after_timeout, timeout_ns } = concurrency;
        let load = Load::Closed { clients, think: Pause::None };
        let timeout_ns = self.timeout_ns.min(timeout_ns);
        let mut plan = Plan { depth: lanes, phases, timeout_ns, ..Plan::new(load) };
        (plan.reconnect.attempts, plan.reconnect.after_timeout) = (attempts, after_timeout);
        let run = |watch: &Watch| engine::run(&plan, &work, |_| Nowhere, watch, None);
        let done = self.monitor.during_files(what, before, run, || job.progress());
        // The error says that no connection was made: the work had not begun.
        let without_connection = matches!(&done, Err(engine::EngineError::NobodyConnected { .. }));
        let done = done.map(|_| ()).map_err(anyhow::Error::from);
        if without_connection { done } else { done.context(what) }
    }
}

/// A sink for transactions on files before and after a measurement, which are not part of it.
struct Nowhere;

impl Sink for Nowhere {
    fn transaction(&mut self, _: &Transaction, _: &Names) {}
}
