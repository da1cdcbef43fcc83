//! A run from its first level to its last, with all variants.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use plimsoll_drive::connect::{ConnectOptions, common_facts_first};
use plimsoll_model::Names;
use plimsoll_report::findings::Findings;

use super::level::LevelResult;
use super::level_spec::LevelSpec;
use super::levels::{CurveCutoff, cutoffs, ended_early, missing_levels, stopped_at};
use super::open_files;
use super::parameters::Variant;
use super::resolved_target::ResolvedTarget;
use super::run_result::RunResult;
use super::run_spec::RunSpec;
use super::runner::{PreparedTarget, Runner};

/// All that is to be measured.
pub struct Work<'a> {
    /// Each variant of the workload with its levels.
    pub variants: Vec<(&'a Variant, Vec<LevelSpec>)>,
    /// Levels that were measured before.
    pub finished: BTreeMap<u32, LevelResult>,
    /// All that these name.
    pub names: Names,
}

/// Returns the findings, and errors of everything but the measurement, such as writing a recording or deleting files.
pub fn measure(
    work: Work<'_>,
    runner: &Runner<'_>,
    resolved: &ResolvedTarget,
    connect_options: &ConnectOptions,
    spec: &RunSpec,
) -> anyhow::Result<(Findings, anyhow::Result<()>)> {
    let Work { variants, finished: mut all, mut names } = work;
    let planned = variants.iter().map(|(_, level_specs)| level_specs.len()).sum();
    let files = variants.iter().map(|(variant, level_specs)| resolved.open_files(level_specs, &variant.workload)).max();
    open_files::allow(files.unwrap_or(0))?;
    let planned_levels = || variants.iter().flat_map(|(_, level_specs)| level_specs);
    let left = missing_levels(planned_levels(), &all, runner.stop_above_s);
    // If all levels exist already, only the server's facts are queried.
    let whole = left.is_empty();
    let wanted = |level_spec: &&LevelSpec| left.contains(&level_spec.plan.level);
    let mut prepared_targets: Vec<(Option<String>, Runner<'_>, PreparedTarget, Vec<LevelSpec>)> = Vec::new();
    for (place, (variant, level_specs)) in variants.iter().enumerate() {
        let left: Vec<LevelSpec> = level_specs.iter().filter(wanted).cloned().collect();
        if !left.is_empty() || whole && place == 0 {
            let runner = Runner { workload: &variant.workload, ..*runner };
            // The files are those of all levels, including finished ones.
            let connect_options = variant.connect_options(connect_options);
            let prepared = runner.reach(resolved, &connect_options, level_specs, &mut names)?;
            prepared_targets.push((variant.curve(), runner, prepared, left));
        }
    }
    let names = Arc::new(names);
    let (mut agreed, mut notes, mut besides, mut stopped) = (Vec::new(), Vec::new(), Ok(()), false);
    for (curve, runner, prepared, level_specs) in prepared_targets {
        match runner.levels(&prepared, &names, level_specs).with_context(|| resolved.shown.clone()) {
            Ok(levels) => {
                all.extend(levels.numbers.into_iter().zip(levels.ran));
                (besides, stopped) = (levels.besides, levels.stopped);
                notes.extend(levels.notes);
            }
            Err(error) if all.is_empty() => return Err(error),
            Err(error) => besides = Err(error),
        }
        agreed.push((curve, prepared.server.facts()));
        if stopped || besides.is_err() {
            break;
        }
    }
    let mut facts = common_facts_first(&agreed);
    facts.extend(notes);
    facts.extend(cutoffs(all.values(), runner.stop_above_s).iter().map(CurveCutoff::to_string));
    facts.extend(stopped.then(|| stopped_at(all.values(), Some(planned))));
    let lacking = missing_levels(planned_levels(), &all, runner.stop_above_s);
    let lacking: Vec<String> =
        planned_levels().filter(|level| lacking.contains(&level.plan.level)).map(LevelSpec::shown).collect();
    let result =
        RunResult { spec: spec.clone(), workload: runner.workload, levels: all.into_values().collect(), names, facts };
    Ok((whole_or_early(result.findings(), &lacking, &besides, runner), besides))
}

/// The findings of a run. If it lacks levels and the user did not stop it, they have a reason that says so, and its recording is not
/// finished.
pub(crate) fn whole_or_early(
    findings: Findings,
    lacking: &[String],
    besides: &anyhow::Result<()>,
    runner: &Runner<'_>,
) -> Findings {
    let Some(reason) = ended_early(lacking, besides).filter(|_| !runner.monitor.stopped()) else { return findings };
    if let Some(recording) = runner.recording {
        recording.end_early();
    }
    findings.and([reason])
}
