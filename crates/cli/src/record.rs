//! `--record DIR`: the flags.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use plimsoll_experiment::record::{RecordTo, Rows};

use crate::secrecy;

/// A recording, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RecordFlags {
    /// Keep everything in a folder: for `plimsoll report DIR`, and for SQL (docs/recordings.md)
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Transactions with a row in the recording. Its statistics always cover every transaction
    #[arg(long, value_name = "WHICH", requires = "record", default_value = "sample")]
    record_transactions: Which,
    /// Replace the recording that is in the folder already
    #[arg(long, requires = "record")]
    overwrite: bool,
}

/// Which transactions get a row.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    /// No rows
    None,
    /// One in 64, chosen by the seed
    Sample,
    /// All rows
    All,
}

impl RecordFlags {
    /// The recording that is wanted, if one is.
    pub(crate) fn to(&self) -> Option<RecordTo> {
        let rows = match self.record_transactions {
            Which::None => Rows::None,
            Which::Sample => Rows::Sample,
            Which::All => Rows::All,
        };
        let command = secrecy::command_line(secrecy::given().iter().cloned());
        let folder = self.record.clone()?;
        Some(RecordTo { folder, rows, overwrite: self.overwrite, command })
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.record.as_deref()
    }
}
