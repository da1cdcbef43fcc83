//! Errors of tables.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// An error of an encoder or the operating system.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// A table could not be written.
#[derive(Debug)]
pub enum RecordingError {
    /// The file name does not end in a format that we write.
    UnknownFormat {
        /// The name as given.
        path: PathBuf,
    },
    /// Rows could not be written. Rows that came afterwards were not written either.
    Write {
        /// Rows taken before the error; the last ones may be missing in the file.
        rows: u64,
        /// The error of the encoder or the operating system.
        source: Cause,
    },
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFormat { path } => {
                write!(f, "{path:?}: unknown file format; give a name that ends in .parquet or .csv")
            }
            Self::Write { rows, source } => write!(f, "cannot write transactions after {rows} rows: {source}"),
        }
    }
}

impl Error for RecordingError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::UnknownFormat { .. } => None,
            Self::Write { source, .. } => Some(source.as_ref()),
        }
    }
}
