//! A workload on a server, level by level, and what is told of it. `plimsoll run` and `plimsoll demo` share it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use plimsoll_client::target::Target;
use plimsoll_drive::connect::{self, ConnectOptions, Connector, Lease, Work};
use plimsoll_drive::engine::{Setup, Watch};
use plimsoll_drive::tap::Tap;
use plimsoll_model::{Names, Reason};
use plimsoll_report::findings::calls::Calls;
use plimsoll_report::findings::capacity::Capacity;
use plimsoll_report::findings::{Findings, Run};
use plimsoll_workload::{FileSet, Workload};

use super::chosen::Chosen;
use super::files::Files;
use super::level::{self, LevelResult};
use super::level_spec::LevelSpec;
use super::recorded::Recorded;
use super::sink::{Kept, Table};
use super::spec::RunSpec;
use super::watching::Watching;
use crate::error::all_of;
use crate::server_side::ServerSideWatch;

/// What is driven, and who looks on.
pub struct Drive<'a> {
    /// What clients do.
    pub workload: &'a Workload,
    /// Who looks on.
    pub watching: &'a dyn Watching,
    /// Where every transaction goes.
    pub table: Option<&'a Table>,
    /// What goes over the sockets.
    pub tap: Option<&'a Arc<Tap>>,
    /// Where levels are kept.
    pub recording: Option<&'a Recorded<'a>>,
    /// Whether levels keep their numbers by time.
    pub by_time: ByTime,
    /// A request without an answer is given up after so long.
    pub timeout_ns: u64,
    /// The levels of a load curve end with the one whose mean response time is above this, s.
    pub stop_above_s: Option<f64>,
    /// What its files are called besides, so that several runs can have some on one share.
    pub file_set: Option<&'a str>,
    /// The workload's files go when it is over.
    pub remove_files: bool,
    /// Who looks at the server's own numbers.
    pub server_side: Option<&'a ServerSideWatch>,
    /// How busy the client is spoils nothing: it is part of what is measured.
    pub may_be_busy: bool,
}

/// Numbers by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByTime {
    /// Nobody wants them.
    None,
    /// They say how sure a level's numbers are, and are forgotten.
    Used,
    /// A comparison wants them.
    Kept,
}

/// A server, and where the workload's files are on it.
pub struct Site {
    /// The server.
    pub server: Arc<dyn Connector>,
    set: Arc<FileSet>,
    /// Other processes can reach it, too.
    shared: bool,
}

impl<'a> Drive<'a> {
    /// Drives with this workload, and nothing besides: no table, tap or recording, no numbers by time, files left in place.
    pub fn new(workload: &'a Workload, watching: &'a dyn Watching, timeout_ns: u64) -> Self {
        let (table, tap, recording, server_side, stop_above_s) = (None, None, None, None, None);
        let (by_time, file_set, remove_files, may_be_busy) = (ByTime::None, None, false, false);
        Self {
            workload,
            watching,
            table,
            tap,
            recording,
            by_time,
            timeout_ns,
            stop_above_s,
            file_set,
            remove_files,
            server_side,
            may_be_busy,
        }
    }

    /// Finds the server of a target. `names` takes everything that transactions will name.
    pub fn reach(
        &self,
        chosen: &Chosen,
        wishes: &ConnectOptions,
        steps: &[LevelSpec],
        names: &mut Names,
    ) -> anyhow::Result<Site> {
        super::fitting::check(self.workload, &chosen.target, steps)?;
        let wishes = ConnectOptions { timeout: Duration::from_nanos(self.timeout_ns), ..wishes.clone() };
        let server = Arc::from(connect::open(&chosen.target, &wishes, names)?);
        let stations = steps.iter().map(|step| step.plan.load.clients()).max().unwrap_or(1);
        let set = FileSet::called(self.file_set, self.workload, base(&chosen.target), stations, names)?;
        Ok(Site { server, set: Arc::new(set), shared: !chosen.is_embedded() })
    }

    /// Runs every level, with the files in place.
    ///
    /// # Errors
    /// There is nothing to report: no level was run. What goes wrong afterwards is in what it returns.
    pub fn levels(&self, site: &Site, names: &Arc<Names>, steps: Vec<LevelSpec>) -> anyhow::Result<Levels> {
        let (planned, mut steps) = (steps.len(), steps.into_iter());
        let mut levels = self.climb(site, names, |_| Ok(steps.next()))?;
        levels.planned = Some(planned);
        Ok(levels)
    }

    /// Runs level after level, with the files in place; `next` sees what was measured so far and says what comes.
    ///
    /// # Errors
    /// There is nothing to report: no level was run. What goes wrong afterwards is in what it returns.
    pub fn climb(
        &self,
        site: &Site,
        names: &Arc<Names>,
        next: impl FnMut(&[LevelResult]) -> anyhow::Result<Option<LevelSpec>>,
    ) -> anyhow::Result<Levels> {
        self.watching.catch()?;
        let Site { server, set, shared } = site;
        let (set, with) = (Arc::clone(set), Arc::clone(names));
        let (watching, timeout_ns) = (self.watching, self.timeout_ns);
        let files = Files { server, set, shared: *shared, names: with, watching, timeout_ns };
        let found = match files.look() {
            // What was stopped half-way is no failure, whatever it looks like.
            Err(_) if watching.stopped() => return Ok(Levels { stopped: true, ..Levels::default() }),
            found => found?,
        };
        let lease = files.lease()?;
        let ready = match files.make(found) {
            Err(_) if watching.stopped() => Ok(false),
            made => made.map(|()| true),
        };
        let ran = ready.and_then(|ready| self.climb_with(site, names, (lease.as_ref(), ready), next));
        // However it ended: what was made goes, and others may have the files.
        let removed = match () {
            () if watching.abandoned() => Ok(()),
            () if self.remove_files => files.remove(),
            () if *shared && self.workload.makes_its_own() && ran.as_ref().is_ok_and(|ran| !ran.ran.is_empty()) => {
                files.remove_leftovers().context("private files of this run may be left")
            }
            () => Ok(()),
        };
        let mut levels = match ran {
            Ok(levels) => levels,
            Err(error) => return all_of([Err(error), removed]).map(|()| Levels::default()),
        };
        match removed {
            Err(error) if !self.remove_files => levels.remarks.push(format!("{error:#}")),
            removed => levels.besides = all_of([levels.besides, removed]),
        }
        if let Some(lease) = lease {
            levels.remarks.extend(lease.note.clone());
            levels.remarks.extend(lease.release(|| self.watching.abandoned()).err());
        }
        Ok(levels)
    }

    /// The same with the files there (where they are `ready`) and a lease on them, where one is wanted.
    fn climb_with(
        &self,
        site: &Site,
        names: &Arc<Names>,
        (lease, ready): (Option<&Lease>, bool),
        mut next: impl FnMut(&[LevelResult]) -> anyhow::Result<Option<LevelSpec>>,
    ) -> anyhow::Result<Levels> {
        let mut levels = Levels::default();
        let scenarios = Box::new(|station, lane, seed| self.workload.scenario(&site.set, station, lane, seed));
        let work = Work { server: &*site.server, scenarios, names: Arc::clone(names) };
        while let Some(mut step) = next(&levels.ran)? {
            if !ready || self.watching.stopped() {
                levels.stopped = true;
                break;
            }
            if levels.cuts.iter().any(|cut| cut.curve == step.curve) {
                continue;
            }
            step.plan.tap = self.tap.cloned();
            match self.level(levels.ran.is_empty(), &step, (site, lease), &work, names) {
                Ok(Level { ran, whole, recorded }) => {
                    levels.cuts.extend(self.stop_above_s.and_then(|limit_s| Cut::after(&ran, limit_s)));
                    levels.ran.push(ran);
                    levels.numbers.push(step.plan.stage.unwrap_or(0));
                    levels.besides = recorded;
                    if !whole || levels.besides.is_err() {
                        break;
                    }
                }
                Err(error) if levels.ran.is_empty() => return Err(error),
                Err(error) => {
                    levels.besides = Err(error);
                    break;
                }
            }
        }
        levels.remarks = self.workload.take_remarks();
        Ok(levels)
    }

    /// Runs one level. Where the `first` cannot be run, that is an error; what was measured before a later one is not lost
    /// with it.
    fn level(
        &self,
        first: bool,
        step: &LevelSpec,
        (site, lease): (&Site, Option<&Lease>),
        setup: &dyn Setup,
        names: &Arc<Names>,
    ) -> anyhow::Result<Level> {
        let LevelSpec { plan, words, .. } = step;
        let feed = self.recording.map(|recording| recording.stage(step, names)).transpose()?;
        let kept = Kept { table: self.table, recording: feed.as_ref(), by_time: self.by_time != ByTime::None };
        let run = |watch: &Watch| level::run(plan, words, setup, kept, watch);
        let (ran, whole) = match self.watching.during(words, run) {
            Ok(ran) => (ran, true),
            Err(error) if first => return Err(error.into()),
            Err(error) => (LevelResult::not_run(plan, words.clone(), &error), false),
        };
        let ran = if self.by_time == ByTime::Kept { ran } else { ran.without_intervals() };
        let ran = if self.may_be_busy { ran.without_busy_client() } else { ran };
        let ran = ran.on(step).named(self.workload).beside(self.server_side);
        let ran = ran.against(lease.and_then(Lease::lost).map(Reason::invalid));
        let recorded = match self.recording.zip(feed) {
            Some((recording, feed)) => recording.end(feed, &ran, site.server.facts(), names),
            None => Ok(()),
        };
        Ok(Level { ran, whole, recorded })
    }
}

/// What came of one level.
struct Level {
    ran: LevelResult,
    /// It could be run.
    whole: bool,
    /// Whether it went to the recording, where there is one.
    recorded: anyhow::Result<()>,
}

/// What came of the levels.
pub struct Levels {
    /// The results, in order.
    pub ran: Vec<LevelResult>,
    /// Their stages' numbers.
    pub numbers: Vec<u32>,
    /// How many there were to be; `None` where that depends on what is measured.
    planned: Option<usize>,
    /// Somebody stopped it before all were begun.
    pub stopped: bool,
    /// Load curves that ended where the server had become too slow.
    cuts: Vec<Cut>,
    /// What the workload has to tell besides.
    pub(super) remarks: Vec<String>,
    /// What failed besides the measuring: the recording, or to remove the files.
    pub besides: anyhow::Result<()>,
}

impl Default for Levels {
    fn default() -> Self {
        let (cuts, remarks) = (Vec::new(), Vec::new());
        Self { ran: Vec::new(), numbers: Vec::new(), planned: None, stopped: false, cuts, remarks, besides: Ok(()) }
    }
}

impl Levels {
    /// What is worth telling besides.
    pub fn facts(&self) -> Vec<String> {
        let stopped = || stopped_at(self.ran.len(), self.planned);
        let cuts = self.cuts.iter().map(Cut::to_string);
        self.stopped.then(stopped).into_iter().chain(cuts).chain(self.remarks.iter().cloned()).collect()
    }
}

/// Where a load curve ended because the server had become too slow.
pub(super) struct Cut {
    pub(super) curve: Option<String>,
    level: String,
    mean_s: f64,
    limit_s: f64,
}

impl Cut {
    /// `None` where the level was quick enough.
    pub(super) fn after(ran: &LevelResult, limit_s: f64) -> Option<Self> {
        let curve = ran.curve().map(str::to_owned);
        let mean_s = ran.mean_response_s().filter(|mean_s| *mean_s > limit_s)?;
        Some(Self { curve, level: ran.words().to_owned(), mean_s, limit_s })
    }
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { curve, level, mean_s, limit_s } = self;
        let curve = curve.as_ref().map_or_else(String::new, |curve| format!(" of {curve}"));
        let (mean, limit) = (mean_s * 1e3, limit_s * 1e3);
        write!(f, "no levels{curve} after {level}: their mean response time of {mean:.3} ms is above {limit} ms")
    }
}

/// What is told of a run that somebody stopped.
pub(super) fn stopped_at(ran: usize, planned: Option<usize>) -> String {
    let of = planned.map_or_else(String::new, |planned| format!(" of {planned}"));
    format!("stopped by the user when {ran}{of} load levels were run")
}

/// Everything that a report tells of a run.
pub struct Told<'a> {
    /// All that was asked for.
    pub spec: RunSpec,
    /// What clients did.
    pub workload: &'a Workload,
    /// The levels, in order.
    pub levels: Vec<LevelResult>,
    /// Resolves what they name.
    pub names: Arc<Names>,
    /// What was agreed with servers.
    pub facts: Vec<String>,
}

impl Told<'_> {
    /// As reports want it.
    pub fn findings(self) -> Findings {
        self.findings_of(None)
    }

    /// The same of a search for a capacity.
    pub fn findings_of(self, capacity: Option<Box<Capacity>>) -> Findings {
        self.findings_with(|run| Run { capacity, ..run })
    }

    /// The same with where the time of calls goes.
    pub fn findings_of_calls(self, calls: Calls) -> Findings {
        self.findings_with(|run| Run { calls: Some(Box::new(calls)), ..run })
    }

    fn findings_with(self, more: impl FnOnce(Run) -> Run) -> Findings {
        let levels: Vec<&LevelResult> = self.levels.iter().collect();
        findings_of((&self.spec, self.workload), &levels, &self.names, self.facts, more)
    }
}

/// What a report shows of these levels of a run of a workload.
pub(crate) fn findings_of(
    (spec, workload): (&RunSpec, &Workload),
    ran: &[&LevelResult],
    names: &Names,
    facts: Vec<String>,
    more: impl FnOnce(Run) -> Run,
) -> Findings {
    let threads = ran.iter().map(|level| level.threads).max().unwrap_or(0);
    let run = more(spec.run(workload, facts, threads));
    let levels: Vec<_> = ran.iter().map(|level| level.as_level()).collect();
    let mut findings = Findings::collect_run(run, &levels, names, spec.source(), plimsoll_client::status_name);
    findings.warnings.extend(ran.iter().filter_map(|level| level.caution()));
    findings
}

/// The directory of the share or export that files stand in. Of an export it is what was mounted.
pub(crate) fn base(target: &Target) -> &str {
    if let Target::Smb(target) = target { &target.path } else { "" }
}
