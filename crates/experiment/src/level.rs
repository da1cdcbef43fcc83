//! Runs a load level.

mod confidence;
pub(super) mod counts;
mod disruption;
mod empty_statistics;
pub(super) mod frequent_status;
mod given_up;
mod judgement;
mod judging;
mod outages;
mod pace;
mod result;

use plimsoll_drive::engine::{self, Checkpoint, EngineError, EngineResult, Plan, Setup, Watch};
use plimsoll_model::Names;
use plimsoll_stats::SharedDepth;

use super::sink::{MeasuringSink, SinkOptions};

pub(super) use empty_statistics::{empty, headline, no_statistics};
pub(super) use given_up::{EARLY_END, ended_early};
pub(super) use judging::{ended, ended_together, judged_of, response, unfinished};
pub use result::LevelResult;

/// Runs a plan; `words` says its load.
pub fn run(
    plan: &Plan,
    words: &str,
    setup: &dyn Setup,
    options: SinkOptions<'_>,
    watch: &Watch,
) -> Result<LevelResult, EngineError> {
    let depth = options.depth(plan);
    let sink = |_| MeasuringSink::new(options, &depth, plan);
    let is_watched = options.recording.is_some() || options.live.is_some();
    let checkpoint: Option<Checkpoint<'_, _>> = is_watched.then_some(&MeasuringSink::checkpoint);
    let ran = engine::run(plan, setup, sink, watch, checkpoint)?;
    Ok(added_up((ran, depth), plan, words, setup.names(), options.with_intervals))
}

/// Combines the workers' results and their common queue depth.
pub(super) fn added_up(
    (ran, depth): (EngineResult<MeasuringSink>, SharedDepth),
    plan: &Plan,
    words: &str,
    names: &Names,
    with_intervals: bool,
) -> LevelResult {
    let (sinks, ran) = ran.split();
    let mut statistics = no_statistics(plan);
    let mut intervals = with_intervals.then(|| empty(plan));
    for sink in sinks {
        let (part, its_intervals) = sink.finish(names);
        statistics.merge(&part);
        if let Some((whole, part)) = intervals.as_mut().zip(its_intervals) {
            whole.merge(&part);
        }
    }
    let statistics = statistics.with_queue_depth(depth.finish());
    ended(statistics, intervals, ran, plan, words)
}
