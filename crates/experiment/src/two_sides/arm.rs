//! A driven side: its runs, and their recording.

use std::sync::Arc;

use anyhow::Context;
use plimsoll_model::Names;
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, LoadPoint};
use plimsoll_report::findings::Findings;
use plimsoll_workload::Workload;

use crate::levels::ended_with;
use crate::run_result::findings_of;
use crate::{
    LevelResult, LevelSpec, PreparedTarget, ResolvedTarget, RunRecording, RunResult, RunSpec, Runner, repeat_of,
};
use plimsoll_results::record::RecordTo;

/// A side that is ready to be driven.
pub struct Arm<'a> {
    name: String,
    /// The server itself, where it is in this process: it ends with this.
    _resolved: ResolvedTarget,
    prepared: PreparedTarget,
    level_specs: Vec<LevelSpec>,
    spec: RunSpec,
    workload: &'a Workload,
    recording: Option<RunRecording<'a>>,
    /// Levels of each run, including those of an interrupted round.
    ran: Vec<Vec<LevelResult>>,
    /// Notes about its runs.
    notes: Vec<String>,
}

impl<'a> Arm<'a> {
    /// One that has not been driven yet.
    #[must_use]
    pub fn new(
        name: String,
        (resolved, prepared): (ResolvedTarget, PreparedTarget),
        level_specs: Vec<LevelSpec>,
        (spec, workload): (RunSpec, &'a Workload),
    ) -> Self {
        Self {
            name,
            _resolved: resolved,
            prepared,
            level_specs,
            spec,
            workload,
            recording: None,
            ran: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Begins its recording, if one is wanted.
    pub fn record(&mut self, to: &RecordTo) -> anyhow::Result<()> {
        self.recording = RunRecording::begin(Some(to), &self.spec, self.workload)?;
        Ok(())
    }

    /// Runs its levels once more; `repeat` counts its runs from 0. Measurements before an error are kept.
    pub fn run(&mut self, runner: &Runner<'_>, names: &Arc<Names>, repeat: u32) -> anyhow::Result<()> {
        let runner = Runner { recording: self.recording.as_ref(), ..*runner };
        let levels = runner
            .levels(&self.prepared, names, repeat_of(&self.level_specs, repeat))
            .with_context(|| self.name.clone())?;
        let told: Vec<String> = levels.facts().into_iter().filter(|fact| !self.notes.contains(fact)).collect();
        self.notes.extend(told);
        self.ran.push(levels.ran);
        levels.besides
    }

    /// Removes its files.
    pub fn clean(&self, runner: &Runner<'_>, names: &Arc<Names>) -> anyhow::Result<()> {
        runner.levels(&self.prepared, names, Vec::new())?.besides
    }

    /// Ends its recording, if there is one, with all its runs. `error` is the error that ended the duel.
    pub fn keep(self, names: &Arc<Names>, stopped: bool, error: Option<&anyhow::Error>) -> anyhow::Result<()> {
        let Some(recording) = self.recording else { return Ok(()) };
        let levels: Vec<LevelResult> = self.ran.into_iter().flatten().collect();
        if let Some(error) = error.filter(|_| levels.is_empty()) {
            return recording.finish::<()>(true, Err(error));
        }
        let facts = [self.prepared.server.facts(), self.notes].concat();
        let told = RunResult { spec: self.spec, workload: self.workload, levels, names: Arc::clone(names), facts };
        let findings = told.findings().and(error.map(ended_with));
        recording.complete(stopped || error.is_some(), Ok(&(findings, ())))
    }

    /// Ends its recording before anything was run.
    pub fn give_up(&mut self, error: &anyhow::Error) {
        // The first error is reported; a failure to end an empty recording is not.
        let _ = self.recording.take().map(|recording| recording.finish::<()>(true, Err(error)));
    }

    /// The side's first `runs` runs for a comparison.
    pub fn contestant(&self, names: &Names, runs: usize) -> Contestant {
        self.contestant_of(names, |run| run < runs)
    }

    /// Its load levels, in words.
    pub(crate) fn levels(&self) -> Vec<String> {
        self.level_specs.iter().map(|level_spec| level_spec.load_name.clone()).collect()
    }

    /// The levels of `count` runs from run `first` (from 0) on; fewer if there are not as many.
    pub(crate) fn runs(&self, first: usize, count: usize) -> &[Vec<LevelResult>] {
        let end = first.saturating_add(count).min(self.ran.len());
        self.ran.get(first..end).unwrap_or_default()
    }

    /// The counted runs for a comparison.
    pub(crate) fn contestant_of(&self, names: &Names, counts: impl Fn(usize) -> bool) -> Contestant {
        let whole = || self.ran.iter().enumerate().filter(|(run, _)| counts(*run)).map(|(_, levels)| levels);
        let levels = self.level_specs.iter().enumerate().map(|(at, level_spec)| {
            let ran = || whole().filter_map(|levels| levels.get(at));
            let valid = ran().all(|level| level.validity().valid);
            let point = ran().map(|level| level.recorded.point()).reduce(LoadPoint::join);
            let point = point.map(|point| LoadPoint { valid, ..point });
            LevelRuns {
                level_name: level_spec.load_name.clone(),
                point,
                runs: ran().filter_map(LevelResult::measured).collect(),
                findings: None,
            }
        });
        let levels = levels.collect();
        let ran: Vec<&LevelResult> = whole().flatten().collect();
        let facts = [self.prepared.server.facts(), self.notes.clone()].concat();
        let findings = findings_of((&self.spec, self.workload), &ran, names, facts, |run| run);
        Contestant { findings: Findings { name: self.name.clone(), ..findings }, levels }
    }
}
