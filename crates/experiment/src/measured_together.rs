//! Levels that ran at the same time, between two calls of the hook.

use plimsoll_results::all_of;

use crate::level::LevelResult;
use crate::level_spec::LevelSpec;
use crate::monitor::Monitor;
use crate::phase_hook::{Moment, PhaseHook};

/// Results of levels that ran at the same time: of a single level, or of one level per workload.
pub(super) struct MeasuredTogether {
    pub(super) ran: Vec<LevelResult>,
    /// All could be run.
    pub(super) whole: bool,
    /// Whether they went to the recording, where there is one.
    pub(super) recorded: anyhow::Result<()>,
}

impl MeasuredTogether {
    /// Does `measure` between two calls of the hook, where there is one.
    pub(super) fn between_hooks(
        hook: Option<&PhaseHook>,
        level_spec: &LevelSpec,
        monitor: &dyn Monitor,
        measure: impl FnOnce() -> anyhow::Result<Self>,
    ) -> anyhow::Result<Self> {
        let Some(hook) = hook else { return measure() };
        hook.run(Moment::Begin, level_spec, &|| monitor.stopped())?;
        let measured = measure();
        let whole = measured.as_ref().ok().filter(|measured| measured.whole);
        let span_ns = whole.and_then(|measured| Some(measured.ran.first()?.recorded.span_ns));
        // The end hook runs for every begun phase, also if the run should end.
        let ended = hook.run(Moment::End(span_ns), level_spec, &|| monitor.abandoned());
        match (measured, ended) {
            (Ok(measured), ended) => Ok(Self { recorded: all_of([measured.recorded, ended]), ..measured }),
            (Err(error), Ok(())) => Err(error),
            (Err(error), Err(ended)) => Err(error.context(format!("{ended:#}"))),
        }
    }
}
