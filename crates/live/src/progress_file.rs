//! `--progress-file`: the progress of a part, for a launcher that shows all parts in one place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_client::clock::Clock;
use plimsoll_drive::engine::{Phase, Progress};
use plimsoll_workload::fileset::JobProgress;

/// A file with one line, which is replaced as a whole:
/// the level, the phase, clients, connected clients, operations and errors, separated by tabs. In the phase `files` the two numbers of
/// clients are those of files.
pub struct ProgressFile {
    path: PathBuf,
}

impl ProgressFile {
    /// A file that says that nothing has begun.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(path: &Path) -> anyhow::Result<Self> {
        let file = Self { path: path.to_owned() };
        let written = file.write("", "waiting", [0; 4]);
        written.with_context(|| format!("--progress-file {}", path.display()))?;
        Ok(file)
    }

    /// Shows the progress of a level. The next one will be written, too, so an error is of no concern.
    pub fn level(&self, level: &str, now: &Progress) {
        let numbers = [u64::from(now.clients), u64::from(now.connected), now.actions, now.errors];
        // A part that is connected waits for the common start.
        let waits = now.phase == Phase::WarmUp && Clock::new().now() < now.since;
        let phase = if waits { "waiting for the start" } else { phase(now.phase) };
        let _tried = self.write(level, phase, numbers);
    }

    /// Shows how many files exist.
    pub fn files(&self, what: &str, JobProgress { done, total }: JobProgress) {
        let _tried = self.write(what, "files", [total, done, 0, 0]);
    }

    fn write(&self, what: &str, phase: &str, [clients, connected, operations, errors]: [u64; 4]) -> io::Result<()> {
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let what = what.replace(['\t', '\n'], " ");
        fs::write(&new, format!("{what}\t{phase}\t{clients}\t{connected}\t{operations}\t{errors}\n"))?;
        fs::rename(new, &self.path)
    }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Waiting => "waiting",
        Phase::Connecting => "connecting",
        Phase::WarmUp => "warm-up",
        Phase::Measured => "measuring",
        Phase::Drain => "last responses",
        Phase::Leaving => "logging off",
        Phase::Over => "over",
    }
}
