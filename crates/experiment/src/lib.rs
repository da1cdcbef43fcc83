//! Measurements and their validity: load levels, verdicts, fairness, confidence, and the server's own metrics. This crate does not print
//! or end the process: a [`Monitor`] receives the progress of an experiment.
//!
//! ```text
//! LoadOptions, Vary ─ LevelSpec (a plan) ────────────┐
//! ResolvedTarget ─ PreparedTarget (server, files) ───┴─ Runner ─ level::run ─ engine of drive
//!                                                                                  │ EngineResult
//!        Findings ◄─ RunResult ◄─ LevelResult ◄─ level (judging), validity ◄───────┘
//! ```
//!
//! | what | files |
//! | --- | --- |
//! | a run: its levels and variants | `measure.rs`, `levels.rs`, `resume.rs`; the flags: `load_options.rs`, `parameters.rs` |
//! | a search for a capacity | `capacity/` |
//! | a duel or a gate: two sides in turns | `two_sides/`, `gate/` |
//! | workloads at the same time (`--with`) | `beside/` |
//! | one part of a load, and the merge (`--part`) | `parts/` |
//! | one operation after the other | `breakdown/` |
//! | numbers that may not be used | `validity.rs`, `lateness.rs`, `level/disruption.rs`, `level/outages.rs` |
//! | the recording of a run | `run_spec.rs`, `run_recording.rs`, `recording_channel.rs` |
//! | the server's side | `server_side/`, `server_counters/`, `profile/` |

mod beside;
pub mod breakdown;
mod capacity;
mod child_command;
mod compatibility;
mod demo;
mod file_preparation;
pub mod gate;
mod lateness;
mod level;
mod level_spec;
mod levels;
mod live;
mod load_options;
mod measure;
mod measured_together;
mod monitor;
mod open_files;
mod parameters;
mod parts;
mod phase_hook;
mod profile;
mod ranges;
mod recorded_workload;
mod recording_channel;
mod resolved_target;
mod resume;
mod run_recording;
mod run_result;
mod run_spec;
mod runner;
pub mod server_counters;
pub mod server_side;
mod sink;
#[cfg(test)]
mod tests;
mod two_sides;
mod unused_options;
mod validity;
mod wrong_data;

pub use beside::companion::CompanionSpec;
pub use beside::{Companion, ROUNDS_BESIDE, add_companions, measure_beside};
pub use capacity::{SearchOptions, SearchSpec, find_capacity, parse_objective, searching};
pub use compatibility::check_slots;
pub use demo::demo;
pub use lateness::FROM_INTENDED;
pub use level::{LevelResult, run as run_level};
pub use level_spec::{LevelSpec, levels_of_variant, repeat_of, repeated};
pub use levels::Levels;
pub use live::LiveFeed;
pub use load_options::LoadOptions;
pub use measure::{Work, measure};
pub use monitor::{Activity, Monitor};
pub use open_files::allow as allow_open_files;
pub use parameters::{LoadParameter, Variant, Vary, parse_setting, variants, workload};
pub use parts::merge as merge_parts;
pub use parts::options::{PartOptions, repeat_whole};
pub use phase_hook::PhaseHook;
pub use ranges::LevelList;
pub use resolved_target::{ResolvedTarget, refused_target};
pub use resume::{EarlierLevels, earlier_levels, recorded_targets};
pub use run_recording::RunRecording;
pub use run_result::RunResult;
pub use run_spec::{KerberosSpec, RunSpec, ServerSpec, VariantSpec, absolute_workload};
pub use runner::{IntervalMode, PreparedTarget, Runner};
pub use sink::{SinkOptions, Table};
pub use two_sides::{Arm, RUNS, TwoSides};
