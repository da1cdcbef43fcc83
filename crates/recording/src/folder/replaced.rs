//! The recording that a new one replaces: `DIR/replaced` has it until the new one has results, so that no failure loses both.
//!
//! Its manifest goes there last and returns first. After a kill, the rest of the recording is moved to where its manifest is.

use std::fs;
use std::path::Path;

use super::names::{REPLACED, entries};
use super::{FolderError, manifest, own_files};

/// Moves the recording of a folder aside. If another recording is there already, a process was killed: if it had no results yet, only its
/// own files are deleted.
pub(super) fn set_aside(folder: &Path) -> Result<(), FolderError> {
    let aside = folder.join(REPLACED);
    if aside.join(manifest::NAME).exists() {
        if !manifest::has_results(folder) {
            return own_files::clear(folder);
        }
        remove(folder)?;
    }
    complete(folder)?;
    fs::create_dir_all(&aside).map_err(|source| FolderError::file(&aside, source))?;
    for level in entries(folder)?.filter(|path| own_files::is_level(path)) {
        move_into(&level, &aside)?;
    }
    move_into(&folder.join(manifest::NAME), &aside)?;
    own_files::clear(folder)
}

/// If a process was killed while it moved the recording whose manifest is in the folder, moves the rest of the recording back. A level that
/// the folder has, too, belongs to an older recording, whose removal was interrupted.
pub(super) fn complete(folder: &Path) -> Result<(), FolderError> {
    let aside = folder.join(REPLACED);
    if !aside.is_dir() || aside.join(manifest::NAME).exists() || !folder.join(manifest::NAME).exists() {
        return Ok(());
    }
    for level in entries(&aside)?.filter(|path| own_files::is_level(path)) {
        if !folder.join(level.file_name().unwrap_or_default()).exists() {
            move_into(&level, folder)?;
        }
    }
    remove(folder)
}

/// After an error: moves everything back. (The user must see this error, so a second one is not reported.)
pub(super) fn undo(folder: &Path) {
    let _ = restore(folder).and_then(|_| complete(folder));
}

/// Moves the recording back. Returns whether there was one.
pub(super) fn restore(folder: &Path) -> Result<bool, FolderError> {
    let aside = folder.join(REPLACED);
    let manifest = aside.join(manifest::NAME);
    if !manifest.exists() {
        return Ok(false);
    }
    move_into(&manifest, folder)?;
    for level in entries(&aside)?.filter(|path| own_files::is_level(path)) {
        move_into(&level, folder)?;
    }
    // It stays if somebody put a file there.
    let _ = fs::remove_dir(&aside);
    Ok(true)
}

/// Removes the recording, because the new one has results.
pub(super) fn remove(folder: &Path) -> Result<(), FolderError> {
    let aside = folder.join(REPLACED);
    if aside.is_dir() {
        own_files::clear(&aside)?;
        // It stays if somebody put a file there.
        let _ = fs::remove_dir(&aside);
    }
    Ok(())
}

fn move_into(entry: &Path, folder: &Path) -> Result<(), FolderError> {
    let to = folder.join(entry.file_name().unwrap_or_default());
    fs::rename(entry, &to).map_err(|source| FolderError::file(entry, source))
}
