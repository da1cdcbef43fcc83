//! A search for a capacity: its loads, its limits and its objectives.

use plimsoll_results::Usage;
use plimsoll_stats::capacity::{Bounds, Grain};
use plimsoll_workload::Load;
use serde::{Deserialize, Serialize};

use crate::level_spec::LevelSpec;
use crate::run_spec::first_difference;

/// Length of a short run, as a divisor of the full length.
const SHORT_FRACTION: u64 = 4;
/// A short run's least length, ns.
const SHORT_MIN_NS: u64 = 1_000_000_000;

/// Length of a run that only brackets the capacity, ns, from the length of a full run.
pub(super) fn short_run_ns(full_ns: u64) -> u64 {
    (full_ns / SHORT_FRACTION).max(SHORT_MIN_NS).min(full_ns)
}

/// The least length of a full run whose short runs take at least `ns`, ns.
pub(super) fn full_run_ns(ns: u64) -> u64 {
    if ns <= SHORT_MIN_NS { ns } else { ns.saturating_mul(SHORT_FRACTION) }
}

/// A search for a capacity. The recording of a part stores it, so that the merge can make the same search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SearchSpec {
    /// A run of full length at the highest load. Other levels differ from it in load, length, seed and start.
    pub most: LevelSpec,
    /// The lowest number of clients or users: one for each part; 0 for a rate.
    pub least: u32,
    /// Load of the first run.
    pub start: f64,
    /// Maximum width of the interval, as a fraction of its lower end.
    pub resolution: f64,
    /// Maximum number of runs.
    pub runs: u32,
    /// The conditions of --hold.
    pub objectives: Vec<String>,
}

impl SearchSpec {
    /// The level with this number, at this load.
    ///
    /// # Errors
    /// The load is not one of this kind.
    pub(crate) fn level_at(&self, load: f64, number: u32) -> Result<LevelSpec, Usage> {
        let mut level = self.most.clone();
        let at = level.plan.load.at_level(load).ok_or_else(|| Usage(format!("{load}: expected an integer >= 1")))?;
        (level.load_name, level.plan.load, level.plan.level) = (at.to_string(), at, number);
        level.plan.check().map_err(|error| Usage(error.to_string()))?;
        Ok(level)
    }

    /// The range of loads.
    pub(crate) fn bounds(&self) -> Bounds {
        let (most, grain) = match self.most.plan.load {
            Load::Open { rate, .. } => (rate, Grain::Any),
            load => (f64::from(load.clients()), Grain::Whole(self.least)),
        };
        Bounds { start: self.start, most, grain, resolution: self.resolution, runs: self.runs }
    }

    /// Whether parts drive its levels.
    pub(crate) fn has_parts(&self) -> bool {
        self.most.plan.part.is_some()
    }

    /// Why this differs from the search of another part; `None` if it is the same one.
    pub(crate) fn differs(&self, ours: &Self) -> Option<String> {
        if let Some(differs) = first_difference("", &self.most.decisive(), &ours.most.decisive()) {
            return Some(format!("at the highest load of its search, {differs}"));
        }
        if self.objectives != ours.objectives {
            let [was, is] = [self, ours].map(|search| search.objectives.join(", "));
            return Some(format!("its objectives are {was}, not {is}"));
        }
        let (was, is) = (self.bounds(), ours.bounds());
        (was != is).then(|| format!("its search has {}, not {}", self.limits(), ours.limits()))
    }

    /// The limits in words.
    fn limits(&self) -> String {
        let Bounds { start, most, resolution, runs, .. } = self.bounds();
        let (least, percent) = (self.least, 100.0 * resolution);
        format!("loads from {least} to {most}, the first load {start}, resolution {percent} %, and at most {runs} runs")
    }
}
