//! Flags `--on-phase` and `--phase-timeout`.

use std::time::Duration;

use plimsoll_experiment::PhaseHook;

/// Flags for the command that runs at each level.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct PhaseFlags {
    /// Run COMMAND with sh before the clients of each load level connect and after they have logged off, with
    /// PLIMSOLL_PHASE (begin or end), PLIMSOLL_LEVEL and PLIMSOLL_LOAD in its environment. If COMMAND fails, the run ends
    #[arg(long, value_name = "COMMAND")]
    on_phase: Option<String>,
    /// Kill the command of --on-phase, with its process group, after this time
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s", requires = "on_phase")]
    phase_timeout: Duration,
}

impl PhaseFlags {
    /// The command, if there is one.
    pub(crate) fn hook(&self) -> Option<PhaseHook> {
        let command = self.on_phase.clone()?;
        Some(PhaseHook { command, timeout: self.phase_timeout })
    }
}
