//! Measurements and their validity: load levels, verdicts, fairness, confidence, and the server's own metrics. This crate does not print
//! or end the process: a [`Monitor`] receives the progress of an experiment.

mod arm;
mod beside;
pub mod breakdown;
pub mod capacity;
mod companion;
mod compatibility;
mod confidence;
mod disruption;
mod file_preparation;
pub mod gate;
mod lateness;
mod level;
mod level_spec;
mod live;
mod measure;
mod monitor;
mod open_files;
mod pace;
mod parameters;
mod parts;
mod phase_hook;
mod recording_channel;
mod resolved_target;
mod resume;
mod rounds;
mod run_recording;
mod run_spec;
mod runner;
pub mod server_side;
mod sink;
mod tallies;
#[cfg(test)]
mod tests;
mod validity;

pub use arm::Arm;
pub use beside::measure_beside;
pub use companion::{CompanionSpec, Sharer, levels_of_sharers};
pub use lateness::FROM_INTENDED;
pub use level::{LevelResult, run as run_level};
pub use level_spec::{LevelSpec, levels_of_variant, repeat_of, repeated};
pub use live::LiveFeed;
pub use measure::{Work, measure};
pub use monitor::{Activity, Monitor};
pub use open_files::allow as allow_open_files;
pub use parameters::{LoadParameter, Variant};
pub use parts::merge as merge_parts;
pub use phase_hook::PhaseHook;
pub use resolved_target::ResolvedTarget;
pub use resume::finished_levels;
pub use rounds::{RUNS, rounds};
pub use run_recording::RunRecording;
pub use run_spec::{KerberosSpec, RunSpec, ServerSpec, VariantSpec};
pub use runner::{IntervalMode, Levels, PreparedTarget, RunResult, Runner};
pub use sink::{SinkOptions, Table};
