//! `--record DIR`: the flags.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use plimsoll_results::record::{RecordTo, Rows};

use plimsoll_console::secrecy;

/// A recording, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RecordFlags {
    /// Write a recording to this folder, for `plimsoll report DIR` and SQL (docs/recordings.md)
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Transactions to store as rows. Statistics always cover every transaction
    #[arg(long, value_name = "WHICH", requires = "record", default_value = "sample")]
    record_transactions: Which,
    /// Replace an existing recording in the folder
    #[arg(long, requires = "record")]
    overwrite: bool,
}

/// Which transactions get a row.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    /// No transactions
    None,
    /// A random sample of 1 in 64 transactions
    Sample,
    /// All transactions
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
