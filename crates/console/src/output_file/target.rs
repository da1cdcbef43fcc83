//! The kind of a path, with links followed.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::system;

/// Links that are followed, at most: as many as Linux follows.
const LINKS: usize = 40;

/// Kind of a path, with links followed.
pub(super) enum Target {
    /// A regular file, or none so far.
    Regular(PathBuf, Option<Metadata>),
    /// Not a regular file; opened by this name.
    Direct(PathBuf),
    /// A descriptor of this process.
    Stdout,
    Stderr,
}

impl Target {
    /// Follows links one by one. Links in `/proc` stand for descriptors and have no usable target name.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..LINKS {
            let there = match fs::symlink_metadata(&path) {
                Ok(there) => there,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Target::Regular(path, None)),
                Err(error) => return Err(error),
            };
            if !there.is_symlink() {
                let regular = there.is_file() || there.is_dir();
                return Ok(if regular { Target::Regular(path, Some(there)) } else { Target::Direct(path) });
            }
            let folder = match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                Some(folder) => fs::canonicalize(folder)?,
                None => fs::canonicalize(".")?,
            };
            if folder.starts_with("/proc") {
                let ours = folder == Path::new(&format!("/proc/{}/fd", std::process::id()));
                return Ok(match path.file_name().and_then(OsStr::to_str) {
                    Some("1") if ours => Target::Stdout,
                    Some("2") if ours => Target::Stderr,
                    _ => Target::Direct(path),
                });
            }
            path = folder.join(fs::read_link(&path)?);
        }
        Err(io::Error::other("too many symbolic links"))
    }

    /// Opens a file for writing in place.
    pub(super) fn open(&self) -> io::Result<File> {
        match self {
            Target::Stdout => system::standard_output(),
            Target::Stderr => system::standard_error(),
            // A descriptor's file may hold something already.
            Target::Direct(path) | Target::Regular(path, _) => OpenOptions::new().append(true).open(path),
        }
    }
}
