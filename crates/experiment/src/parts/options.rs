//! What a user asks for of one part of a load, and its effect on the plan of a run.

use std::time::Duration;

use plimsoll_drive::engine::PlanPart;
use plimsoll_results::Usage;
use plimsoll_workload::nanoseconds;

use crate::level_spec::LevelSpec;
use crate::resolved_target::ResolvedTarget;
use crate::run_spec::RunSpec;

/// One part of a load, and the common start of all parts.
#[derive(Clone, Debug, Default)]
pub struct PartOptions {
    /// The part; `None`: the whole load.
    pub part: Option<PlanPart>,
    /// Start of the warm-up, ns since the Unix epoch.
    pub start_at: Option<i64>,
    /// From the end of a level to the warm-up of the next one.
    pub level_gap: Duration,
    /// Maximum offset between the clocks of the parts.
    pub clock_bound: Option<Duration>,
}

impl PartOptions {
    /// Puts them into the run.
    ///
    /// # Errors
    /// It has levels whose starts are not known beforehand, or fewer clients than parts.
    pub fn put(&self, spec: &mut RunSpec) -> Result<(), Usage> {
        spec.clock_bound_ns = self.clock_bound_ns();
        let levels = spec.levels().count();
        if self.start_at.is_some() && levels > 1 {
            let wrong = |what| Err(Usage(format!("--start-at with {levels} load levels: {what}")));
            if spec.variants.len() > 1 {
                return wrong("each value of --vary needs separate files; start a separate run for each value");
            }
            if spec.stop_above_s.is_some() {
                return wrong("the parts could stop at different levels; remove --stop-above");
            }
            if spec.levels().any(|(_, level)| level.plan.phases.measured_ns.is_none()) {
                return wrong("the start of each level depends on the length of the levels before it; add --duration");
            }
        }
        let mut start = self.start_at;
        for level in spec.variants.iter_mut().flat_map(|variant| &mut variant.levels) {
            (level.plan.part, level.plan.start_at_ns) = (self.part, start);
            level.plan.check().map_err(|error| Usage(error.to_string()))?;
            let length = level.plan.phases.warmup_ns.saturating_add(level.plan.phases.measured_ns.unwrap_or(0));
            let until_next = i64::try_from(length.saturating_add(nanoseconds(self.level_gap))).unwrap_or(i64::MAX);
            start = start.map(|start| start.saturating_add(until_next));
        }
        Ok(())
    }

    /// The bound of the clocks, ns.
    pub(crate) fn clock_bound_ns(&self) -> Option<u64> {
        self.clock_bound.map(nanoseconds)
    }

    /// Puts them into the first level of a search, which chooses the start of each later one.
    ///
    /// # Errors
    /// It has a start without parts, no known length, or fewer clients than parts.
    pub(crate) fn put_level(&self, level: &mut LevelSpec) -> Result<(), Usage> {
        if self.start_at.is_some() && self.part.is_none() {
            return Err(Usage("--start-at: capacity uses this option only with --part; remove --start-at".to_owned()));
        }
        if self.part.is_some() && level.plan.phases.measured_ns.is_none() {
            return Err(Usage("--part: the parts need levels of the same length; add --duration".to_owned()));
        }
        (level.plan.part, level.plan.start_at_ns) = (self.part, self.start_at);
        level.plan.check().map_err(|error| Usage(error.to_string()))
    }

    /// Refuses embedded servers, because all parts need the same server.
    ///
    /// # Errors
    /// The target is one.
    pub fn check(&self, target: &ResolvedTarget) -> Result<(), Usage> {
        match self.part {
            Some(_) if target.is_embedded() => {
                let shown = &target.shown;
                Err(Usage(format!(
                    "--part: every process would have its own {shown}; start one server with `plimsoll serve`"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Changes a recorded run so that --from repeats the whole load now.
///
/// # Errors
/// It was one part of a load.
pub fn repeat_whole(spec: &mut RunSpec, folder: &str) -> Result<(), Usage> {
    for level in spec.variants.iter_mut().flat_map(|variant| &mut variant.levels) {
        if let Some(part) = level.plan.part {
            return Err(Usage(format!(
                "--from {folder}: this is the recording of part {part} of a run; give the recording of the whole run (plimsoll merge)"
            )));
        }
        level.plan.start_at_ns = None;
    }
    Ok(())
}
