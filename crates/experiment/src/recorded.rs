//! A run's recording: a stage a load level.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_drive::engine::so_far;
use plimsoll_model::{Coverage, Names};
use plimsoll_recording::folder::{Finished, StageWriter};
use plimsoll_report::findings::{Findings, Parameter, Run, Source};
use plimsoll_stats::{IntervalWidth, Options, Statistics, state};
use plimsoll_workload::Workload;

use super::level::{LevelResult, headline, unfinished};
use super::level_spec::LevelSpec;
use super::parameters;
use super::spec::RunSpec;
use crate::record::{Describe, Feed, Measured, RecordTo, Recorder, SoFar};

/// What is known of a run before its levels.
#[derive(Clone)]
pub struct Beginning<'a> {
    /// What clients do.
    pub workload: &'a Workload,
    /// What was driven, in words.
    pub target: String,
    /// Everything random follows from it.
    pub seed: u64,
    /// Load before each level that is not measured, ns.
    pub warmup_ns: u64,
    /// This machine's processors are kept from sleeping.
    pub keep_awake: bool,
    /// The workload's parameters: of what is varied, all values.
    pub parameters: Vec<Parameter>,
    /// All that was asked for, where the levels are known before the first one.
    pub spec: Option<RunSpec>,
}

impl<'a> Beginning<'a> {
    /// Of this workload, and nothing else known.
    pub fn new(workload: &'a Workload, seed: u64) -> Self {
        let parameters = workload.parameters().iter().map(parameters::shown).collect();
        Self { workload, target: String::new(), seed, warmup_ns: 0, keep_awake: false, parameters, spec: None }
    }

    /// As reports want it. `facts` are what was agreed with servers, `threads` those that made the load.
    pub(super) fn run(&self, facts: Vec<String>, threads: u32) -> Run {
        let mut facts = facts;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // A term: who is late by less has shorter response times.
        let awake = if self.keep_awake { ", kept awake" } else { "" };
        facts.push(format!("client with {cores} cores{awake}"));
        Run {
            target: self.target.clone(),
            workload: self.workload.name().to_owned(),
            description: self.workload.description().to_owned(),
            workload_sha256: self.workload.digest().to_owned(),
            seed: self.seed,
            threads,
            warmup_s: self.warmup_ns as f64 / 1e9,
            parameters: self.parameters.clone(),
            facts,
            capacity: None,
            calls: None,
        }
    }

    pub(super) fn source(&self) -> Source {
        Source {
            tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
            inputs: vec![self.target.clone()],
            filters: Vec::new(),
            vantage: "client".to_owned(),
        }
    }

    fn measured(&self, facts: Vec<String>) -> Measured {
        self.described(self.run(facts, 0))
    }

    fn described(&self, run: Run) -> Measured {
        let (workload_text, spec) = (self.workload.text().to_owned(), self.spec.clone().map(Box::new));
        Measured::Run { run: Box::new(run), workload_text, spec, source: self.source() }
    }
}

/// The recording of a run.
pub struct Recorded<'a> {
    beginning: Beginning<'a>,
    // Levels run one after the other, on another thread than the one that shows how far they are.
    recorder: Mutex<Recorder>,
    /// A stage could not be recorded.
    failed: AtomicBool,
}

const CLOCK: &str = "the client's monotonic clock, set once to the time since the Unix epoch";

impl<'a> Recorded<'a> {
    /// Begins it, if one is wanted.
    ///
    /// # Errors
    /// As [`RecordTo::begin`].
    pub fn begin(to: Option<&RecordTo>, beginning: Beginning<'a>) -> anyhow::Result<Option<Self>> {
        let Some(to) = to else { return Ok(None) };
        let recorder = to.begin(&beginning.measured(Vec::new()), CLOCK, beginning.seed)?;
        Ok(Some(Self { beginning, recorder: Mutex::new(recorder), failed: AtomicBool::new(false) }))
    }

    /// Goes on with one, if one is wanted, with the stages that `keeps` keeps.
    ///
    /// # Errors
    /// There is none, or it cannot be written to.
    pub fn resume(
        to: Option<&RecordTo>,
        beginning: Beginning<'a>,
        keeps: impl Fn(u32) -> bool,
    ) -> anyhow::Result<Option<Self>> {
        let Some(to) = to else { return Ok(None) };
        let recorder = to.resume(beginning.seed, |stage| keeps(stage.number))?;
        Ok(Some(Self { beginning, recorder: Mutex::new(recorder), failed: AtomicBool::new(false) }))
    }

    /// Begins a stage.
    pub(super) fn stage(&self, step: &LevelSpec, names: &Arc<Names>) -> anyhow::Result<Feed> {
        let begun = self.begin_stage(step.plan.stage.unwrap_or(0), step, names);
        self.failed.fetch_or(begun.is_err(), Relaxed);
        begun
    }

    fn begin_stage(&self, number: u32, step: &LevelSpec, names: &Arc<Names>) -> anyhow::Result<Feed> {
        let width = step.plan.phases.measured_ns.map(IntervalWidth::of_phase);
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let stage = recorder.writer.begin(number, width)?;
        // As for levels that end: a load curve says how sure its points are.
        let by_time = self.beginning.spec.as_ref().is_some_and(|spec| spec.levels().count() > 1);
        let kept = (width, headline(&step.plan), by_time);
        Feed::begin(stage, recorder.sample, kept, names, self.describe(step, names))
    }

    /// Says what there is of a stage that goes on.
    fn describe(&self, step: &LevelSpec, names: &Arc<Names>) -> Describe {
        let turns: Vec<String> = self.beginning.workload.iterations().map(|(name, _)| name.to_owned()).collect();
        let (mut step, names) = (step.clone(), Arc::clone(names));
        // It is open as long as anybody has it.
        step.plan.tap = None;
        Box::new(move |all, intervals| {
            let mut statistics = Statistics::new(Options { headline: headline(&step.plan), ..Options::default() });
            let mut parts = Vec::new();
            for SoFar { statistics: of_worker, part } in all {
                statistics.merge(of_worker);
                parts.push(part.clone());
            }
            let level = unfinished((statistics, intervals), so_far(&step.plan, parts), &step.plan, &step.words);
            finished(&level.on(&step).named_as(turns.iter().cloned()), &names)
        })
    }

    /// A stage is over: it will be there, whatever happens to the others.
    pub(super) fn end(&self, feed: Feed, level: &LevelResult, facts: Vec<String>, names: &Names) -> anyhow::Result<()> {
        let ended = feed.end().and_then(|stage| self.write(stage, level, facts, names));
        self.failed.fetch_or(ended.is_err(), Relaxed);
        ended
    }

    fn write(&self, stage: StageWriter, level: &LevelResult, facts: Vec<String>, names: &Names) -> anyhow::Result<()> {
        let finished = finished(level, names)?;
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.writer.describe(serde_json::to_value(self.beginning.measured(facts))?);
        Ok(recorder.writer.end(stage, finished, names)?)
    }

    /// It is over; `found` is what its report shows.
    pub fn finish<T>(self, stopped: bool, found: Result<&(Findings, T), &anyhow::Error>) -> anyhow::Result<()> {
        // What is there is whole, and not all that was measured.
        let stopped = stopped || self.failed.load(Relaxed);
        let mut recorder = self.recorder.into_inner().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok((findings, _)) => {
                if let Some(run) = &findings.run {
                    let measured = self.beginning.described(run.clone());
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

/// What a recording keeps of a level.
fn finished(level: &LevelResult, names: &Names) -> anyhow::Result<Finished> {
    let told = &level.told;
    Ok(Finished {
        level: Some(told.about.level.clone()),
        span_ns: (Some(told.span_ns.0), Some(told.span_ns.1)),
        state: state::to_bytes(&level.statistics, &Coverage::default(), names),
        about: serde_json::to_value(told)?,
    })
}
