//! Load levels as they are to be run.

use plimsoll_drive::engine::Plan;
use plimsoll_report::findings::REPEAT;
use plimsoll_workload::Parameter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parameters::Variant;

/// A load level: its plan, and its load in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LevelSpec {
    /// What the engine is to do.
    pub plan: Plan,
    /// Its load in words.
    pub words: String,
    /// The load curve that it is a point of, where there are several.
    pub curve: Option<String>,
    /// What was varied, and its value here.
    pub parameter: Option<Parameter>,
}

impl LevelSpec {
    /// All that decides what is done; how many threads do it does not.
    pub(crate) fn decisive(&self) -> Value {
        let mut level = self.clone();
        level.plan.threads = 0;
        // Numbers, words and nothing else.
        serde_json::to_value(level).unwrap_or_default()
    }

    /// Its load in words, and its curve.
    pub(crate) fn shown(&self) -> String {
        self.curve.as_ref().map_or_else(|| self.words.clone(), |curve| format!("{}, {curve}", self.words))
    }
}

/// All levels so many times: each repeat is a load curve of its own, with draws of its own.
pub fn repeated(steps: Vec<LevelSpec>, times: u32) -> Vec<LevelSpec> {
    if times <= 1 {
        return steps;
    }
    (0..times).flat_map(|repeat| again(&steps, repeat)).collect()
}

/// All levels once more: `repeat` counts from 0.
pub fn again(steps: &[LevelSpec], repeat: u32) -> Vec<LevelSpec> {
    let levels = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let mut steps = steps.to_vec();
    for (place, step) in (0..).zip(&mut steps) {
        step.curve = Some(format!("{REPEAT}{}", repeat + 1));
        step.plan.seed = step.plan.seed.wrapping_add(u64::from(repeat));
        step.plan.stage = Some(repeat.saturating_mul(levels).saturating_add(place));
    }
    steps
}

/// The levels of the `place`th variant of a workload: stages are numbered through, and each value is a load curve of its own.
pub fn of_variant(mut steps: Vec<LevelSpec>, place: usize, variant: &Variant) -> Vec<LevelSpec> {
    let before = u32::try_from(place.saturating_mul(steps.len())).unwrap_or(u32::MAX);
    for step in &mut steps {
        step.plan.stage = step.plan.stage.map(|stage| stage.saturating_add(before));
        step.curve = match (variant.curve(), step.curve.take()) {
            (Some(value), Some(repeat)) => Some(format!("{value}, {repeat}")),
            (value, repeat) => value.or(repeat),
        };
        step.parameter.clone_from(&variant.value);
    }
    steps
}
