//! A search for a capacity from its first run to its answer, in one process or as one part of several.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use plimsoll_drive::connect::ConnectOptions;
use plimsoll_model::Names;
use plimsoll_report::findings::Findings;

use crate::capacity::CapacitySearch;
use crate::capacity::joint::JointSearch;
use crate::capacity::spec::SearchSpec;
use crate::level::LevelResult;
use crate::levels::Levels;
use crate::open_files;
use crate::resolved_target::ResolvedTarget;
use crate::run_result::RunResult;
use crate::run_spec::RunSpec;
use crate::runner::Runner;

/// Returns the findings, and errors of everything but the measurement, such as writing a recording or deleting files. `gap` is the time from the choice of a load to its start, if this process
/// drives one part of it: then the report is of that part, and the merge of all parts has the answer.
///
/// # Errors
/// Nothing was measured, or a part cannot go on.
pub fn find_capacity(
    runner: &Runner<'_>,
    resolved: &ResolvedTarget,
    connect_options: &ConnectOptions,
    (spec, search, gap): (&RunSpec, &SearchSpec, Duration),
) -> anyhow::Result<(Findings, anyhow::Result<()>)> {
    let highest = std::slice::from_ref(&search.most);
    open_files::allow(resolved.open_files(highest, runner.workload))?;
    let mut names = Names::default();
    let prepared = runner.reach(resolved, connect_options, highest, &mut names)?;
    let names = Arc::new(names);
    let mut whole = CapacitySearch::new(search)?;
    let recording = runner.recording.filter(|_| search.has_parts());
    let mut joint = recording.map(|recording| JointSearch::new(recording, search, gap, runner.monitor)).transpose()?;
    let next = |ran: &[LevelResult]| match &mut joint {
        Some(joint) => joint.next(),
        None => whole.next(ran),
    };
    let levels = runner.run_adaptive(&prepared, &names, next).with_context(|| resolved.shown.clone())?;
    if let Some(why) = failure(&levels) {
        whole.fail(&why);
    }
    let mut facts = prepared.server.facts();
    facts.extend(levels.facts());
    let capacity = match search.most.plan.part {
        None => Some(Box::new(whole.summary(&levels.ran))),
        Some(part) => {
            facts.push(format!(
                "part {part} of a capacity search: to see the result, merge the recordings of all parts (`plimsoll merge`)"
            ));
            None
        }
    };
    let (workload, besides) = (runner.workload, levels.besides);
    let result = RunResult { spec: spec.clone(), workload, levels: levels.ran, names, facts };
    Ok((result.findings_of(capacity), besides))
}

/// Why the last level could not be run or recorded; `None` if nothing failed, or if the user stopped the search.
fn failure(levels: &Levels) -> Option<String> {
    if levels.stopped {
        return None;
    }
    let not_run = || levels.ran.last().filter(|last| !last.complete())?.validity().invalidating().first().cloned();
    levels.besides.as_ref().err().map(|error| format!("{error:#}")).or_else(not_run)
}

#[cfg(test)]
mod tests {
    use plimsoll_drive::engine::Plan;
    use plimsoll_report::collect::run::MeasuredLevel;
    use plimsoll_workload::{Load, Pause};

    use super::*;

    #[test]
    fn a_level_that_could_not_be_run_or_recorded_is_a_failure_and_one_that_was_stopped_is_none() {
        let plan = Plan::new(Load::Closed { clients: 2, think: Pause::None });
        let ran = || vec![LevelResult::not_run(&plan, "2 clients".to_owned(), &"too many open files")];
        let not_run = Levels { ran: ran(), ..Levels::default() };
        assert_eq!(failure(&not_run).as_deref(), Some("too many open files"));
        assert_eq!(failure(&Levels { stopped: true, ..not_run }), None);
        let whole = || LevelResult::of_recording(MeasuredLevel { complete: true, ..MeasuredLevel::default() });
        assert_eq!(failure(&Levels { ran: vec![whole()], ..Levels::default() }), None);
        let besides = Err(anyhow::anyhow!("the disk is full").context("r/manifest.json"));
        let not_recorded = Levels { ran: vec![whole()], besides, ..Levels::default() };
        assert_eq!(failure(&not_recorded).as_deref(), Some("r/manifest.json: the disk is full"));
    }
}
