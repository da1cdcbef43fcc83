//! Load levels as they are to be run.

use plimsoll_drive::engine::Plan;
use plimsoll_report::findings::{REPEAT, WorkloadShare};
use plimsoll_workload::{Load, Parameter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parameters::Variant;

/// A load level: its plan, and its load in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LevelSpec {
    /// The engine's plan.
    pub plan: Plan,
    /// Its load in words.
    pub load_name: String,
    /// The load curve that it is a point of, where there are several.
    pub curve: Option<String>,
    /// The varied parameter, and its value here.
    pub parameter: Option<Parameter>,
    /// Whose load it is, and beside whose, in a run of several workloads at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<WorkloadShare>,
}

impl LevelSpec {
    /// All fields that determine the work; the number of threads does not.
    pub(crate) fn decisive(&self) -> Value {
        let mut level = self.clone();
        level.plan.threads = 0;
        level.plan.part = None;
        // The value has only numbers and strings, so this cannot fail.
        serde_json::to_value(level).unwrap_or_default()
    }

    /// All fields that determine the load on a server, without random seeds and times.
    pub(crate) fn load(&self) -> Value {
        let mut level = self.clone();
        level.curve = None;
        (level.plan.seed, level.plan.level, level.plan.start_at_ns) = (0, 0, None);
        level.decisive()
    }

    /// The lowest number of clients or users of a level like this, or iterations per second: each part needs a client (with
    /// --clients-per-connection: a connection).
    pub(crate) fn least_load(&self) -> u32 {
        let parts = self.plan.part.map_or(1, |part| part.parts());
        match self.plan.load {
            Load::Open { .. } => 0,
            Load::Closed { .. } | Load::Partly { .. } => {
                (parts - 1).saturating_mul(self.plan.clients_per_connection).saturating_add(1)
            }
        }
    }

    /// Its load in words, and its curve.
    pub(crate) fn shown(&self) -> String {
        self.curve.as_ref().map_or_else(|| self.load_name.clone(), |curve| format!("{}, {curve}", self.load_name))
    }
}

/// All levels `times` times: each repeat is a separate load curve, with other random numbers.
pub fn repeated(level_specs: Vec<LevelSpec>, times: u32) -> Vec<LevelSpec> {
    if times <= 1 {
        return level_specs;
    }
    (0..times).flat_map(|repeat| repeat_of(&level_specs, repeat)).collect()
}

/// All levels once more: `repeat` counts from 0.
pub fn repeat_of(level_specs: &[LevelSpec], repeat: u32) -> Vec<LevelSpec> {
    let levels = u32::try_from(level_specs.len()).unwrap_or(u32::MAX);
    let mut level_specs = level_specs.to_vec();
    for (place, level_spec) in (0..).zip(&mut level_specs) {
        level_spec.curve = Some(format!("{REPEAT}{}", repeat + 1));
        level_spec.plan.seed = level_spec.plan.seed.wrapping_add(u64::from(repeat));
        level_spec.plan.level = repeat.saturating_mul(levels).saturating_add(place);
    }
    level_specs
}

/// The levels of variant number `place` of a workload: they are numbered consecutively, and each value is a separate load curve.
pub fn levels_of_variant(mut level_specs: Vec<LevelSpec>, place: usize, variant: &Variant) -> Vec<LevelSpec> {
    let before = u32::try_from(place.saturating_mul(level_specs.len())).unwrap_or(u32::MAX);
    for level_spec in &mut level_specs {
        level_spec.plan.level = level_spec.plan.level.saturating_add(before);
        level_spec.curve = match (variant.curve(), level_spec.curve.take()) {
            (Some(value), Some(repeat)) => Some(format!("{value}, {repeat}")),
            (value, repeat) => value.or(repeat),
        };
        level_spec.parameter.clone_from(&variant.value);
    }
    level_specs
}
