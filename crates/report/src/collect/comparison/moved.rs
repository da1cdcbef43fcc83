//! Numbers that the load generator's lateness moved: a difference of these may come from the machines that made the load.

use super::{Contestant, LevelRuns, ranking};

/// The metrics of a side that the lateness moved in at least one run of a level.
pub(super) fn metrics(of: &Contestant, level: &LevelRuns) -> Vec<String> {
    let Some(point) = &level.point else { return Vec::new() };
    let stages = ranking::stages(of, point);
    let mut all: Vec<String> = stages.iter().flat_map(|stage| stage.generator.moved_metrics(stage.headline)).collect();
    all.sort_unstable();
    all.dedup();
    all
}
