//! A run's recording, level by level.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_drive::engine::so_far;
use plimsoll_model::{Coverage, Names};
use plimsoll_recording::folder::{Finished, LevelWriter, Recording};
use plimsoll_report::findings::{Findings, Run};
use plimsoll_results::record::{Measurement, RecordTo, Recorder};
use plimsoll_results::recording_findings;
use plimsoll_stats::{IntervalWidth, Options, Statistics};
use plimsoll_workload::Workload;

use super::level::{LevelResult, headline, unfinished};
use super::level_spec::LevelSpec;
use super::levels::ended_with;
use super::parts::part_result::PartResult;
use super::resume::EarlierLevels;
use super::run_spec::RunSpec;
use crate::recording_channel::{DescribeLevel, RecordingChannel, WorkerCheckpoint};

/// The recording of a run.
pub struct RunRecording<'a> {
    workload: &'a Workload,
    folder: PathBuf,
    // Levels run in sequence, on another thread than the progress display.
    state: Mutex<State>,
    /// A level could not be recorded, or the run ended without some of its levels.
    failed: AtomicBool,
}

/// What changes from level to level.
struct State {
    recorder: Recorder,
    /// The levels of a search become known one after the other.
    spec: RunSpec,
    /// Facts negotiated with servers.
    facts: Vec<String>,
}

const CLOCK: &str = "the client's monotonic clock, set once to the time since the Unix epoch";

impl<'a> RunRecording<'a> {
    /// Begins it, if one is wanted.
    ///
    /// # Errors
    /// As [`RecordTo::begin`].
    pub fn begin(to: Option<&RecordTo>, spec: &RunSpec, workload: &'a Workload) -> anyhow::Result<Option<Self>> {
        let Some(to) = to else { return Ok(None) };
        let recorder = to.begin(&measured(spec, workload, spec.run(workload, Vec::new(), 0))?, CLOCK, spec.seed)?;
        Ok(Some(Self::new(to, recorder, spec, workload)))
    }

    /// Goes on with the one that has these levels already, whose others are removed; begins one where there are none.
    ///
    /// # Errors
    /// It changed since these levels were read, or cannot be written to.
    pub fn resume(
        to: Option<&RecordTo>,
        (spec, workload): (&RunSpec, &'a Workload),
        earlier: Option<&EarlierLevels>,
    ) -> anyhow::Result<Option<Self>> {
        let Some((to, earlier)) = to.zip(earlier) else { return Self::begin(to, spec, workload) };
        let seen = &earlier.recording.manifest;
        let recorder = to.resume(spec.seed, seen, |level| earlier.finished.contains_key(&level.number))?;
        Ok(Some(Self::new(to, recorder, spec, workload)))
    }

    fn new(to: &RecordTo, recorder: Recorder, spec: &RunSpec, workload: &'a Workload) -> Self {
        let state = Mutex::new(State { recorder, spec: spec.clone(), facts: Vec::new() });
        Self { workload, folder: to.folder.clone(), state, failed: AtomicBool::new(false) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds the next level of a search, which other processes may wait for.
    ///
    /// # Errors
    /// The manifest cannot be written.
    pub(crate) fn announce(&self, level_spec: &LevelSpec) -> anyhow::Result<()> {
        let mut state = self.state();
        if let Some(variant) = state.spec.variants.first_mut() {
            variant.levels.push(level_spec.clone());
        }
        self.describe(&mut state)?;
        let written = state.recorder.writer.publish();
        self.failed.fetch_or(written.is_err(), Relaxed);
        Ok(written?)
    }

    /// The run lacks levels, but the user did not stop it.
    pub(crate) fn end_early(&self) {
        self.failed.store(true, Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Describes the measurement in the manifest that is written next.
    fn describe(&self, state: &mut State) -> anyhow::Result<()> {
        let run = state.spec.run(self.workload, state.facts.clone(), 0);
        state.recorder.writer.describe(serde_json::to_value(measured(&state.spec, self.workload, run)?)?);
        Ok(())
    }

    /// Begins a level.
    pub(super) fn level(
        &self,
        level_spec: &LevelSpec,
        workload: &Workload,
        names: &Arc<Names>,
    ) -> anyhow::Result<RecordingChannel> {
        let begun = self.begin_level(workload, level_spec, names);
        self.failed.fetch_or(begun.is_err(), Relaxed);
        begun
    }

    fn begin_level(
        &self,
        workload: &Workload,
        level_spec: &LevelSpec,
        names: &Arc<Names>,
    ) -> anyhow::Result<RecordingChannel> {
        let width = level_spec.plan.phases.measured_ns.map(IntervalWidth::of_phase);
        let State { recorder, spec, .. } = &*self.state();
        let writer = recorder.writer.begin(level_spec.plan.level, width)?;
        // As for levels that end: a load curve says how sure its points are.
        let with_intervals = spec.search.is_none() && spec.levels().count() > 1;
        let options = (width, headline(&level_spec.plan), with_intervals);
        RecordingChannel::begin(writer, recorder.sample, options, names, describe(workload, level_spec, names))
    }

    /// Ends a level: it is stored, whatever happens to later ones.
    pub(super) fn end(
        &self,
        feed: RecordingChannel,
        level: &LevelResult,
        facts: Vec<String>,
        names: &Names,
    ) -> anyhow::Result<()> {
        let ended = feed.end().and_then(|writer| self.write(writer, level, facts, names));
        self.failed.fetch_or(ended.is_err(), Relaxed);
        ended
    }

    /// Adds a level from another process; `fill` adds its intervals and rows.
    pub(crate) fn add(
        &self,
        level_spec: &LevelSpec,
        level: &LevelResult,
        names: &Names,
        fill: impl FnOnce(&mut LevelWriter),
    ) -> anyhow::Result<()> {
        let width = level_spec.plan.phases.measured_ns.map(IntervalWidth::of_phase);
        let begun = self.state().recorder.writer.begin(level_spec.plan.level, width);
        let added = begun.map_err(Into::into).and_then(|mut writer| {
            fill(&mut writer);
            self.write(writer, level, Vec::new(), names)
        });
        self.failed.fetch_or(added.is_err(), Relaxed);
        added
    }

    fn write(&self, writer: LevelWriter, level: &LevelResult, facts: Vec<String>, names: &Names) -> anyhow::Result<()> {
        let finished = finished(level, names)?;
        let mut state = self.state();
        state.facts = facts;
        self.describe(&mut state)?;
        Ok(state.recorder.writer.end(writer, finished, names)?)
    }

    /// Ends the recording; `found` is the content of its report. If the run ended before its first level, for example because the user
    /// stopped it, the recording that it was to replace returns to its place. That of a part does not: it belongs to an earlier run, and the
    /// other parts do not.
    pub fn finish<T>(self, stopped: bool, found: Result<&(Findings, T), &anyhow::Error>) -> anyhow::Result<()> {
        let state = self.state();
        let is_part = state.spec.levels().any(|(_, level)| level.plan.part.is_some());
        let restores = found.is_ok() && !is_part && state.recorder.writer.can_restore();
        drop(state);
        if restores {
            let State { recorder, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
            return Ok(recorder.writer.discard()?);
        }
        self.complete(stopped, found)
    }

    /// The same for one of several recordings, except that it stays empty if the run ended before its first level: the recording that it
    /// was to replace does not belong to the others.
    pub(crate) fn complete<T>(
        self,
        stopped: bool,
        found: Result<&(Findings, T), &anyhow::Error>,
    ) -> anyhow::Result<()> {
        // The stored levels are complete, but the measurement is not.
        let stopped = stopped || self.failed.load(Relaxed);
        let State { mut recorder, spec, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok((findings, _)) => {
                if let Some(run) = &findings.run {
                    let measured = measured(&spec, self.workload, run.clone())?;
                    recorder.writer.describe(serde_json::to_value(measured)?);
                }
                recorder.finish(stopped, findings)
            }
            Err(error) => match with_levels(&self.folder) {
                Some(findings) => recorder.finish(true, &findings.and([ended_with(error)])),
                None => {
                    recorder.give_up(error);
                    Ok(())
                }
            },
        }
    }
}

/// The findings of a recording with levels of an earlier run; `None` if it has no level that can be read.
fn with_levels(folder: &Path) -> Option<Findings> {
    let recording = Recording::open(folder).ok()?;
    let findings = recording_findings::findings(&recording, plimsoll_client::status_name).ok()?;
    (!findings.levels.is_empty()).then_some(findings)
}

/// Says what there is of a level that goes on.
fn describe(workload: &Workload, level_spec: &LevelSpec, names: &Arc<Names>) -> DescribeLevel {
    let iterations: Vec<String> = workload.iterations().map(|(name, _)| name.to_owned()).collect();
    let (mut level_spec, names) = (level_spec.clone(), Arc::clone(names));
    // It is open as long as anybody has it.
    level_spec.plan.tap = None;
    Box::new(move |all, intervals| {
        let mut statistics = Statistics::new(Options { headline: headline(&level_spec.plan), ..Options::default() });
        let mut parts = Vec::new();
        for WorkerCheckpoint { statistics: of_worker, part } in all {
            statistics.merge(of_worker);
            parts.push(part.clone());
        }
        let level = unfinished(
            (statistics, intervals),
            so_far(&level_spec.plan, parts),
            &level_spec.plan,
            &level_spec.load_name,
        );
        finished(&level.on(&level_spec).named_as(iterations.iter().cloned()), &names)
    })
}

/// What was measured, as the manifest keeps it.
fn measured(spec: &RunSpec, workload: &Workload, run: Run) -> anyhow::Result<Measurement> {
    let (workload_text, source) = (workload.text().to_owned(), spec.source());
    Ok(Measurement::Run { run: Box::new(run), workload_text, spec: serde_json::to_value(spec)?, source })
}

/// A level's data for the recording.
fn finished(level: &LevelResult, names: &Names) -> anyhow::Result<Finished> {
    let recorded = level.recorded();
    Ok(Finished {
        load_name: Some(level.load_name().to_owned()),
        span_ns: (Some(recorded.span_ns.0), Some(recorded.span_ns.1)),
        state: recorded.statistics.to_bytes(&Coverage::default(), names),
        about: serde_json::to_value(recorded)?,
        part: level.part().map(PartResult::to_bytes).transpose()?,
    })
}
