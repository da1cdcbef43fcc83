//! The file set: looked for, made or verified before anything is measured, removed on request.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use plimsoll_client::clock::Clock;
use plimsoll_client::operation::Cause;
use plimsoll_drive::connect::{Connector, Lease, LeaseError, Work};
use plimsoll_drive::engine::{self, EngineResult, Plan, Watch};
use plimsoll_model::Names;
use plimsoll_workload::FileSet;
use plimsoll_workload::fileset::{Create, FileSetError, Found, Job, Look, Remove, Verify};
use plimsoll_workload::{Load, Pause, Phases};

use super::monitor::Monitor;
use super::validity::add;

/// Concurrency of the work on files.
#[derive(Clone, Copy)]
struct Concurrency {
    /// Connections that work at the same time, and actions of each.
    clients: u32,
    depth: u32,
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
    Concurrency { clients: 1, depth: 1, attempts: 3, after_timeout: false, timeout_ns: u64::MAX };
/// Enough concurrency to hide the network latency, but not too much for a small server. A restarting server is awaited as in a run.
const MANY: Concurrency = Concurrency { clients: 8, depth: 4, attempts: 10, after_timeout: true, timeout_ns: u64::MAX };

/// Enough for the remaining files; a lost server is not awaited.
const SOME: Concurrency = Concurrency { clients: 4, depth: 4, attempts: 3, after_timeout: true, timeout_ns: u64::MAX };
/// The same after the user stopped the run: Plimsoll does not wait for a server that hangs.
const SOON: Concurrency = Concurrency { after_timeout: false, timeout_ns: 2_000_000_000, ..SOME };
/// The removal that the user asked for, after the user stopped the run: the server may need longer for a large file.
const ASKED_FOR: Concurrency = Concurrency { after_timeout: false, timeout_ns: 10_000_000_000, ..MANY };

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
        self.work("Looking for files", &look, (FIRST_CONTACT, true), Look::outcome)
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
                return self.work("Verifying files", &verify, (MANY, true), Verify::outcome);
            }
            // The creation was interrupted; the directory belongs only to the set.
            Found::Incomplete => self.remove_all(true, MANY)?,
            Found::Nothing => {}
        }
        let create = Create::new(Arc::clone(&self.set));
        let made = self.work("Creating files", &create, (MANY, true), Create::outcome);
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
        let swept = self.work("Removing private files", &sweep, (concurrency, false), Verify::outcome);
        swept.with_context(|| {
            let root = self.set.root();
            format!("private files of this run may remain in {root}; the next run on this file set deletes them")
        })
    }

    /// Removes it, when all is over, from a server that `may_hang`.
    pub(super) fn remove(&self, may_hang: bool) -> anyhow::Result<()> {
        // After a stop, perhaps no request was outstanding that would show that the server hangs.
        let stopped = self.monitor.stopped();
        let concurrency = if stopped { ASKED_FOR } else { Concurrency { after_timeout: !may_hang, ..MANY } };
        self.remove_all(false, concurrency)
            .with_context(|| format!("files of this run may remain in {}", self.set.root()))
    }

    fn remove_all(&self, before: bool, concurrency: Concurrency) -> anyhow::Result<()> {
        let remove = Remove::new(&self.set);
        self.work("Removing files", &remove, (concurrency, before), Remove::outcome)
    }

    /// Does the work, `before` all levels or after them. Returns its outcome.
    fn work<J: Job + Send + Sync, T>(
        &self,
        what: &'static str,
        job: &Arc<J>,
        (concurrency, before): (Concurrency, bool),
        outcome: impl FnOnce(&J) -> Result<T, FileSetError>,
    ) -> anyhow::Result<T> {
        let scenarios = Box::new(|_, _, _| Arc::clone(job).scenario());
        let work = Work { server: &**self.server, scenarios, names: Arc::clone(&self.names) };
        let phases = Phases { warmup_ns: 0, measured_ns: None, ..Phases::default() };
        let Concurrency { clients, depth, attempts, after_timeout, timeout_ns } = concurrency;
        let load = Load::Closed { clients, think: Pause::None };
        let timeout_ns = self.timeout_ns.min(timeout_ns);
        let mut plan = Plan { depth, phases, timeout_ns, ..Plan::new(load) };
        (plan.reconnect.attempts, plan.reconnect.after_timeout) = (attempts, after_timeout);
        // Transactions on files before and after a measurement are not part of it.
        let run = |watch: &Watch| engine::run(&plan, &work, |_| (), watch, None);
        let done = self.monitor.during_files(what, before, run, || job.progress());
        // The error says that no connection was made: the work had not begun.
        let without_connection = matches!(&done, Err(engine::EngineError::NobodyConnected { .. }));
        let done = done.map_err(anyhow::Error::from);
        let ran = if without_connection { done? } else { done.context(what)? };
        Ok(outcome(job).map_err(|error| error.because(gave_up(&ran)))?)
    }
}

/// Why clients could not connect again, most often; `None` if none gave up, or if the user stopped the work.
fn gave_up<S>(ran: &EngineResult<S>) -> Option<Cause> {
    let away = ran.clients.iter().filter(|client| client.given_up.is_some() && !ran.stopped);
    let mut causes = Vec::new();
    for failure in away.flat_map(|client| &client.connection_failures) {
        add(&mut causes, failure.cause, failure.count);
    }
    Some(causes.into_iter().max_by_key(|&(_, count)| count)?.0)
}

#[cfg(test)]
mod tests {
    use plimsoll_drive::engine::{ClientTally, ConnectionFailure, GivenUp};

    use super::*;
    use crate::tests::connection_failures::{ran, refused};

    #[test]
    fn the_cause_of_an_early_end_is_that_of_the_clients_that_gave_up() {
        let reset = ConnectionFailure { cause: Cause::ConnectionReset, ..refused(true, false, 1) };
        let client = |given_up| {
            let connection_failures = vec![reset, refused(false, false, 11)];
            ClientTally { given_up, connection_failures, ..ClientTally::default() }
        };
        let gone = client(Some(GivenUp { since: 0, slots: 4 }));
        assert_eq!(gave_up(&ran(vec![client(None), gone.clone()], (0, 1))), Some(Cause::ConnectionRefused));
        assert_eq!(gave_up(&ran(vec![client(None)], (0, 1))), None, "it connected again");
        let stopped = EngineResult { stopped: true, ..ran(vec![gone], (0, 1)) };
        assert_eq!(gave_up(&stopped), None, "the user ended the work");
    }
}
