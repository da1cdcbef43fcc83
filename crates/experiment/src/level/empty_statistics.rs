//! Statistics of a plan, nothing counted yet.

use plimsoll_drive::engine::Plan;
use plimsoll_stats::{Headline, IntervalWidth, Intervals, Options, Statistics};
use plimsoll_workload::Load;

/// The headline time: under a schedule the one from the intended start. (A client's pause is not a schedule: if it is longer than
/// planned, no request waits.)
pub(crate) fn headline(plan: &Plan) -> Headline {
    match plan.load {
        Load::Closed { .. } => Headline::Response,
        Load::Open { .. } | Load::Partly { .. } => Headline::FromIntended,
    }
}

/// Of a plan, nothing counted yet.
pub(crate) fn no_statistics(plan: &Plan) -> Statistics {
    Statistics::new(Options { headline: headline(plan), ..Options::default() })
}

/// Numbers by time of a plan's measured phase, none yet.
pub(crate) fn empty(plan: &Plan) -> Intervals {
    match plan.phases.measured_ns {
        Some(length) => Intervals::new(IntervalWidth::of_phase(length)),
        None => Intervals::growing(),
    }
}
