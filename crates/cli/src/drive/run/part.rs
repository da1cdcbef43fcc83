//! `--part 2/4`: one of several processes that drive a load together.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use plimsoll_client::clock::Clock;
use plimsoll_drive::engine::PlanPart;
use plimsoll_experiment::PartOptions;

use plimsoll_live::ProgressFile;

/// One part of a load, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct PartFlags {
    /// Drive only part K of N parts of the load, e.g. 2/4. Start one process per part, with otherwise equal
    /// options; `plimsoll merge` joins their recordings
    #[arg(
        long, value_name = "K/N", requires_all = ["start_at", "clock_bound", "record"],
        conflicts_with_all = ["remove_files", "server_pid", "server_metrics"]
    )]
    part: Option<PlanPart>,
    /// Start the warm-up at this time (UTC), e.g. 2026-11-23T10:00:00Z [default: when all clients are connected]
    #[arg(long, value_name = "TIME", value_parser = parse_start)]
    start_at: Option<i64>,
    /// With --start-at and several load levels: time from the end of a level to the start of the next level's warm-up. `capacity`
    /// counts this time from the moment when it has chosen the next load
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "10s", requires = "start_at")]
    level_gap: Duration,
    /// Largest difference between this machine's clock and the clocks of the other parts, as the time service (chrony, PTP)
    /// or a launcher measured it, e.g. 50us
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "part")]
    clock_bound: Option<Duration>,
    /// Common clock of all parts minus this machine's monotonic clock, in nanoseconds. A launcher such as plimsoll-mpi measures
    /// this difference and sets the option [default: each machine's time of day is the common clock]
    #[arg(long, value_name = "NS", requires = "part", allow_negative_numbers = true)]
    clock_origin: Option<i64>,
    /// Replace the content of FILE about twice per second with the progress of this part: one line with load level, phase,
    /// clients, connected clients, operations and errors, separated by tabs
    #[arg(long, value_name = "FILE", requires = "part")]
    progress_file: Option<PathBuf>,
}

impl PartFlags {
    /// Sets the common clock. Must be called before any code reads the time.
    ///
    /// # Errors
    /// Something has.
    pub(crate) fn set_clock(&self) -> anyhow::Result<()> {
        let set = self.clock_origin.is_none_or(Clock::set_common);
        anyhow::ensure!(
            set,
            "--clock-origin: plimsoll read its clock before it set the common clock; please report this bug"
        );
        Ok(())
    }

    /// The file that shows the progress, if there is one.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn progress_file(&self) -> anyhow::Result<Option<ProgressFile>> {
        self.progress_file.as_deref().map(ProgressFile::begin).transpose()
    }

    /// What they ask for.
    pub(crate) fn options(&self) -> PartOptions {
        let Self { part, start_at, level_gap, clock_bound, .. } = *self;
        PartOptions { part, start_at, level_gap, clock_bound }
    }
}

/// Nanoseconds since the Unix epoch.
fn parse_start(text: &str) -> Result<i64, String> {
    let expected = || "expected a time in UTC, e.g. 2026-11-23T10:00:00Z".to_owned();
    let time = humantime::parse_rfc3339(text).map_err(|_| expected())?;
    let since = time.duration_since(UNIX_EPOCH).map_err(|_| expected())?;
    i64::try_from(since.as_nanos()).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_an_instant() {
        assert_eq!(parse_start("2026-11-23T10:00:00Z"), Ok(1_795_428_000_000_000_000));
        assert_eq!(parse_start("2026-11-23T10:00:00.25Z"), Ok(1_795_428_000_250_000_000));
        for wrong in ["10:00", "2026-11-23", "2026-11-23T10:00:00", "tomorrow", "1900-01-01T00:00:00Z"] {
            assert!(parse_start(wrong).is_err(), "{wrong}");
        }
    }
}
