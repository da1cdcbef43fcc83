//! Which file a name stands for.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::system;

/// Which file a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Device and inode, where there is such a file already.
    pub(super) node: Option<(u64, u64)>,
    /// Its name without links.
    pub(super) path: PathBuf,
    pub(super) folder: bool,
}

impl Identity {
    /// Resolves a path that may not exist.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(there) => {
                let node = system::node(&there);
                Ok(Self { node, path: fs::canonicalize(path)?, folder: there.is_dir() })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let folder = fs::canonicalize(folder)?;
                Ok(Self { node: None, path: folder.join(path.file_name().unwrap_or_default()), folder: false })
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the other one is the same file, or is in this folder.
    pub(super) fn holds(&self, other: &Self) -> bool {
        self.path == other.path
            || (self.node.is_some() && self.node == other.node)
            || (self.folder && other.path.starts_with(&self.path))
    }
}

/// The file that standard input is, if it is one.
pub(super) fn of_stdin() -> Option<Identity> {
    let there = system::standard_input().ok()?.metadata().ok().filter(Metadata::is_file)?;
    Some(Identity { node: Some(system::node(&there)?), path: PathBuf::new(), folder: false })
}
