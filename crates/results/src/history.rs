//! Recordings of a history.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use plimsoll_recording::folder::{FolderError, Recording};
use plimsoll_report::collect::StatusName;
use plimsoll_report::collect::history::RecordedRun;
use plimsoll_report::findings::history::RunFact;

use crate::comparison::read_recording;

/// Folders of the recordings that `paths` name: each path is a recording, or a folder of recordings. Without duplicates.
///
/// # Errors
/// One of them is neither.
pub fn recordings(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = Vec::new();
    let mut known: Vec<PathBuf> = Vec::new();
    for path in paths {
        for folder in inside(path)? {
            let real = fs::canonicalize(&folder).with_context(|| folder.display().to_string())?;
            if !known.contains(&real) {
                known.push(real);
                all.push(folder);
            }
        }
    }
    Ok(all)
}

fn inside(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    match Recording::open(path) {
        Err(FolderError::NoRecording { inside, .. }) if !inside.is_empty() => Ok(inside),
        Err(error @ FolderError::NoRecording { .. }) if !path.is_dir() => Err(error.into()),
        Err(FolderError::NoRecording { .. }) => {
            let name = path.display();
            bail!(
                "{name}: no recording in this folder; name a folder written with --record, or a folder that contains such folders"
            )
        }
        // Its reader reports the error.
        _ => Ok(vec![path.to_owned()]),
    }
}

/// Reads a recording, for [`plimsoll_report::collect::history::HistoryCollector`].
///
/// # Errors
/// It is damaged, of another version, or holds no finished level.
pub fn read(folder: &Path, status_name: StatusName) -> anyhow::Result<RecordedRun> {
    let manifest = Recording::open(folder)?.manifest;
    let side = read_recording(folder, status_name)?;
    let kernel = manifest.machine.kernel.map(|value| ("Client kernel", value));
    let processor = manifest.machine.processor.map(|value| ("Client processor", value));
    let facts = kernel.into_iter().chain(processor).map(|(name, value)| RunFact { name: name.to_owned(), value });
    Ok(RecordedRun {
        recording: folder.display().to_string(),
        started_ns: manifest.started_ns,
        facts: facts.collect(),
        contestant: side.contestant,
        unfinished: side.unfinished,
    })
}
