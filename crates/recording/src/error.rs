//! What can go wrong with a table.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// Whatever an encoder or the operating system said.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// A table could not be written. Nothing that stood at the target's name was touched.
#[derive(Debug)]
pub enum RecordingError {
    /// The file name does not end in a format that we write.
    UnknownFormat {
        /// The name as given.
        path: PathBuf,
    },
    /// Something that is no regular file (a folder, a pipe, a device) has the target's name.
    NotAFile {
        /// The name as given.
        path: PathBuf,
    },
    /// The file could not be created.
    Create {
        /// The file that we tried to create, beside the target.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Rows could not be written. Rows that came afterwards were not written either.
    Write {
        /// What was written so far; it is not complete.
        partial: PathBuf,
        /// Rows taken before the error; the last of them may be missing in the file.
        rows: u64,
        /// What the encoder or the operating system said.
        source: Cause,
    },
    /// The table is complete, but could not be given its name.
    Rename {
        /// The complete table.
        partial: PathBuf,
        /// The name it should have.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFormat { path } => {
                write!(f, "{path:?}: no format known by that name: end it in .parquet or .csv")
            }
            Self::NotAFile { path } => {
                write!(f, "{path:?} is no regular file: a table is renamed into place, so name a file")
            }
            Self::Create { path, source } => write!(f, "{path:?} could not be created: {source}"),
            Self::Write { partial, rows, source } => {
                write!(f, "transactions could not be written after {rows} rows: {source}; {partial:?} is incomplete")
            }
            Self::Rename { partial, path, source } => {
                write!(f, "{partial:?} is complete but could not be renamed to {path:?}: {source}")
            }
        }
    }
}

impl Error for RecordingError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::UnknownFormat { .. } | Self::NotAFile { .. } => None,
            Self::Create { source, .. } | Self::Rename { source, .. } => Some(source),
            Self::Write { source, .. } => Some(source.as_ref()),
        }
    }
}
