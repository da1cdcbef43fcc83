//! The file set: looked for, made or verified before anything is measured, removed on request.

use std::sync::Arc;

use anyhow::Context;
use plimsoll_drive::engine::{self, Load, Pause, Phases, Plan, Watch};
use plimsoll_drive::reach::{Reached, Work};
use plimsoll_drive::workload::FileSet;
use plimsoll_drive::workload::fileset::{Create, Found, Job, Look, Remove, Verify};
use plimsoll_model::{Names, Sink, Transaction};

use super::watching::Watching;

/// Who works on files.
#[derive(Clone, Copy)]
struct Crowd {
    /// Connections that work at the same time, and actions of each.
    stations: u32,
    lanes: u32,
    /// Attempts in a row to connect again.
    attempts: u32,
}

/// Whoever looks first finds out whether there is a server that lets us in. A wrong password is tried once, not once a
/// station; and somebody waits to hear of a server that is not there.
const FIRST_CONTACT: Crowd = Crowd { stations: 1, lanes: 1, attempts: 3 };
/// Enough to hide the way to the server, not so many that a small one falls over before anything is measured. A server that
/// restarts meanwhile is waited for as in a run.
const MANY: Crowd = Crowd { stations: 8, lanes: 4, attempts: 10 };

/// A file set on a server.
pub(super) struct Files<'a> {
    pub(super) server: &'a dyn Reached,
    pub(super) set: Arc<FileSet>,
    pub(super) names: Arc<Names>,
    pub(super) watching: &'a Watching,
    pub(super) timeout_ns: u64,
}

impl Files<'_> {
    /// Sees to it that the set is there and whole. `false` if somebody stopped it before it was.
    pub(super) fn prepare(&self) -> anyhow::Result<bool> {
        match self.make() {
            // What was stopped half-way is no failure, whatever it looks like.
            Err(_) if self.watching.stopped() => Ok(false),
            made => made.map(|()| true),
        }
    }

    fn make(&self) -> anyhow::Result<()> {
        let look = Look::new(Arc::clone(&self.set));
        self.work("Looking for files", &look, FIRST_CONTACT, true)?;
        match look.outcome()? {
            Found::Set => {
                let verify = Verify::new(Arc::clone(&self.set));
                self.work("Verifying files", &verify, MANY, true)?;
                return Ok(verify.outcome()?);
            }
            // Somebody was interrupted; the directory is the set's own.
            Found::Incomplete => self.remove_all(true)?,
            Found::Nothing => {}
        }
        let create = Create::new(Arc::clone(&self.set));
        self.work("Making files", &create, MANY, true)?;
        Ok(create.outcome()?)
    }

    /// Removes it, when all is over.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        self.remove_all(false)
    }

    fn remove_all(&self, before: bool) -> anyhow::Result<()> {
        let remove = Remove::new(&self.set);
        self.work("Removing files", &remove, MANY, before)?;
        Ok(remove.outcome()?)
    }

    fn work<J: Job + Send + Sync>(
        &self,
        what: &'static str,
        job: &Arc<J>,
        crowd: Crowd,
        before: bool,
    ) -> anyhow::Result<()> {
        let scenarios = Box::new(|_, _, _| Arc::clone(job).scenario());
        let work = Work { server: self.server, scenarios, names: Arc::clone(&self.names) };
        let phases = Phases { warmup_ns: 0, measured_ns: None, ..Phases::default() };
        let Crowd { stations, lanes, attempts } = crowd;
        let load = Load::Closed { stations, think: Pause::None };
        let mut plan = Plan { lanes, phases, timeout_ns: self.timeout_ns, ..Plan::new(load) };
        plan.reconnect.attempts = attempts;
        let run = |watch: &Watch| engine::run(&plan, &work, |_| Nowhere, watch);
        self.watching.during_files(what, before, run, || job.progress()).context(what).map(|_| ())
    }
}

/// What is done to files before and after a measurement is no part of it.
struct Nowhere;

impl Sink for Nowhere {
    fn transaction(&mut self, _: &Transaction, _: &Names) {}
}
