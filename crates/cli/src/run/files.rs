//! The file set: looked for, made or verified before anything is measured, removed on request.

use std::sync::Arc;

use anyhow::Context;
use plimsoll_drive::engine::{self, Load, Pause, Phases, Plan};
use plimsoll_drive::reach::{Reached, Work};
use plimsoll_drive::workload::FileSet;
use plimsoll_drive::workload::fileset::{Create, Found, Job, Look, Remove, Verify};
use plimsoll_model::{Names, Sink, Transaction};

use super::watching::Watching;

/// Connections that work on files at the same time, and actions of each. Enough to hide the way to the server, not so
/// many that a small server falls over before anything is measured.
const STATIONS: u32 = 8;
const LANES: u32 = 4;

/// A file set on a server.
pub(super) struct Files<'a> {
    pub(super) server: &'a dyn Reached,
    pub(super) set: Arc<FileSet>,
    pub(super) names: Arc<Names>,
    pub(super) watching: &'a Watching,
    pub(super) timeout_ns: u64,
}

impl Files<'_> {
    /// Sees to it that the set is there and whole.
    pub(super) fn prepare(&self) -> anyhow::Result<()> {
        let look = Look::new(Arc::clone(&self.set));
        self.work("Looking for files", &look)?;
        match look.outcome()? {
            Found::Set => {
                let verify = Verify::new(Arc::clone(&self.set));
                self.work("Verifying files", &verify)?;
                return Ok(verify.outcome()?);
            }
            // Somebody was interrupted; the directory is the set's own.
            Found::Incomplete => self.remove()?,
            Found::Nothing => {}
        }
        let create = Create::new(Arc::clone(&self.set));
        self.work("Making files", &create)?;
        Ok(create.outcome()?)
    }

    /// Removes it.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        let remove = Remove::new(&self.set);
        self.work("Removing files", &remove)?;
        Ok(remove.outcome()?)
    }

    fn work<J: Job + Send + Sync>(&self, what: &'static str, job: &Arc<J>) -> anyhow::Result<()> {
        let scenarios = Box::new(|_, _, _| Arc::clone(job).scenario());
        let work = Work { server: self.server, scenarios, names: Arc::clone(&self.names) };
        let phases = Phases { warmup_ns: 0, measured_ns: None, ..Phases::default() };
        let load = Load::Closed { stations: STATIONS, think: Pause::None };
        let plan = Plan { lanes: LANES, phases, timeout_ns: self.timeout_ns, ..Plan::new(load) };
        let ran =
            self.watching.during_files(what, |watch| engine::run(&plan, &work, |_| Nowhere, watch), || job.progress());
        ran.context(what).map(|_| ())
    }
}

/// What is done to files before and after a measurement is no part of it.
struct Nowhere;

impl Sink for Nowhere {
    fn transaction(&mut self, _: &Transaction, _: &Names) {}
}
