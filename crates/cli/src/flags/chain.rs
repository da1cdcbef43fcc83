//! `--hand-over-from` and `--hand-over-to`: the flags.

use std::path::{Path, PathBuf};

use plimsoll_analysis::ChainOptions;

/// The files between jobs, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Capture in several files")]
pub(crate) struct ChainFlags {
    /// Continue from the state in FILE, which the analysis of the previous capture file wrote with --hand-over-to. The report
    /// then covers all capture files so far; --record and --transactions cover only the current one
    #[arg(long, value_name = "FILE")]
    hand_over_from: Option<PathBuf>,
    /// Write the state of open connections and all results so far to FILE, for the analysis of the next capture file. FILE
    /// contains packet data, so Plimsoll makes it readable only by its owner
    #[arg(long, value_name = "FILE")]
    hand_over_to: Option<PathBuf>,
}

impl ChainFlags {
    /// Files that are read.
    pub(crate) fn files(&self) -> Option<&Path> {
        self.hand_over_from.as_deref()
    }

    /// What they ask for.
    pub(crate) fn options(&self) -> ChainOptions<'_> {
        let (from, to) = (self.hand_over_from.as_deref(), self.hand_over_to.as_deref());
        ChainOptions { from, to, build: env!("PLIMSOLL_BUILD_COMMIT") }
    }
}
