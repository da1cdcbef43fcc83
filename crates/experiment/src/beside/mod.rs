//! A run of several workloads at the same time, and of each alone: what one does to the other.

pub(crate) mod companion;
mod companion_request;
mod jobs;

use std::sync::Arc;

use anyhow::Context;
use plimsoll_client::target::Target;
use plimsoll_drive::connect::{ConnectOptions, Lease, Work};
use plimsoll_drive::engine::{EngineError, Rendezvous};
use plimsoll_model::{Names, Reason};
use plimsoll_report::findings::Findings;
use plimsoll_workload::Workload;

use self::companion::threads;
use self::jobs::{Job, at_once};
use crate::level::{EARLY_END, LevelResult};
use crate::level_spec::LevelSpec;
use crate::levels::{Levels, stopped_at};
use crate::measure::whole_or_early;
use crate::measured_together::MeasuredTogether;
use crate::open_files;
use crate::resolved_target::ResolvedTarget;
use crate::run_result::RunResult;
use crate::run_spec::RunSpec;
use crate::runner::{PreparedTarget, Runner};
use crate::sink::SinkOptions;
use plimsoll_results::all_of;

pub use companion_request::{Companion, ROUNDS_BESIDE, add_companions};

/// A workload with its files and its server.
struct Party<'a> {
    runner: Runner<'a>,
    prepared: PreparedTarget,
}

/// Leases on the files of all workloads.
struct Held<'a> {
    leases: &'a [Lease],
    others: Option<&'a Held<'a>>,
}

impl Held<'_> {
    /// Why one of them is ours no longer.
    fn lost(&self) -> Option<String> {
        self.leases.iter().find_map(Lease::lost).or_else(|| self.others.and_then(Held::lost))
    }
}

/// Runs the levels of `spec`, whose workloads besides the runner's are `companions`. What a report shows, and what failed besides the
/// measuring.
///
/// # Errors
/// Nothing was measured.
pub fn measure_beside(
    runner: &Runner<'_>,
    companions: &[Workload],
    resolved: &ResolvedTarget,
    connect_options: &ConnectOptions,
    spec: &RunSpec,
) -> anyhow::Result<(Findings, anyhow::Result<()>)> {
    let mut names = Names::default();
    let workloads: Vec<&Workload> = std::iter::once(runner.workload).chain(companions).collect();
    let level_specs = planned(spec, workloads.len(), resolved);
    let of = |place: usize| -> Vec<LevelSpec> {
        level_specs.iter().filter(|level| place_of(level) == place).cloned().collect()
    };
    let files = workloads.iter().enumerate().map(|(place, workload)| resolved.open_files(&of(place), workload)).sum();
    open_files::allow(files)?;
    let mut parties = Vec::new();
    for (place, workload) in workloads.iter().enumerate() {
        let runner = Runner { workload, ..*runner };
        let prepared = runner.reach(resolved, connect_options, &of(place), &mut names)?;
        parties.push(Party { runner, prepared });
    }
    let names = Arc::new(names);
    let levels = with_files(&parties, &Ready { parties: &parties, held: None, names: &names }, &level_specs);
    let levels = levels.with_context(|| resolved.shown.clone())?;
    let mut facts: Vec<String> = Vec::new();
    for fact in parties.iter().flat_map(|party| party.prepared.server.facts()).chain(levels.notes) {
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    facts.extend(levels.stopped.then(|| stopped_at(&levels.ran, Some(level_specs.len()))));
    let (workload, ran, besides) = (runner.workload, levels.ran, levels.besides);
    let lacking: Vec<String> = level_specs.iter().skip(ran.len()).map(words_of).collect();
    let result = RunResult { spec: spec.clone(), workload, levels: ran, names, facts };
    Ok((whole_or_early(result.findings(), &lacking, &besides, runner), besides))
}

/// The levels as they are run here.
fn planned(spec: &RunSpec, workloads: usize, resolved: &ResolvedTarget) -> Vec<LevelSpec> {
    let mut level_specs: Vec<LevelSpec> = spec.levels().map(|(_, level)| level.clone()).collect();
    for level in &mut level_specs {
        // Calls of the system block: there each connection has a thread in any case.
        if !matches!(resolved.target, Target::Path(_)) {
            level.plan.threads = threads(&level.plan, workloads);
        }
        // Threads that keep processors awake are needed once.
        level.plan.no_cpu_idle &= !is_together(level) || place_of(level) == 0;
    }
    level_specs
}

fn place_of(level: &LevelSpec) -> usize {
    level.share.as_ref().map_or(0, |share| share.place as usize)
}

fn is_together(level: &LevelSpec) -> bool {
    level.share.as_ref().is_some_and(|share| !share.beside.is_empty())
}

/// Makes the files of the parties that are `left`, one after the other, and runs all levels when they are there.
fn with_files(left: &[Party<'_>], made: &Ready<'_>, level_specs: &[LevelSpec]) -> anyhow::Result<Levels> {
    let Some((party, left)) = left.split_first() else { return made.run(level_specs) };
    party.runner.with_files(&party.prepared, made.names, |leases, ready| match ready {
        true => with_files(left, &Ready { held: Some(&Held { leases, others: made.held }), ..*made }, level_specs),
        false => Ok(Levels { stopped: true, ..Levels::default() }),
    })
}

/// Workloads whose files are there.
struct Ready<'a> {
    parties: &'a [Party<'a>],
    /// Leases on the files.
    held: Option<&'a Held<'a>>,
    names: &'a Arc<Names>,
}

impl Ready<'_> {
    /// Runs all levels; those of workloads that run at the same time follow each other in `level_specs`.
    fn run(&self, level_specs: &[LevelSpec]) -> anyhow::Result<Levels> {
        let mut levels = Levels::default();
        let mut left = level_specs;
        while let Some(first) = left.first() {
            let (group, rest) = left.split_at(if is_together(first) { self.parties.len().min(left.len()) } else { 1 });
            left = rest;
            if self.parties.iter().any(|party| party.runner.monitor.stopped()) {
                levels.stopped = true;
                break;
            }
            if !levels.add(self.measured(group, levels.ran.is_empty()))? {
                break;
            }
        }
        levels.notes = self.parties.iter().flat_map(|party| party.runner.workload.take_remarks()).collect();
        Ok(levels)
    }

    /// Runs levels at the same time, between two calls of the hook, where there is one.
    fn measured(&self, group: &[LevelSpec], first: bool) -> anyhow::Result<MeasuredTogether> {
        let (Some(Party { runner, .. }), Some(level_spec)) = (self.parties.first(), group.first()) else {
            return self.together(group, first);
        };
        MeasuredTogether::between_hooks(runner.phase_hook, level_spec, runner.monitor, || self.together(group, first))
    }

    /// Runs levels at the same time. If one of them fails and they are the `first`, that is an error.
    fn together(&self, group: &[LevelSpec], first: bool) -> anyhow::Result<MeasuredTogether> {
        let rendezvous = (group.len() > 1).then(|| Arc::new(Rendezvous::new(group.len() as u32)));
        let mut begun = Vec::new();
        for level_spec in group {
            let mut level_spec = level_spec.clone();
            let party = self
                .parties
                .get(place_of(&level_spec))
                .context("a level belongs to a workload that is not part of the run")?;
            level_spec.plan.tap = party.runner.tap.cloned();
            level_spec.plan.rendezvous.clone_from(&rendezvous);
            let feed = party.runner.begin(&level_spec, &party.prepared, self.names)?;
            begun.push((party, level_spec, feed));
        }
        let works: Vec<Work<'_>> =
            begun.iter().map(|(party, ..)| party.runner.work(&party.prepared, Arc::clone(self.names))).collect();
        let jobs: Vec<Job<'_>> = begun
            .iter()
            .zip(&works)
            .enumerate()
            .map(|(place, ((party, level_spec, feed), work))| {
                let options = party.runner.options(&party.prepared, feed.as_ref());
                // Whoever looks on sees the first of them.
                Job { level_spec, work, options: SinkOptions { live: options.live.filter(|_| place == 0), ..options } }
            })
            .collect();
        let monitor = begun.first().map(|(party, ..)| party.runner.monitor).context("no level")?;
        let ran = monitor.during(&words(group), |watch| at_once(&jobs, watch));
        drop(jobs);
        let failed =
            ran.iter().zip(group).find_map(|(ran, level)| Some((ran.as_ref().err()?.to_string(), level.shown())));
        if let (Some((why, level)), true) = (&failed, first) {
            anyhow::bail!("{level}: {why}");
        }
        let lost = self.held.and_then(Held::lost);
        let gone: Vec<Option<Reason>> = (0..ran.len()).map(|place| gone_beside(&ran, group, place)).collect();
        let (mut levels, mut recorded) = (Vec::new(), Ok(()));
        for (((party, level_spec, feed), ran), gone) in begun.into_iter().zip(ran).zip(gone) {
            let ran = match (ran, &failed) {
                (Ok(ran), None) => ran,
                // What ran without the others is not what was asked for.
                (_, failed) => {
                    let why = failed.as_ref().map_or_else(String::new, |(why, level)| format!("{level}: {why}"));
                    LevelResult::not_run(&level_spec.plan, level_spec.load_name.clone(), &why)
                }
            };
            let ran = ran.against(lost.clone().map(Reason::invalid)).against(gone);
            let (ran, kept) = party.runner.end(ran, &level_spec, &party.prepared, feed, self.names);
            recorded = all_of([recorded, kept]);
            levels.push(ran);
        }
        Ok(MeasuredTogether { ran: levels, whole: failed.is_none(), recorded })
    }
}

/// The reason against the level at `place` if a workload that ran at the same time ended early, because all its clients had given up.
fn gone_beside(ran: &[Result<LevelResult, EngineError>], group: &[LevelSpec], place: usize) -> Option<Reason> {
    let mut others = ran.iter().zip(group).enumerate().filter(|(other, _)| *other != place);
    others.find_map(|(_, (ran, level_spec))| {
        let ran = ran.as_ref().ok().filter(|ran| ran.gave_up())?;
        // Other faults of that workload are its own.
        let (verdict, _) = ran.validity().each_reason().find(|(_, text)| text.starts_with(EARLY_END))?;
        let text = format!(
            "{} ran at the same time for only {:.1} s, because all its clients had stopped their attempts to connect",
            words_of(level_spec),
            ran.seconds()
        );
        Some(Reason { verdict, text })
    })
}

/// What runs, in words.
fn words(group: &[LevelSpec]) -> String {
    group.iter().map(words_of).collect::<Vec<_>>().join(" beside ")
}

fn words_of(level: &LevelSpec) -> String {
    let name = level.share.as_ref().map_or("", |share| share.workload.as_str());
    format!("{name} ({})", level.load_name)
}

#[cfg(test)]
mod tests {
    use plimsoll_client::operation::Cause;
    use plimsoll_drive::engine::{ClientTally, GivenUp, Plan};
    use plimsoll_model::Verdict;
    use plimsoll_stats::{Options, Statistics};
    use plimsoll_workload::{Load, Pause, Phases};

    use super::*;
    use crate::level::ended;
    use crate::tests::connection_failures::ran;

    #[test]
    fn a_workload_that_ended_early_was_not_beside_the_others_all_the_time() {
        let phases = Phases { measured_ns: Some(60_000_000_000), ..Phases::default() };
        let plan = Plan { phases, ..Plan::new(Load::Closed { clients: 1, think: Pause::None }) };
        let group = ["1 client", "2 clients"].map(|load_name| {
            let (load_name, plan) = (load_name.to_owned(), plan.clone());
            LevelSpec { load_name, plan, curve: None, parameter: None, share: None }
        });
        let measured = |given_up: Option<GivenUp>, seconds: i64| {
            // Half of its actions failed, which is no fault of the load beside it.
            let errors = vec![(Cause::Status, 10)];
            let client = ClientTally { actions: 10, errors, given_up, ..ClientTally::default() };
            let ran = ran(vec![client], (0, seconds * 1_000_000_000));
            Ok(ended(Statistics::new(Options::default()), None, ran, &plan, "some load"))
        };
        let gone = |seconds: i64| measured(Some(GivenUp { since: 0, slots: 1 }), seconds);
        let late: [Result<LevelResult, EngineError>; 2] = [measured(None, 60), gone(50)];
        assert_eq!(gone_beside(&late, &group, 0).map(|reason| reason.verdict), Some(Verdict::Partial));
        let both: [Result<LevelResult, EngineError>; 2] = [measured(None, 60), gone(10)];
        let reason = gone_beside(&both, &group, 0).unwrap();
        assert_eq!(reason.verdict, Verdict::Invalid);
        assert!(reason.text.contains("(2 clients) ran at the same time for only 10.0 s"), "{reason:?}");
        assert_eq!(gone_beside(&both, &group, 1), None, "it ran for the whole time");
    }
}
