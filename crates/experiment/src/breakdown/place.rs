//! Where calls are made: the target, and a local directory. Every phase is run there.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use plimsoll_client::target::Target;
use plimsoll_drive::connect::{ConnectOptions, Connector};
use plimsoll_model::Names;

use super::calls::{CallSpec, Phase};
use super::parts::calls_of;
use crate::child_command::child_command;
use crate::level::LevelResult;
use crate::level_spec::LevelSpec;
use crate::monitor::Monitor;
use crate::resolved_target::ResolvedTarget;
use crate::runner::{PreparedTarget, Runner};
use crate::server_side::{ServerMetrics, ServerSideWatch};
use plimsoll_results::Usage;

/// A phase with too few calls is repeated with a longer duration: this factor times the estimated time for enough calls, or, without any
/// call, times its duration.
const MORE: f64 = 1.25;
const MUCH_MORE: f64 = 10.0;
/// Times that a phase is run, at most.
const ATTEMPTS: usize = 3;
/// The longest phase, ns: an hour.
const LONGEST: f64 = 3.6e12;

/// The directory for calls without a server.
pub(super) struct Local {
    pub(super) resolved: ResolvedTarget,
    /// It is ours, and goes with us.
    temporary: Option<PathBuf>,
}

impl Local {
    /// The target of this URL, or a temporary directory.
    pub(super) fn new(url: Option<&str>) -> anyhow::Result<Self> {
        let Some(url) = url else {
            let path = std::env::temp_dir().join(format!("plimsoll-breakdown-{}", std::process::id()));
            std::fs::create_dir(&path).with_context(|| path.display().to_string())?;
            let temporary = Some(path.clone());
            return Ok(Self { resolved: ResolvedTarget::start(Target::Path(path))?, temporary });
        };
        let target = Target::parse(url).map_err(|error| Usage(error.to_string()))?;
        if !matches!(target, Target::Path(_)) {
            return Err(Usage(format!("--local {target}: expected a local directory, file:///path")).into());
        }
        Ok(Self { resolved: ResolvedTarget::start(target)?, temporary: None })
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Some(path) = &self.temporary {
            // Remaining files are in the system's folder for temporary files.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// Where the server's processor time comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerCpuSource {
    /// From its process on this machine.
    Process,
    /// From an exporter, for the whole machine.
    Machine,
    /// From this process, without the client's part.
    ThisProcess,
    /// From nowhere.
    Nowhere,
}

impl ServerCpuSource {
    pub(super) fn of(resolved: &ResolvedTarget, metrics: Option<&ServerMetrics>) -> Self {
        match metrics {
            Some(ServerMetrics::Process(_)) => Self::Process,
            Some(ServerMetrics::Exporter { .. }) => Self::Machine,
            // Disks have no processors.
            Some(ServerMetrics::Disks) => Self::Nowhere,
            None if resolved.is_embedded() => Self::ThisProcess,
            None => Self::Nowhere,
        }
    }

    /// Begins to look there.
    pub(super) fn watch(&self, metrics: Option<&ServerMetrics>) -> anyhow::Result<Option<ServerSideWatch>> {
        match self {
            Self::ThisProcess => this_process().map(Some),
            _ => metrics.map(ServerSideWatch::start).transpose(),
        }
    }
}

/// Looks at this process.
pub(super) fn this_process() -> anyhow::Result<ServerSideWatch> {
    ServerSideWatch::start(&ServerMetrics::Process(std::process::id()))
}

/// A target that was found, once for each phase.
pub(super) struct Place<'a> {
    resolved: &'a ResolvedTarget,
    prepared_targets: Vec<(&'a Phase, Runner<'a>, PreparedTarget)>,
    /// Number of its first level.
    first: usize,
    /// It is the local directory.
    local: bool,
}

/// Results of a place's phases.
pub(super) struct Ran<'a> {
    pub(super) levels: Vec<(&'a Phase, LevelResult)>,
    pub(super) facts: Vec<String>,
    /// Failures that do not change the measurement.
    pub(super) besides: anyhow::Result<()>,
}

impl<'a> Place<'a> {
    /// Finds the server of a target. `names` takes everything that transactions will name.
    pub(super) fn reach(
        resolved: &'a ResolvedTarget,
        phases: &'a [Phase],
        (connect_options, monitor): (&ConnectOptions, &'a dyn Monitor),
        (watch, first, local): (Option<&'a ServerSideWatch>, usize, bool),
        names: &mut Names,
        (spec, remove_files): (&CallSpec, bool),
    ) -> anyhow::Result<Self> {
        let mut prepared_targets = Vec::new();
        for phase in phases {
            let runner = Runner {
                server_side: watch,
                remove_files,
                // The client is part of the measurement, so its CPU usage is a result.
                client_is_measured: true,
                ..Runner::new(&phase.workload, monitor, spec.timeout_ns)
            };
            let connect_options = ConnectOptions { reading: phase.reading, ..connect_options.clone() };
            let prepared = runner.reach(resolved, &connect_options, &[spec.level(phase, 0, local)], names)?;
            prepared_targets.push((phase, runner, prepared));
        }
        Ok(Self { resolved, prepared_targets, first, local })
    }

    /// Runs every phase, until the run is stopped or one fails; earlier measurements are kept.
    pub(super) fn run(&self, spec: &CallSpec, names: &Arc<Names>) -> Ran<'a> {
        let mut ran = Ran { levels: Vec::new(), facts: Vec::new(), besides: Ok(()) };
        let mut facts: Vec<(&str, Vec<String>)> = Vec::new();
        for (number, (phase, runner, prepared)) in (self.first..).zip(&self.prepared_targets) {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let level = spec.level(phase, number, self.local);
            let next = |ran: &[LevelResult]| {
                let next = next(ran, &level, phase, spec.calls);
                // After the files were created, which puts them into the server's cache.
                if next.is_some() {
                    self.empty_caches(phase, spec)?;
                }
                Ok(next)
            };
            let results = match runner.run_adaptive(prepared, names, next).with_context(|| self.resolved.shown.clone())
            {
                Ok(results) => results,
                Err(error) => {
                    ran.besides = Err(error);
                    break;
                }
            };
            facts.push((phase.call, prepared.server.facts().into_iter().chain(results.facts()).collect()));
            // A repeated phase replaces its earlier runs.
            ran.levels.extend(results.ran.into_iter().last().map(|level| (*phase, level)));
            ran.besides = results.besides;
            if results.stopped || ran.besides.is_err() || runner.monitor.stopped() {
                break;
            }
        }
        ran.facts = facts_of(&facts);
        ran
    }

    /// Runs the command that does it, where there is one, before what reads from a server.
    fn empty_caches(&self, phase: &Phase, spec: &CallSpec) -> anyhow::Result<()> {
        match &spec.empty_caches {
            Some(command) if phase.reads() && !self.local => empty_caches(command),
            _ => Ok(()),
        }
    }

    /// The server, if Plimsoll's clients connect to it.
    pub(super) fn server(&self) -> Option<&dyn Connector> {
        self.prepared_targets
            .first()
            .map(|(_, _, prepared)| &*prepared.server)
            .filter(|server| server.address().is_some())
    }

    /// Whether Plimsoll's clients connect to it.
    pub(super) fn is_connected(&self) -> bool {
        self.resolved.is_connected()
    }

    /// Whether it is the local directory.
    pub(super) fn is_local(&self) -> bool {
        self.local
    }

    pub(super) fn phases(&self) -> usize {
        self.prepared_targets.len()
    }
}

/// The facts of phases, without duplicates. A fact of a single phase has the name of its call, because phases differ in slots and notes.
fn facts_of(phases: &[(&str, Vec<String>)]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (call, facts) in phases {
        for fact in facts {
            let with_it = phases.iter().filter(|(_, facts)| facts.contains(fact)).count();
            let shown = if with_it < phases.len().min(2) { format!("{call}: {fact}") } else { fact.clone() };
            if !all.contains(&shown) {
                all.push(shown);
            }
        }
    }
    all
}

/// The phase, and the phase again where it brought too few calls.
fn next(ran: &[LevelResult], level: &LevelSpec, phase: &Phase, wanted: u32) -> Option<LevelSpec> {
    let Some(last) = ran.last() else { return Some(level.clone()) };
    let calls = calls_of(last, phase).answered();
    if !last.complete() || calls >= u64::from(wanted) || ran.len() >= ATTEMPTS {
        return None;
    }
    let more = if calls == 0 { MUCH_MORE } else { MORE * f64::from(wanted) / calls as f64 };
    let mut longer = level.clone();
    longer.plan.phases.measured_ns = Some((last.seconds() * 1e9 * more).min(LONGEST) as u64);
    Some(longer)
}

fn empty_caches(command: &str) -> anyhow::Result<()> {
    let output = child_command("sh").args(["-c", command]).output().context("sh")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "--empty-caches {command}: {}: {}", output.status, said.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_phase_hides_the_facts_of_another() {
        let phase = |call, facts: &[&str]| (call, facts.iter().map(|fact| (*fact).to_owned()).collect::<Vec<_>>());
        let one = phase("null", &["NFS 4.1", "1 slot per session", "the lease is still there"]);
        assert_eq!(facts_of(std::slice::from_ref(&one)), ["NFS 4.1", "1 slot per session", "the lease is still there"]);
        let others = [phase("random", &["NFS 4.1", "1 slot per session"]), phase("ahead", &["NFS 4.1", "8 slots"])];
        let all = [&[one][..], &others[..]].concat();
        let expected = ["NFS 4.1", "1 slot per session", "null: the lease is still there", "ahead: 8 slots"];
        assert_eq!(facts_of(&all), expected);
    }
}
