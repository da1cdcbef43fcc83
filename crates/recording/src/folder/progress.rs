//! `progress.zst`: what there is of a level that is not finished, replaced about once a second and removed when the level is
//! finished.
//!
//! The length of the level's description in four bytes, the lowest first; the description as in the manifest; the state of its
//! statistics. One file, so that both are of the same instant.

use std::fs;
use std::io;
use std::path::Path;

use super::packed::{self, Packer};
use super::{FolderError, RecordedLevel};
use crate::error::Cause;

pub(super) const NAME: &str = "progress.zst";
const NEW: &str = "progress.zst.new";
const WHAT: &str = "progress";

/// Replaces the previous progress atomically: after a kill, one of the two exists. It does not wait for the disk: a crash of the machine
/// may lose it, the end of the program does not.
pub(super) fn write(folder: &Path, level: &RecordedLevel, state: &[u8]) -> Result<(), Cause> {
    let description = serde_json::to_vec(level)?;
    let new = folder.join(NEW);
    let mut packer = Packer::create(&new, WHAT)?;
    packer.put(&u32::try_from(description.len())?.to_le_bytes())?;
    packer.put(&description)?;
    packer.put(state)?;
    packer.finish_unsynced()?;
    Ok(fs::rename(&new, folder.join(NAME))?)
}

/// The level is finished: its own files hold everything.
pub(super) fn remove(folder: &Path) -> Result<(), Cause> {
    for name in [NAME, NEW] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// The description and the state of its statistics; `None` where there is none, for the level had hardly begun.
pub(super) fn read(folder: &Path) -> Result<Option<(RecordedLevel, Vec<u8>)>, FolderError> {
    let path = folder.join(NAME);
    if !path.exists() {
        return Ok(None);
    }
    let mut bytes = packed::read_whole(&path, WHAT)?;
    let damaged = |why: &str| FolderError::damaged(&path, why);
    let length = bytes.first_chunk().ok_or_else(|| damaged("the file is empty"))?;
    let begins = size_of::<u32>();
    let ends = begins.saturating_add(u32::from_le_bytes(*length) as usize);
    let description =
        bytes.get(begins..ends).ok_or_else(|| damaged("the description of the level is longer than the file"))?;
    let level = serde_json::from_slice(description).map_err(|error| FolderError::damaged(&path, error))?;
    Ok(Some((level, bytes.split_off(ends))))
}
