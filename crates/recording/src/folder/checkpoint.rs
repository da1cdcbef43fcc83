//! Checkpoints of a recording whose only level lasts long, such as that of a watch: its results so far, for readers before its end.
//!
//! ```text
//! DIR/so-far-0007/                              statistics.zst, intervals.zst: the level that the manifest names so far
//! DIR/level-0000.partial/intervals.parquet      the tables so far, replaced at each checkpoint
//! DIR/level-0000.partial/histograms.parquet
//! ```
//!
//! Every file is complete when it gets its name. The folder that a manifest names stays until the next checkpoint but one, so a reader
//! finds the files that belong together.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_stats::Intervals;

use super::intervals::IntervalsFile;
use super::manifest::SO_FAR;
use super::names::partial_name;
use super::tables::{self, Tables};
use super::{Finished, FolderError, Manifest, RecordedLevel, packed, replaced};
use crate::error::Cause;

/// Writes the checkpoints of a recording.
pub struct CheckpointWriter {
    folder: PathBuf,
    manifest: Manifest,
    written: u32,
}

impl CheckpointWriter {
    pub(super) fn new(folder: &Path, manifest: &Manifest) -> Self {
        Self { folder: folder.to_owned(), manifest: manifest.clone(), written: 0 }
    }

    /// Puts the results so far of level 0 in the place of the previous ones. They have no rows of transactions.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&mut self, so_far: Finished, intervals: &Intervals) -> Result<(), FolderError> {
        self.written += 1;
        let (number, name) = (0, format!("{SO_FAR}{:04}", self.written));
        let folder = self.folder.join(&name);
        fs::create_dir(&folder).map_err(|source| FolderError::file(&folder, source))?;
        packed::write_statistics(&folder.join(packed::STATISTICS), &so_far.state)?;
        write_intervals(&folder, number, intervals).map_err(|cause| FolderError::file(&folder, cause))?;
        for table in [tables::INTERVALS, tables::HISTOGRAMS] {
            let to = self.folder.join(partial_name(number)).join(table);
            fs::rename(folder.join(table), &to).map_err(|source| FolderError::file(&to, source))?;
        }
        self.manifest.levels = vec![RecordedLevel {
            number,
            folder: name,
            load_name: so_far.load_name,
            first_ns: so_far.span_ns.0,
            last_ns: so_far.span_ns.1,
            interval_ns: intervals.width().ns(),
            unplaced: intervals.unplaced(),
            transactions: 0,
            parts: 0,
            about: so_far.about,
            about_apart: false,
        }];
        self.manifest.write(&self.folder)?;
        replaced::remove(&self.folder)?;
        let old = self.folder.join(format!("{SO_FAR}{:04}", self.written.saturating_sub(2)));
        if old.exists() {
            fs::remove_dir_all(&old).map_err(|source| FolderError::file(&old, source))?;
        }
        Ok(())
    }
}

fn write_intervals(folder: &Path, level: u32, intervals: &Intervals) -> Result<(), Cause> {
    let (mut exact, mut tables) = (IntervalsFile::create(folder)?, Tables::create(folder, level, "")?);
    for interval in intervals.iter() {
        tables.put(interval)?;
        exact.put(interval)?;
    }
    tables.finish()?;
    exact.finish(intervals)
}
