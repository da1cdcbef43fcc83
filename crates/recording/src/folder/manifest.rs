//! The subject of a recording, and its finished levels: `manifest.json`.

use plimsoll_model::{About, Validity};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::about::AboutReader;
use super::{FolderError, names};

/// The schema's name; its number changes when a field is removed or changes its meaning.
pub const SCHEMA: &str = "plimsoll.recording/1";
/// Beginning of the name of a folder with results so far.
pub(super) const SO_FAR: &str = "so-far-";
/// Its file.
pub(super) const NAME: &str = names::MANIFEST;
/// The same until it is complete.
pub(super) const NEW: &str = "manifest.json.new";
/// No manifest is longer: a level takes less than a kilobyte, and its `about` has other limits (`about.rs`).
const MOST_BYTES: u64 = 64 << 20;

/// The manifest of a recording (see `schemas/plimsoll.recording.1.schema.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Whether it is complete.
    pub state: Progress,
    /// The tool and its version.
    pub tool: String,
    /// The command line, secrets replaced.
    pub command: Vec<String>,
    /// When it began, ns since the Unix epoch.
    pub started_ns: i64,
    /// When it ended; null until then.
    pub ended_ns: Option<i64>,
    /// The computer that it ran on.
    pub machine: Machine,
    /// The clock that instants come from, in words.
    pub clock: String,
    /// Which transactions have a row.
    pub transactions: TransactionPolicy,
    /// Whether the numbers may be used; null until it ended.
    pub validity: Option<Validity>,
    /// The measurement, described by the command that recorded it.
    pub measured: Value,
    /// The levels that are finished, in order. While an analysis is running: its results so far.
    pub levels: Vec<RecordedLevel>,
}

/// Whether a recording is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Still going on, or killed.
    Running,
    /// The recording is complete.
    Finished,
    /// The recording was stopped; its levels are complete.
    Interrupted,
}

/// A computer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processor cores that the process may use.
    pub cores: u64,
    /// Processor model.
    pub processor: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
}

/// Which transactions have a row in the recording's tables. (Intervals, histograms and statistics are of all.)
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TransactionPolicy {
    /// none, sample or all.
    pub which: String,
    /// Sampling: one in this number; 0 for none.
    pub one_in: u64,
    /// Seed of the sample.
    pub seed: u64,
    /// How, in words.
    pub rule: String,
}

/// The words of the rule may differ between versions: they explain the sample, and do not select it.
impl PartialEq for TransactionPolicy {
    fn eq(&self, other: &Self) -> bool {
        (&self.which, self.one_in, self.seed) == (&other.which, other.one_in, other.seed)
    }
}

/// A finished level: a load level, or all of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedLevel {
    /// Its number, from 0.
    pub number: u32,
    /// Its folder.
    pub folder: String,
    /// The load in words; null for captures.
    pub load_name: Option<String>,
    /// Begin and end, ns since the Unix epoch, where known.
    pub first_ns: Option<i64>,
    /// See `first_ns`.
    pub last_ns: Option<i64>,
    /// Length of its intervals, ns.
    pub interval_ns: i64,
    /// Operations that are in no interval, for want of an instant.
    pub unplaced: u64,
    /// Rows of its transactions table.
    pub transactions: u64,
    /// Files of its transactions table.
    pub parts: u32,
    /// Further data of the recording command.
    pub about: Value,
    /// Whether `about` is in a file of the level's folder, because the manifest would be too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub about_apart: bool,
}

impl RecordedLevel {
    /// Whether it has only the results so far of an analysis that has not finished.
    pub fn is_so_far(&self) -> bool {
        self.folder.starts_with(SO_FAR)
    }
}

impl Manifest {
    /// Replaces the previous manifest atomically: after a kill, one of the two exists.
    pub(super) fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let (path, new) = (folder.join(NAME), folder.join(NEW));
        let failed = |source: std::io::Error| FolderError::file(&path, source);
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| FolderError::file(&path, error))?;
        text.push(b'\n');
        // Plimsoll could not read a longer manifest. The previous one stays.
        if text.len() as u64 > MOST_BYTES {
            let why = format!("the file would exceed {MOST_BYTES} bytes; use fewer load levels");
            return Err(FolderError::file(&path, why));
        }
        let mut file = File::create(&new).map_err(failed)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&new, &path).map_err(failed)?;
        sync_folder(folder)
    }

    /// The manifest of a folder.
    pub(super) fn read(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join(NAME);
        let file = File::open(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => {
                FolderError::NoRecording { folder: folder.to_owned(), inside: recordings_inside(folder) }
            }
            std::io::ErrorKind::NotADirectory => FolderError::NoFolder { path: folder.to_owned() },
            _ => FolderError::file(&path, source),
        })?;
        let mut text = Vec::new();
        file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|source| FolderError::file(&path, source))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(FolderError::damaged(&path, format!("the file exceeds the limit of {MOST_BYTES} bytes")));
        }
        // Checks the version first, because another version may have other fields.
        let damaged = |error: serde_json::Error| FolderError::damaged(&path, error);
        let Version { schema } = serde_json::from_slice(&text).map_err(damaged)?;
        if schema != SCHEMA {
            return Err(FolderError::damaged(
                &path,
                format!("the file has the schema {schema:?}, but this version reads {SCHEMA:?}"),
            ));
        }
        let mut manifest: Self = serde_json::from_slice(&text).map_err(damaged)?;
        let mut about = AboutReader::new();
        for level in manifest.levels.iter_mut().filter(|level| level.about_apart) {
            level.about = about.read(&names::level_folder(folder, &level.folder)?)?;
        }
        Ok(manifest)
    }
}

impl Manifest {
    /// The user's title, labels and description: a part of its source, for any kind of measurement.
    ///
    /// # Errors
    /// It is invalid, or has more or longer texts than allowed.
    pub fn about(&self) -> Result<About, serde_json::Error> {
        self.measured.pointer("/source/about").map_or_else(|| Ok(About::default()), About::deserialize)
    }
}

/// Recordings directly inside a folder, sorted; none where it cannot be listed.
fn recordings_inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_a_recordings(path)).collect();
    inside.sort();
    inside
}

#[derive(Deserialize)]
struct Version {
    schema: String,
}

/// Whether a folder's manifest is that of a recording, of any version. Other programs use this file name, too.
pub(super) fn is_a_recordings(folder: &Path) -> bool {
    parsed::<Version>(folder).is_some_and(|version| version.schema.starts_with("plimsoll.recording/"))
}

#[derive(Deserialize)]
struct Levels {
    levels: Vec<IgnoredAny>,
}

/// Whether a folder's manifest, of any version, has a level: a finished one, or results so far.
pub(super) fn has_results(folder: &Path) -> bool {
    parsed::<Levels>(folder).is_some_and(|manifest| !manifest.levels.is_empty())
}

/// What of a folder's manifest this type has; `None` if it cannot be read.
fn parsed<T: DeserializeOwned>(folder: &Path) -> Option<T> {
    let mut text = Vec::new();
    let read = File::open(folder.join(NAME)).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
    read.ok().and_then(|_| serde_json::from_slice(&text).ok())
}

/// Makes a rename last.
pub(super) fn sync_folder(folder: &Path) -> Result<(), FolderError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|source| FolderError::file(folder, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_recordings_names_them() {
        let scratch = tempfile::tempdir().unwrap();
        let empty = Manifest::read(scratch.path()).unwrap_err().to_string();
        assert!(empty.contains("manifest.json is missing"), "{empty}");
        for side in ["B", "A", "other"] {
            fs::create_dir(scratch.path().join(side)).unwrap();
            let schema = if side == "other" { "another.program/1" } else { SCHEMA };
            fs::write(scratch.path().join(side).join(NAME), format!("{{\"schema\": \"{schema}\"}}")).unwrap();
        }
        let several = Manifest::read(scratch.path()).unwrap_err().to_string();
        let inside = ["A", "B"].map(|side| format!("{:?}", scratch.path().join(side)));
        assert!(several.ends_with(&format!("name one of {}", inside.join(", "))), "{several}");
    }
}
