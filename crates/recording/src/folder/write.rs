//! A recording being written.

use plimsoll_model::Validity;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_model::Names;
use plimsoll_stats::IntervalWidth;
use serde_json::Value;

use super::checkpoint::CheckpointWriter;
use super::manifest::{self, SO_FAR, sync_folder};
use super::names::{PARTIAL, entries, name, partial_name};
use super::tables::{self, OPEN};
use super::{FolderError, LevelWriter, Manifest, Progress, RecordedLevel, intervals, packed, parts, progress};

/// A recording being written, level by level.
pub struct RecordingWriter {
    folder: PathBuf,
    manifest: Manifest,
    /// Whether this writer created the folder.
    is_own_folder: bool,
    /// Held while it is written.
    lock: fs::File,
}

/// Data of a level when it is finished.
pub struct Finished {
    /// The load in words.
    pub load_name: Option<String>,
    /// Begin and end, ns since the Unix epoch.
    pub span_ns: (Option<i64>, Option<i64>),
    /// The state of its statistics (`plimsoll_stats::Statistics::to_bytes`).
    pub state: Vec<u8>,
    /// The command's own data.
    pub about: Value,
    /// The data for merging with the other parts of a run, if it is a part.
    pub part: Option<Vec<u8>>,
}

/// Prevents concurrent writers. The lock ends with this process; some network file systems cannot lock folders, and a recording there has
/// no lock.
fn lock(folder: &Path) -> Result<fs::File, FolderError> {
    let held = fs::File::open(folder).map_err(|source| FolderError::file(folder, source))?;
    match held.try_lock() {
        Err(fs::TryLockError::WouldBlock) => {
            Err(FolderError::file(folder, "another Plimsoll process is writing to this folder; name another folder"))
        }
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(held),
    }
}

/// Whether the path still leads to the folder that was locked.
#[cfg(unix)]
fn leads_to(folder: &Path, lock: &fs::File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let (there, locked) = (fs::metadata(folder).map(identity), lock.metadata().map(identity));
    there.ok().zip(locked.ok()).is_some_and(|(there, locked)| there == locked)
}

/// The system does not replace a folder that is open.
#[cfg(not(unix))]
fn leads_to(_: &Path, _: &fs::File) -> bool {
    true
}

impl RecordingWriter {
    /// Begins a recording in a folder, which is created if necessary. `overwrite` removes an existing recording, and the leftovers of a
    /// killed process.
    ///
    /// # Errors
    /// If the folder contains a recording or other files, or cannot be written.
    pub fn create(folder: &Path, manifest: Manifest, overwrite: bool) -> Result<Self, FolderError> {
        let is_own_folder = !folder.exists();
        fs::create_dir_all(folder).map_err(|source| FolderError::file(folder, source))?;
        let lock = lock(folder)?;
        if folder.join(manifest::NAME).exists() {
            if !overwrite {
                return Err(FolderError::Taken { folder: folder.to_owned() });
            }
            // Removes nothing if the folder contains other files.
            if !manifest::is_a_recordings(folder) || entries(folder)?.any(|path| !is_ours(&path)) {
                return Err(FolderError::NotEmpty { folder: folder.to_owned() });
            }
            clear(folder)?;
        } else if entries(folder)?.next().is_some() {
            if entries(folder)?.any(|path| !is_leftover(&path)) {
                return Err(FolderError::NotEmpty { folder: folder.to_owned() });
            }
            if !overwrite {
                return Err(FolderError::Leftovers { folder: folder.to_owned() });
            }
            clear(folder)?;
        }
        manifest.write(folder)?;
        Ok(Self { folder: folder.to_owned(), manifest, is_own_folder, lock })
    }

    /// Removes the recording: it has no results. The folder goes too if this writer created it. If another folder has taken its place,
    /// nothing is removed.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn discard(self) -> Result<(), FolderError> {
        if !leads_to(&self.folder, &self.lock) {
            return Ok(());
        }
        clear(&self.folder)?;
        if self.is_own_folder {
            fs::remove_dir(&self.folder).map_err(|source| FolderError::file(&self.folder, source))?;
        }
        Ok(())
    }

    /// Continues a recording: the finished levels that `keeps` selects stay, everything else is removed. `seen` is its manifest as it was
    /// when the caller decided that.
    ///
    /// # Errors
    /// If the folder contains no recording, or it is damaged, of another version, was changed in the meantime, or cannot be written.
    pub fn resume(folder: &Path, seen: &Manifest, keeps: impl Fn(&RecordedLevel) -> bool) -> Result<Self, FolderError> {
        let lock = lock(folder)?;
        // Only with the lock: another process may have added a level since.
        let mut manifest = Manifest::read(folder)?;
        if manifest.levels != seen.levels {
            let why = "another Plimsoll process has changed this recording in the meantime; repeat the command";
            return Err(FolderError::file(folder, why));
        }
        manifest.levels.retain(keeps);
        (manifest.state, manifest.ended_ns, manifest.validity) = (Progress::Running, None, None);
        // The manifest first: levels that it does not name are not part of the recording, even if this program is killed.
        manifest.write(folder)?;
        let kept: Vec<PathBuf> = manifest.levels.iter().map(|level| folder.join(&level.folder)).collect();
        remove_levels(folder, |path| !kept.contains(path))?;
        Ok(Self { folder: folder.to_owned(), manifest, is_own_folder: false, lock })
    }

    /// Updates the description of the measurement; it is written with the next level, or by [`RecordingWriter::publish`].
    pub fn describe(&mut self, measured: Value) {
        self.manifest.measured = measured;
    }

    /// Writes the manifest now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn publish(&self) -> Result<(), FolderError> {
        self.manifest.write(&self.folder)
    }

    /// Writes checkpoints of its only level until that ends.
    pub fn checkpoints(&self) -> CheckpointWriter {
        CheckpointWriter::new(&self.folder, &self.manifest)
    }

    /// Begins a level. `width` is that of the intervals it will get; `None` where these are [`Intervals::growing`].
    ///
    /// [`Intervals::growing`]: plimsoll_stats::Intervals::growing
    ///
    /// # Errors
    /// When its files cannot be made.
    pub fn begin(&self, number: u32, width: Option<IntervalWidth>) -> Result<LevelWriter, FolderError> {
        let folder = self.folder.join(partial_name(number));
        fs::create_dir(&folder).map_err(|source| FolderError::file(&folder, source))?;
        LevelWriter::new(&folder, number, width, self.manifest.transactions.one_in > 0)
    }

    /// Ends a level: from now on it belongs to the recording, whatever happens.
    ///
    /// # Errors
    /// The first error since it began.
    pub fn end(&mut self, level: LevelWriter, finished: Finished, names: &Names) -> Result<(), FolderError> {
        let (number, partial) = (level.number, level.folder.clone());
        let held = level.finish((&finished.state, finished.part.as_deref()), names)?;
        sync_folder(&partial)?;
        let whole = self.folder.join(name(number));
        fs::rename(&partial, &whole).map_err(|source| FolderError::file(&whole, source))?;
        self.manifest.levels.push(RecordedLevel {
            number,
            folder: name(number),
            load_name: finished.load_name,
            first_ns: finished.span_ns.0,
            last_ns: finished.span_ns.1,
            interval_ns: held.interval_ns,
            unplaced: held.unplaced,
            transactions: held.transactions,
            parts: held.parts,
            about: finished.about,
        });
        // One that was made again comes after those that were there.
        self.manifest.levels.sort_by_key(|level| level.number);
        self.manifest.write(&self.folder)?;
        remove_levels(&self.folder, |path| digits_behind(path, SO_FAR).is_some())
    }

    /// The recording is over.
    ///
    /// # Errors
    /// When the manifest cannot be written.
    pub fn finish(mut self, state: Progress, ended_ns: i64, validity: Validity) -> Result<(), FolderError> {
        let manifest = &mut self.manifest;
        (manifest.state, manifest.ended_ns, manifest.validity) = (state, Some(ended_ns), Some(validity));
        self.manifest.write(&self.folder)
    }
}

/// Removes only the files of a recording; the manifest first, so that an incomplete removal leaves no recording.
fn clear(folder: &Path) -> Result<(), FolderError> {
    for file in MANIFESTS.map(|name| folder.join(name)) {
        if file.exists() {
            fs::remove_file(&file).map_err(|source| FolderError::file(&file, source))?;
        }
    }
    remove_levels(folder, |_| true)
}

/// The manifest, and its temporary file from a killed program.
const MANIFESTS: [&str; 2] = [manifest::NAME, "manifest.json.new"];

/// Files of a level, besides the rows of its transactions.
const FILES: [&str; 7] = [
    packed::STATISTICS,
    packed::PART,
    packed::SPANS,
    intervals::NAME,
    tables::INTERVALS,
    tables::HISTOGRAMS,
    progress::NAME,
];

/// Whether a folder has a level, complete or not, or the results so far of one.
fn is_level(path: &Path) -> bool {
    digits_behind(path, "level-").or_else(|| digits_behind(path, SO_FAR)).is_some()
}

/// The number in the name of such a folder.
fn digits_behind<'p>(path: &'p Path, prefix: &str) -> Option<&'p str> {
    let name = path.file_name()?.to_str()?;
    let digits = name.strip_suffix(PARTIAL).unwrap_or(name).strip_prefix(prefix)?;
    (digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// Whether an entry of a recording's folder is the recording's.
fn is_ours(path: &Path) -> bool {
    is_level(path) || MANIFESTS.iter().any(|name| path.ends_with(name))
}

/// Whether an entry of a folder without a manifest is what a process left that was killed at its begin, or while it removed a recording.
/// Other programs have folders of such names, too, so every file in it must be one of a level.
fn is_leftover(path: &Path) -> bool {
    let is_of_level = |path: PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_suffix(OPEN).unwrap_or(name);
        path.is_file() && (FILES.contains(&name) || parts::is_file_name(name))
    };
    match is_level(path) {
        true => entries(path).is_ok_and(|mut files| files.all(is_of_level)),
        false => is_ours(path) && path.is_file(),
    }
}

/// Removes folders of levels.
fn remove_levels(folder: &Path, unwanted: impl Fn(&PathBuf) -> bool) -> Result<(), FolderError> {
    for level in entries(folder)?.filter(|path| is_level(path)).filter(unwanted) {
        fs::remove_dir_all(&level).map_err(|source| FolderError::file(&level, source))?;
    }
    Ok(())
}
