//! A workload on a server, level by level, and what is told of it. `plimsoll run` and `plimsoll demo` share it.

use std::sync::Arc;

use plimsoll_drive::engine::Setup;
use plimsoll_drive::reach::{self, Reached, Wishes, Work};
use plimsoll_drive::tap::Tap;
use plimsoll_drive::target::Target;
use plimsoll_drive::workload::{FileSet, Workload};
use plimsoll_model::Names;
use plimsoll_report::findings::{Findings, Run, Source};

use super::files::Files;
use super::level::{self, LevelRan};
use super::load::Step;
use super::sink::Table;
use super::target::Chosen;
use super::watching::Watching;

/// What is driven, and who looks on.
pub(crate) struct Drive<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) watching: &'a Watching,
    pub(crate) table: Option<&'a Table>,
    pub(crate) tap: Option<&'a Arc<Tap>>,
    /// A request without an answer is given up after so long.
    pub(crate) timeout_ns: u64,
    /// The workload's files go when it is over.
    pub(crate) remove_files: bool,
}

/// A server, and where the workload's files are on it.
pub(crate) struct Site {
    pub(crate) server: Box<dyn Reached>,
    set: Arc<FileSet>,
}

impl Drive<'_> {
    /// Finds the server of a target. `names` takes everything that transactions will name.
    pub(crate) fn reach(
        &self,
        chosen: &Chosen,
        wishes: &Wishes,
        steps: &[Step],
        names: &mut Names,
    ) -> anyhow::Result<Site> {
        let server = reach::open(&chosen.target, wishes, names)?;
        let stations = steps.iter().map(|step| step.plan.load.stations()).max().unwrap_or(1);
        let set = Arc::new(FileSet::new(self.workload, base(&chosen.target), stations, names)?);
        Ok(Site { server, set })
    }

    /// Runs every level, with the files in place.
    ///
    /// # Errors
    /// There is nothing to report: no level was run. What goes wrong afterwards is in what it returns.
    pub(crate) fn levels(&self, site: &Site, names: &Arc<Names>, steps: Vec<Step>) -> anyhow::Result<Levels> {
        self.watching.catch()?;
        let server = &*site.server;
        let (set, with) = (Arc::clone(&site.set), Arc::clone(names));
        let files = Files { server, set, names: with, watching: self.watching, timeout_ns: self.timeout_ns };
        let mut levels = Levels { planned: steps.len(), ..Levels::default() };
        let ready = files.prepare()?;
        let scenarios = Box::new(|station, lane, seed| self.workload.scenario(&site.set, station, lane, seed));
        let work = Work { server, scenarios, names: Arc::clone(names) };
        let setup: &dyn Setup = &work;
        for Step { mut plan, words, curve } in steps {
            if !ready || self.watching.stopped() {
                levels.stopped = true;
                break;
            }
            plan.tap = self.tap.cloned();
            let ran = self.watching.during(&words, |watch| level::run(&plan, &words, setup, self.table, watch));
            match ran {
                Ok(ran) => levels.ran.push(ran.on(curve)),
                Err(error) if levels.ran.is_empty() => return Err(error.into()),
                // What was measured before is not lost with it.
                Err(error) => {
                    levels.ran.push(LevelRan::not_run(&plan, words, &error).on(curve));
                    break;
                }
            }
        }
        if self.remove_files && !self.watching.abandoned() {
            levels.cleaned = files.remove();
        }
        Ok(levels)
    }
}

/// What came of the levels.
pub(crate) struct Levels {
    pub(crate) ran: Vec<LevelRan>,
    planned: usize,
    /// Somebody stopped it before all were begun.
    stopped: bool,
    /// Whether the files could be removed, where that was wanted.
    pub(crate) cleaned: anyhow::Result<()>,
}

impl Default for Levels {
    fn default() -> Self {
        Self { ran: Vec::new(), planned: 0, stopped: false, cleaned: Ok(()) }
    }
}

impl Levels {
    /// What is worth telling besides.
    pub(crate) fn facts(&self) -> Option<String> {
        let (ran, planned) = (self.ran.len(), self.planned);
        self.stopped.then(|| format!("stopped by the user when {ran} of {planned} load levels were run"))
    }
}

/// Everything that a report tells of a run.
pub(crate) struct Told<'a> {
    pub(crate) workload: &'a Workload,
    /// What was driven, in words.
    pub(crate) target: String,
    pub(crate) seed: u64,
    pub(crate) levels: Vec<LevelRan>,
    pub(crate) names: Arc<Names>,
    /// What was agreed with servers.
    pub(crate) facts: Vec<String>,
    pub(crate) warmup_ns: u64,
}

impl Told<'_> {
    /// As reports want it.
    pub(crate) fn findings(self) -> Findings {
        let mut facts = self.facts;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        facts.push(format!("client with {cores} cores"));
        let run = Run {
            target: self.target.clone(),
            workload: self.workload.name().to_owned(),
            description: self.workload.description().to_owned(),
            workload_sha256: self.workload.digest().to_owned(),
            seed: self.seed,
            threads: self.levels.iter().map(|level| level.threads).max().unwrap_or(0),
            warmup_s: self.warmup_ns as f64 / 1e9,
            facts,
        };
        let source = Source {
            tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
            inputs: vec![self.target],
            filters: Vec::new(),
            vantage: "client".to_owned(),
        };
        let levels: Vec<_> = self.levels.iter().map(LevelRan::as_level).collect();
        Findings::collect_run(run, &levels, &self.names, source, plimsoll_drive::status_name)
    }
}

/// The directory of the share or export that files stand in. Of an export it is what was mounted.
fn base(target: &Target) -> &str {
    if let Target::Smb(target) = target { &target.path } else { "" }
}
