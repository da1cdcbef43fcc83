//! A recording being written.

use plimsoll_model::Validity;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_model::Names;
use plimsoll_stats::IntervalWidth;
use serde_json::Value;

use super::manifest::{self, sync_folder};
use super::{FolderError, Manifest, Progress, Stage, StageWriter};

/// A recording being written: stages one after the other.
pub struct RecordingWriter {
    folder: PathBuf,
    manifest: Manifest,
    /// Held while it is written.
    _lock: fs::File,
}

/// What is known of a stage when it is finished.
pub struct Finished {
    /// The load in words.
    pub level: Option<String>,
    /// Begin and end, ns since the Unix epoch.
    pub span_ns: (Option<i64>, Option<i64>),
    /// The state of its statistics (`plimsoll_stats::Statistics::to_bytes`).
    pub state: Vec<u8>,
    /// What the command wants to know again.
    pub about: Value,
    /// What the other parts of a run are merged with, where it is a part.
    pub part: Option<Vec<u8>>,
}

/// Nobody else writes to it meanwhile. The lock goes with this process, however that ends; some network file systems lock no
/// folders, and a recording there goes without.
fn lock(folder: &Path) -> Result<fs::File, FolderError> {
    let held = fs::File::open(folder).map_err(|source| FolderError::file(folder, source))?;
    match held.try_lock() {
        Err(fs::TryLockError::WouldBlock) => {
            Err(FolderError::file(folder, "another plimsoll process is writing to it"))
        }
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(held),
    }
}

impl RecordingWriter {
    /// Begins a recording in a folder, which is made where there is none. `overwrite` removes a recording that is there.
    ///
    /// # Errors
    /// When the folder holds a recording already, or other files, or cannot be written.
    pub fn create(folder: &Path, manifest: Manifest, overwrite: bool) -> Result<Self, FolderError> {
        fs::create_dir_all(folder).map_err(|source| FolderError::file(folder, source))?;
        let lock = lock(folder)?;
        if folder.join(manifest::NAME).exists() {
            if !overwrite {
                return Err(FolderError::Taken { folder: folder.to_owned() });
            }
            // Nothing is removed where something else would have to stay.
            if !manifest::is_a_recordings(folder) || entries(folder)?.any(|path| !is_ours(&path)) {
                return Err(FolderError::NotEmpty { folder: folder.to_owned() });
            }
            clear(folder)?;
        } else if entries(folder)?.next().is_some() {
            return Err(FolderError::NotEmpty { folder: folder.to_owned() });
        }
        manifest.write(folder)?;
        Ok(Self { folder: folder.to_owned(), manifest, _lock: lock })
    }

    /// Goes on with a recording: the finished stages that `keeps` keeps stay, all else that was begun goes.
    ///
    /// # Errors
    /// When the folder holds no recording, or it is damaged, of another version, or cannot be written.
    pub fn resume(folder: &Path, keeps: impl Fn(&Stage) -> bool) -> Result<Self, FolderError> {
        let mut manifest = Manifest::read(folder)?;
        let lock = lock(folder)?;
        manifest.stages.retain(keeps);
        (manifest.state, manifest.ended_ns, manifest.validity) = (Progress::Running, None, None);
        // The manifest first: what it does not name is no part of the recording, should this be killed, too.
        manifest.write(folder)?;
        let kept: Vec<PathBuf> = manifest.stages.iter().map(|stage| folder.join(&stage.folder)).collect();
        remove_stages(folder, |path| !kept.contains(path))?;
        Ok(Self { folder: folder.to_owned(), manifest, _lock: lock })
    }

    /// What was measured becomes known as it goes on; it is written with the next stage.
    pub fn describe(&mut self, measured: Value) {
        self.manifest.measured = measured;
    }

    /// Begins a stage. `width` is that of the intervals it will get; `None` where these are [`Intervals::growing`].
    ///
    /// [`Intervals::growing`]: plimsoll_stats::Intervals::growing
    ///
    /// # Errors
    /// When its files cannot be made.
    pub fn begin(&self, number: u32, width: Option<IntervalWidth>) -> Result<StageWriter, FolderError> {
        let folder = self.folder.join(format!("{}{PARTIAL}", name(number)));
        fs::create_dir(&folder).map_err(|source| FolderError::file(&folder, source))?;
        StageWriter::new(&folder, number, width, self.manifest.transactions.one_in > 0)
    }

    /// A stage is over: from now on it belongs to the recording, whatever happens.
    ///
    /// # Errors
    /// The first error met since it began.
    pub fn end(&mut self, stage: StageWriter, finished: Finished, names: &Names) -> Result<(), FolderError> {
        let (number, partial) = (stage.number, stage.folder.clone());
        let held = stage.finish((&finished.state, finished.part.as_deref()), names)?;
        sync_folder(&partial)?;
        let whole = self.folder.join(name(number));
        fs::rename(&partial, &whole).map_err(|source| FolderError::file(&whole, source))?;
        self.manifest.stages.push(Stage {
            number,
            folder: name(number),
            level: finished.level,
            first_ns: finished.span_ns.0,
            last_ns: finished.span_ns.1,
            interval_ns: held.interval_ns,
            unplaced: held.unplaced,
            transactions: held.transactions,
            parts: held.parts,
            about: finished.about,
        });
        // One that was made again comes after those that were there.
        self.manifest.stages.sort_by_key(|stage| stage.number);
        self.manifest.write(&self.folder)
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

/// What a stage's folder is called until it is whole.
pub(super) const PARTIAL: &str = ".partial";

fn name(number: u32) -> String {
    format!("stage-{number:04}")
}

pub(super) fn entries(folder: &Path) -> Result<impl Iterator<Item = PathBuf>, FolderError> {
    let entries = fs::read_dir(folder).map_err(|source| FolderError::file(folder, source))?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    paths.map(Vec::into_iter).map_err(|source| FolderError::file(folder, source))
}

/// Removes what a recording consists of, and nothing else; the manifest first, so that half of it is no recording.
fn clear(folder: &Path) -> Result<(), FolderError> {
    for file in MANIFESTS.map(|name| folder.join(name)) {
        if file.exists() {
            fs::remove_file(&file).map_err(|source| FolderError::file(&file, source))?;
        }
    }
    remove_stages(folder, |_| true)
}

/// The manifest, and what it was being written to when a program was killed.
const MANIFESTS: [&str; 2] = [manifest::NAME, "manifest.json.new"];

fn is_stage(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let digits = name.strip_suffix(PARTIAL).unwrap_or(name).strip_prefix("stage-");
    digits.is_some_and(|digits| digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether an entry of a recording's folder is the recording's.
fn is_ours(path: &Path) -> bool {
    is_stage(path) || MANIFESTS.iter().any(|name| path.ends_with(name))
}

/// Removes folders of stages.
fn remove_stages(folder: &Path, unwanted: impl Fn(&PathBuf) -> bool) -> Result<(), FolderError> {
    for stage in entries(folder)?.filter(|path| is_stage(path)).filter(unwanted) {
        fs::remove_dir_all(&stage).map_err(|source| FolderError::file(&stage, source))?;
    }
    Ok(())
}
