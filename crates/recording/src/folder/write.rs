//! A recording being written.

use plimsoll_model::Validity;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_model::Names;
use plimsoll_stats::IntervalWidth;
use serde_json::Value;

use super::about::AboutSizes;
use super::checkpoint::CheckpointWriter;
use super::manifest::{self, sync_folder};
use super::names::{self, entries, name, partial_name};
use super::{FolderError, LevelWriter, Manifest, Progress, RecordedLevel, own_files, replaced};

/// A recording being written, level by level.
pub struct RecordingWriter {
    folder: PathBuf,
    /// Without the data of levels that has other places.
    manifest: Manifest,
    about_sizes: AboutSizes,
    /// Whether this writer created the folder.
    is_own_folder: bool,
    /// Whether this writer began with an old recording aside, which it is to replace.
    replaces: bool,
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
    /// Begins a recording in a folder, which is created if necessary. `overwrite` removes the leftovers of a killed process, and an
    /// existing recording as soon as the new one has results.
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
            if !manifest::is_a_recordings(folder) {
                return Err(FolderError::NotEmpty { folder: folder.to_owned(), file: folder.join(manifest::NAME) });
            }
            // Moves nothing if the folder contains other files.
            own_files::refuse_foreign(folder)?;
            replaced::set_aside(folder).inspect_err(|_| replaced::undo(folder))?;
        } else if entries(folder)?.next().is_some() {
            own_files::refuse_foreign(folder)?;
            if !overwrite {
                return Err(FolderError::Leftovers { folder: folder.to_owned() });
            }
            own_files::clear(folder)?;
        }
        manifest.write(folder).inspect_err(|_| replaced::undo(folder))?;
        let (replaces, about_sizes) = (names::replaced(folder).is_some(), AboutSizes::default());
        Ok(Self { folder: folder.to_owned(), manifest, about_sizes, is_own_folder, replaces, lock })
    }

    /// Whether it has no results so far, and is to replace an old recording: [`RecordingWriter::discard`] restores that.
    pub fn can_restore(&self) -> bool {
        self.replaces && names::replaced(&self.folder).is_some() && !manifest::has_results(&self.folder)
    }

    /// Removes the recording unless it has results, and restores the one that it was to replace. If there was none, also removes the folder
    /// if this writer created it. If another folder has taken its place, removes nothing.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn discard(self) -> Result<(), FolderError> {
        if !leads_to(&self.folder, &self.lock) || manifest::has_results(&self.folder) {
            return Ok(());
        }
        own_files::clear(&self.folder)?;
        if !replaced::restore(&self.folder)? && self.is_own_folder {
            fs::remove_dir(&self.folder).map_err(|source| FolderError::file(&self.folder, source))?;
        }
        Ok(())
    }

    /// Continues a recording: the finished levels that `keeps` selects stay, everything else is removed. `seen` is its manifest as it was
    /// when the caller decided that.
    ///
    /// # Errors
    /// If the folder contains no recording, or it is damaged, of another version, was changed in the meantime, or cannot be written; or if
    /// the folder of a level that does not stay contains other files.
    pub fn resume(folder: &Path, seen: &Manifest, keeps: impl Fn(&RecordedLevel) -> bool) -> Result<Self, FolderError> {
        let lock = lock(folder)?;
        // Only with the lock: another process may have added a level since.
        let mut manifest = Manifest::read(folder)?;
        if manifest.levels != seen.levels {
            let why = "another Plimsoll process has changed this recording in the meantime; repeat the command";
            return Err(FolderError::file(folder, why));
        }
        manifest.levels.retain(keeps);
        replaced::complete(folder)?;
        let kept: Vec<PathBuf> = manifest.levels.iter().map(|level| folder.join(&level.folder)).collect();
        own_files::refuse_foreign_levels(folder, |path| !kept.contains(path))?;
        let mut about_sizes = AboutSizes::default();
        for level in &mut manifest.levels {
            about_sizes.count(&level.about, level.about_apart);
            if level.about_apart {
                level.about = Value::Null;
            }
        }
        (manifest.state, manifest.ended_ns, manifest.validity) = (Progress::Running, None, None);
        // The manifest first: levels that it does not name are not part of the recording, even if this program is killed.
        manifest.write(folder)?;
        own_files::remove_levels(folder, |path| !kept.contains(path))?;
        let (is_own_folder, replaces) = (false, false);
        Ok(Self { folder: folder.to_owned(), manifest, about_sizes, is_own_folder, replaces, lock })
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
        let (about, about_apart) = self.about_sizes.place(&partial, finished.about)?;
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
            about,
            about_apart,
        });
        // One that was made again comes after those that were there.
        self.manifest.levels.sort_by_key(|level| level.number);
        self.manifest.write(&self.folder)?;
        own_files::remove_levels(&self.folder, |path| own_files::is_so_far(path))?;
        replaced::remove(&self.folder)
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
