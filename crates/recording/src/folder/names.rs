//! Names of the folders in a recording.

use std::fs;
use std::path::{Path, PathBuf};

use super::FolderError;

/// A recording's description.
pub(super) const MANIFEST: &str = "manifest.json";
/// Suffix of a level's folder until it is complete.
pub(super) const PARTIAL: &str = ".partial";

/// The folder of the recording that a new one replaces.
pub(super) const REPLACED: &str = "replaced";

/// The folder of a complete level.
pub(super) fn name(number: u32) -> String {
    format!("level-{number:04}")
}

/// The folder of a level until it is complete.
pub(super) fn partial_name(number: u32) -> String {
    format!("{}{PARTIAL}", name(number))
}

/// The folder of a level that a manifest names. A manifest is not trusted: it may name only folders inside the recording's own. If a process
/// was killed while it moved a recording aside, the manifest is still in its place and some of the levels are not (`replaced.rs`).
pub(super) fn level_folder(recording: &Path, name: &str) -> Result<PathBuf, FolderError> {
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(FolderError::damaged(recording, format!("the manifest has the invalid level folder {name:?}")));
    }
    let (usual, moved) = (recording.join(name), recording.join(REPLACED).join(name));
    let is_moved = !usual.exists() && moved.exists() && replaced(recording).is_none();
    Ok(if is_moved { moved } else { usual })
}

/// The recording that was moved aside; `None` without one.
pub(super) fn replaced(folder: &Path) -> Option<PathBuf> {
    let aside = folder.join(REPLACED);
    aside.join(MANIFEST).exists().then_some(aside)
}

pub(super) fn entries(folder: &Path) -> Result<impl Iterator<Item = PathBuf>, FolderError> {
    let entries = fs::read_dir(folder).map_err(|source| FolderError::file(folder, source))?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    paths.map(Vec::into_iter).map_err(|source| FolderError::file(folder, source))
}
