//! Errors of recordings.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::names::REPLACED;
use crate::error::Cause;

/// A recording could not be written or read.
#[derive(Debug)]
pub enum FolderError {
    /// The folder holds a recording already.
    Taken {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds something that is no recording.
    NotEmpty {
        /// The folder.
        folder: PathBuf,
        /// One of these files.
        file: PathBuf,
    },
    /// The folder holds only what a killed process left of a recording.
    Leftovers {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds no recording.
    NoRecording {
        /// The folder.
        folder: PathBuf,
        /// Recordings directly inside it, as a duel writes one per side; sorted.
        inside: Vec<PathBuf>,
    },
    /// A file has the place of the folder.
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// A file could not be written or read.
    File {
        /// The file.
        path: PathBuf,
        /// The error of the encoder or the operating system.
        source: Cause,
    },
    /// A file is invalid.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error.
        source: Cause,
    },
}

impl FolderError {
    pub(crate) fn file(path: &Path, source: impl Into<Cause>) -> Self {
        Self::File { path: path.to_owned(), source: source.into() }
    }

    pub(crate) fn damaged(path: &Path, source: impl Into<Cause>) -> Self {
        Self::Damaged { path: path.to_owned(), source: source.into() }
    }
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { folder } => {
                write!(f, "{folder:?} already contains a recording: name another folder, or add --overwrite")
            }
            Self::NotEmpty { folder, file } => write!(
                f,
                "{folder:?} contains files that do not belong to a recording, such as {file:?}: move them, or name another folder"
            ),
            Self::Leftovers { folder } => write!(
                f,
                "{folder:?} contains leftovers of a killed Plimsoll process, but no recording: add --overwrite to delete them, or name \
                another folder"
            ),
            Self::NoRecording { folder, inside } if inside.is_empty() => write!(
                f,
                "{folder:?} contains no recording: manifest.json is missing; name a folder written with --record"
            ),
            Self::NoRecording { folder, inside } if inside.len() == 1 && inside[0].ends_with(REPLACED) => write!(
                f,
                "{folder:?} contains no recording, because a Plimsoll process was killed while it replaced one: name the old recording, \
                {:?}",
                inside[0]
            ),
            Self::NoRecording { folder, inside } if inside.len() == 1 => {
                write!(f, "{folder:?} is not a recording, but contains one: name {:?}", inside[0])
            }
            Self::NoRecording { folder, inside } => {
                let named: Vec<String> = inside.iter().map(|path| format!("{path:?}")).collect();
                write!(f, "{folder:?} contains several recordings: name one of {}", named.join(", "))
            }
            Self::NoFolder { path } => write!(
                f,
                "{path:?} is a file, not a recording; plimsoll analyze reads captures and transactions tables"
            ),
            Self::File { path, source } => match full(source) {
                Some(error) => {
                    write!(f, "{path:?}: cannot write: {error}; free some space, or name a folder on another disk")
                }
                None => write!(f, "{path:?}: {source}"),
            },
            Self::Damaged { path, source } => {
                write!(f, "{path:?} is damaged, or another version of Plimsoll wrote it: {source}")
            }
        }
    }
}

impl Error for FolderError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Taken { .. }
            | Self::NotEmpty { .. }
            | Self::Leftovers { .. }
            | Self::NoRecording { .. }
            | Self::NoFolder { .. } => None,
            // The message contains it already.
            Self::File { source, .. } if full(source).is_some() => None,
            Self::File { source, .. } | Self::Damaged { source, .. } => Some(source.as_ref()),
        }
    }
}

/// The error of the system, if the disk is full: an encoder wraps it.
fn full(cause: &Cause) -> Option<&io::Error> {
    let mut next: Option<&(dyn Error + 'static)> = Some(cause.as_ref());
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            return is_full.then_some(error);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_with_a_remedy_even_inside_an_encoder_error() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let wrapped = parquet::errors::ParquetError::External(Box::new(full()));
        for error in [FolderError::file(Path::new("r/s"), full()), FolderError::file(Path::new("r/s"), wrapped)] {
            let text = error.to_string();
            assert!(text.starts_with("\"r/s\": cannot write: ") && text.contains("free some space"), "{text}");
            assert!(!text.contains("External") && error.source().is_none(), "{text}");
        }
    }
}
