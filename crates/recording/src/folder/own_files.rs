//! Files that are a recording's own: nothing else in its folder is ever deleted.

use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::{self, SO_FAR};
use super::names::{PARTIAL, REPLACED, entries};
use super::tables::{self, OPEN};
use super::{FolderError, about, intervals, packed, parts, progress};

/// The manifest, and its temporary file from a killed program.
const MANIFESTS: [&str; 2] = [manifest::NAME, manifest::NEW];

/// Files of a level, besides the rows of its transactions.
const FILES: [&str; 8] = [
    about::NAME,
    packed::STATISTICS,
    packed::PART,
    packed::SPANS,
    intervals::NAME,
    tables::INTERVALS,
    tables::HISTOGRAMS,
    progress::NAME,
];

/// Removes only the files of a recording; the manifest first, so that an incomplete removal leaves no recording.
pub(super) fn clear(folder: &Path) -> Result<(), FolderError> {
    for file in MANIFESTS.map(|name| folder.join(name)) {
        if file.exists() {
            fs::remove_file(&file).map_err(|source| FolderError::file(&file, source))?;
        }
    }
    remove_levels(folder, |_| true)
}

/// Removes folders of levels, except those with files of others.
pub(super) fn remove_levels(folder: &Path, unwanted: impl Fn(&PathBuf) -> bool) -> Result<(), FolderError> {
    for level in entries(folder)?.filter(|path| is_level(path)).filter(unwanted) {
        if foreign_at(&level)?.is_none() {
            fs::remove_dir_all(&level).map_err(|source| FolderError::file(&level, source))?;
        }
    }
    Ok(())
}

/// Refuses a folder with files that are not a recording's.
pub(super) fn refuse_foreign(folder: &Path) -> Result<(), FolderError> {
    entries(folder)?.try_for_each(|path| refuse(folder, &path))
}

/// Refuses folders of levels that contain other files, too. Other programs have folders of such names.
pub(super) fn refuse_foreign_levels(folder: &Path, wanted: impl Fn(&PathBuf) -> bool) -> Result<(), FolderError> {
    entries(folder)?.filter(|path| is_level(path)).filter(wanted).try_for_each(|level| refuse(folder, &level))
}

fn refuse(folder: &Path, entry: &Path) -> Result<(), FolderError> {
    match foreign_at(entry)? {
        Some(file) => Err(FolderError::NotEmpty { folder: folder.to_owned(), file }),
        None => Ok(()),
    }
}

/// The entry of a recording's folder, or a file in it, if it is not a recording's.
fn foreign_at(entry: &Path) -> Result<Option<PathBuf>, FolderError> {
    if is_level(entry) && entry.is_dir() {
        return Ok(entries(entry)?.find(|file| !is_of_level(file)));
    }
    if entry.ends_with(REPLACED) && entry.is_dir() && !entry.is_symlink() {
        let its = entry.join(manifest::NAME);
        if its.exists() && !manifest::is_a_recordings(entry) {
            return Ok(Some(its));
        }
        return entries(entry)?.find_map(|inside| foreign_at(&inside).transpose()).transpose();
    }
    let is_manifest = entry.is_file() && MANIFESTS.iter().any(|name| entry.ends_with(name));
    Ok((!is_manifest).then(|| entry.to_owned()))
}

fn is_of_level(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(OPEN).unwrap_or(name);
    file.is_file() && (FILES.contains(&name) || parts::number(name).is_some())
}

/// Whether a name is that of a level's folder, complete or not, or of the results so far of one.
pub(super) fn is_level(path: &Path) -> bool {
    has_number(path, "level-") || is_so_far(path)
}

/// Whether a name is that of a folder with results so far.
pub(super) fn is_so_far(path: &Path) -> bool {
    has_number(path, SO_FAR)
}

fn has_number(path: &Path, prefix: &str) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let digits = name.strip_suffix(PARTIAL).unwrap_or(name).strip_prefix(prefix);
    digits.is_some_and(|digits| digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}
