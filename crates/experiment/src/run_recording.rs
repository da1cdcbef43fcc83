//! A run's recording: a stage a load level.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_drive::engine::so_far;
use plimsoll_model::{Coverage, Names};
use plimsoll_recording::folder::{Finished, StageWriter};
use plimsoll_report::findings::{Findings, Run};
use plimsoll_results::record::{Measurement, RecordTo, Recorder};
use plimsoll_stats::{IntervalWidth, Options, Statistics};
use plimsoll_workload::Workload;

use super::level::{LevelResult, headline, unfinished};
use super::level_spec::LevelSpec;
use super::parts::PartResult;
use super::run_spec::RunSpec;
use crate::recording_channel::{DescribeStage, RecordingChannel, WorkerCheckpoint};

/// The recording of a run.
pub struct RunRecording<'a> {
    spec: RunSpec,
    workload: &'a Workload,
    // Levels run in sequence, on another thread than the progress display.
    recorder: Mutex<Recorder>,
    /// A stage could not be recorded.
    failed: AtomicBool,
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
        Ok(Some(Self { spec: spec.clone(), workload, recorder: Mutex::new(recorder), failed: AtomicBool::new(false) }))
    }

    /// Goes on with one, if one is wanted, with the stages that `keeps` keeps.
    ///
    /// # Errors
    /// There is none, or it cannot be written to.
    pub fn resume(
        to: Option<&RecordTo>,
        (spec, workload): (&RunSpec, &'a Workload),
        keeps: impl Fn(u32) -> bool,
    ) -> anyhow::Result<Option<Self>> {
        let Some(to) = to else { return Ok(None) };
        let recorder = to.resume(spec.seed, |stage| keeps(stage.number))?;
        Ok(Some(Self { spec: spec.clone(), workload, recorder: Mutex::new(recorder), failed: AtomicBool::new(false) }))
    }

    /// Begins a stage.
    pub(super) fn stage(
        &self,
        level_spec: &LevelSpec,
        workload: &Workload,
        names: &Arc<Names>,
    ) -> anyhow::Result<RecordingChannel> {
        let begun = self.begin_stage(workload, level_spec, names);
        self.failed.fetch_or(begun.is_err(), Relaxed);
        begun
    }

    fn begin_stage(
        &self,
        workload: &Workload,
        level_spec: &LevelSpec,
        names: &Arc<Names>,
    ) -> anyhow::Result<RecordingChannel> {
        let width = level_spec.plan.phases.measured_ns.map(IntervalWidth::of_phase);
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let stage = recorder.writer.begin(level_spec.plan.stage.unwrap_or(0), width)?;
        // As for levels that end: a load curve says how sure its points are.
        let with_intervals = self.spec.levels().count() > 1;
        let options = (width, headline(&level_spec.plan), with_intervals);
        RecordingChannel::begin(stage, recorder.sample, options, names, describe(workload, level_spec, names))
    }

    /// Ends a stage: it is stored, whatever happens to later ones.
    pub(super) fn end(
        &self,
        feed: RecordingChannel,
        level: &LevelResult,
        facts: Vec<String>,
        names: &Names,
    ) -> anyhow::Result<()> {
        let ended = feed.end().and_then(|stage| self.write(stage, level, facts, names));
        self.failed.fetch_or(ended.is_err(), Relaxed);
        ended
    }

    /// Adds a stage from another process; `fill` adds its intervals and rows.
    pub(crate) fn add(
        &self,
        level_spec: &LevelSpec,
        level: &LevelResult,
        names: &Names,
        fill: impl FnOnce(&mut StageWriter),
    ) -> anyhow::Result<()> {
        let width = level_spec.plan.phases.measured_ns.map(IntervalWidth::of_phase);
        let begun = {
            let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
            recorder.writer.begin(level_spec.plan.stage.unwrap_or(0), width)
        };
        let added = begun.map_err(Into::into).and_then(|mut stage| {
            fill(&mut stage);
            self.write(stage, level, Vec::new(), names)
        });
        self.failed.fetch_or(added.is_err(), Relaxed);
        added
    }

    fn write(&self, stage: StageWriter, level: &LevelResult, facts: Vec<String>, names: &Names) -> anyhow::Result<()> {
        let finished = finished(level, names)?;
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.writer.describe(serde_json::to_value(self.measured(self.spec.run(self.workload, facts, 0))?)?);
        Ok(recorder.writer.end(stage, finished, names)?)
    }

    fn measured(&self, run: Run) -> anyhow::Result<Measurement> {
        measured(&self.spec, self.workload, run)
    }

    /// Ends the recording; `found` is the content of its report.
    pub fn finish<T>(self, stopped: bool, found: Result<&(Findings, T), &anyhow::Error>) -> anyhow::Result<()> {
        // The stored stages are complete, but the measurement is not.
        let stopped = stopped || self.failed.load(Relaxed);
        let mut recorder = self.recorder.into_inner().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok((findings, _)) => {
                if let Some(run) = &findings.run {
                    let measured = measured(&self.spec, self.workload, run.clone())?;
                    recorder.writer.describe(serde_json::to_value(measured)?);
                }
                recorder.finish(stopped, findings)
            }
            Err(error) => {
                recorder.give_up(error);
                Ok(())
            }
        }
    }
}

/// Says what there is of a stage that goes on.
fn describe(workload: &Workload, level_spec: &LevelSpec, names: &Arc<Names>) -> DescribeStage {
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
        let level =
            unfinished((statistics, intervals), so_far(&level_spec.plan, parts), &level_spec.plan, &level_spec.words);
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
        level: Some(level.words().to_owned()),
        span_ns: (Some(recorded.span_ns.0), Some(recorded.span_ns.1)),
        state: recorded.statistics.to_bytes(&Coverage::default(), names),
        about: serde_json::to_value(recorded)?,
        part: level.part().map(PartResult::to_bytes).transpose()?,
    })
}
