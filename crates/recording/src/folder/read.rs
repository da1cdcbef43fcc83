//! A recording being read.

use std::io::Read;
use std::path::{Path, PathBuf};

use plimsoll_model::{Coverage, Names};
use plimsoll_stats::{Intervals, SpansReader, Statistics};

use super::names::{self, PARTIAL, entries};
use super::{FolderError, Manifest, RecordedLevel, intervals, manifest, packed, parts, progress};

/// An existing recording. Its finished levels are complete, however the writing program ended.
pub struct Recording {
    folder: PathBuf,
    /// Its subject.
    pub manifest: Manifest,
    /// Folders of levels that were begun and not finished.
    pub partial: Vec<PathBuf>,
}

impl Recording {
    /// Whether there is one in the folder, whole or not.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(manifest::NAME).exists()
    }

    /// Opens a recording.
    ///
    /// # Errors
    /// When the folder holds none, or its manifest is damaged or of another version.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        let manifest = Manifest::read(folder)?;
        let unfinished = |path: &PathBuf| path.to_string_lossy().ends_with(PARTIAL);
        let mut partial: Vec<PathBuf> = entries(folder)?.filter(unfinished).collect();
        partial.sort();
        Ok(Self { folder: folder.to_owned(), manifest, partial })
    }

    /// The old recording that this one is to replace as soon as it has results; `None` without one.
    pub fn replaced(&self) -> Option<PathBuf> {
        names::replaced(&self.folder).filter(|_| self.manifest.levels.is_empty())
    }

    /// The statistics and coverage of a level, exact; adds names to `names`.
    ///
    /// # Errors
    /// If the level's file is missing, damaged or of another version.
    pub fn statistics(&self, level: &RecordedLevel, names: &mut Names) -> Result<(Statistics, Coverage), FolderError> {
        let path = self.file(level, packed::STATISTICS)?;
        let bytes = packed::read_statistics(&path)?;
        Statistics::from_bytes(&bytes, names).map_err(|error| FolderError::damaged(&path, error))
    }

    /// The data for merging with the other parts of a run, as it was written; `None` if the level is not a part.
    ///
    /// # Errors
    /// If the level's file is damaged or of another version.
    pub fn part(&self, level: &RecordedLevel) -> Result<Option<Vec<u8>>, FolderError> {
        let path = self.file(level, packed::PART)?;
        path.exists().then(|| packed::read_part(&path)).transpose()
    }

    /// Start and end of the requests of a part of a run, ns, roughly in the order of their ends.
    ///
    /// # Errors
    /// If the level's file is missing or of another version; damage is reported during reading.
    pub fn spans(&self, level: &RecordedLevel) -> Result<SpansReader<impl Read + use<>>, FolderError> {
        Ok(SpansReader::new(packed::open(&self.file(level, packed::SPANS)?, packed::SPANS_HEAD)?))
    }

    /// What there is of a level that was not finished, by its folder in [`Recording::partial`]: `None` where it had hardly begun.
    /// It has no intervals, and no rows that can be read.
    ///
    /// # Errors
    /// When its file is damaged or of another version.
    pub fn progress(
        &self,
        partial: &Path,
        names: &mut Names,
    ) -> Result<Option<(RecordedLevel, Statistics, Coverage)>, FolderError> {
        let Some((level, state)) = progress::read(partial)? else { return Ok(None) };
        let read = Statistics::from_bytes(&state, names).map_err(|error| FolderError::damaged(partial, error));
        read.map(|(statistics, coverage)| Some((level, statistics, coverage)))
    }

    /// The intervals of a level, as they were recorded: a later comparison equals an immediate one.
    ///
    /// # Errors
    /// If the level's file is missing, damaged or of another version.
    pub fn intervals(&self, level: &RecordedLevel) -> Result<Intervals, FolderError> {
        intervals::read(&self.file(level, intervals::NAME)?)
    }

    /// The files of a level's transactions table, in order; which transactions have a row stands in the manifest.
    ///
    /// # Errors
    /// If a file is missing, or the manifest names a folder that is not the recording's own.
    pub fn transactions(&self, level: &RecordedLevel) -> Result<Vec<PathBuf>, FolderError> {
        let files = self.transactions_present(level)?;
        if files.len() as u64 == u64::from(level.parts) {
            return Ok(files);
        }
        let why = format!("expected {} files transactions-NNNN.parquet, found {}", level.parts, files.len());
        Err(FolderError::damaged(&self.level_folder(level)?, why))
    }

    /// Those of its files that the folder has: a manifest may state any number.
    ///
    /// # Errors
    /// If the folder is unreadable, or not the recording's own.
    pub fn transactions_present(&self, level: &RecordedLevel) -> Result<Vec<PathBuf>, FolderError> {
        let folder = self.level_folder(level)?;
        if level.parts == 0 {
            return Ok(Vec::new());
        }
        let numbered = |path: PathBuf| {
            let number = parts::number(path.file_name()?.to_str()?)?;
            (number < level.parts).then_some((number, path))
        };
        let mut files: Vec<(u32, PathBuf)> = entries(&folder)?.filter_map(numbered).collect();
        files.sort_unstable();
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }

    fn file(&self, level: &RecordedLevel, name: &str) -> Result<PathBuf, FolderError> {
        Ok(self.level_folder(level)?.join(name))
    }

    fn level_folder(&self, level: &RecordedLevel) -> Result<PathBuf, FolderError> {
        names::level_folder(&self.folder, &level.folder)
    }
}
