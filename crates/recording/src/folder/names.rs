//! Names of the folders of levels.

use std::fs;
use std::path::{Path, PathBuf};

use super::FolderError;

/// Suffix of a level's folder until it is complete.
pub(super) const PARTIAL: &str = ".partial";

/// The folder of a complete level.
pub(super) fn name(number: u32) -> String {
    format!("level-{number:04}")
}

/// The folder of a level until it is complete.
pub(super) fn partial_name(number: u32) -> String {
    format!("{}{PARTIAL}", name(number))
}

/// The paths of what is in a folder.
pub(super) fn entries(folder: &Path) -> Result<impl Iterator<Item = PathBuf>, FolderError> {
    let entries = fs::read_dir(folder).map_err(|source| FolderError::file(folder, source))?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    paths.map(Vec::into_iter).map_err(|source| FolderError::file(folder, source))
}
