//! `about.json`: the recording command's data of a level, if the manifest has no room for it. A level may have rows of a thousand clients,
//! and a manifest is written and read as a whole.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use serde_json::Value;

use super::FolderError;

pub(super) const NAME: &str = "about.json";
/// Most bytes of this data in a manifest. Line breaks make it several times as long there.
const MOST_IN_MANIFEST: u64 = 4 << 20;
/// Most bytes of the files of a recording: some 1,200 levels of 1,024 clients each. As values, they take several times as much memory.
const MOST_BYTES: u64 = 256 << 20;

/// Sizes of this data of all levels so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AboutSizes {
    in_manifest: u64,
    apart: u64,
}

impl AboutSizes {
    /// Counts the data of a level that is already in its place.
    pub(super) fn count(&mut self, about: &Value, apart: bool) {
        let place = if apart { &mut self.apart } else { &mut self.in_manifest };
        *place += serde_json::to_vec(about).map_or(0, |text| text.len() as u64);
    }

    /// Puts the data of a level in its place. Returns what the manifest has of it, and whether it is in the level's folder.
    pub(super) fn place(&mut self, folder: &Path, about: Value) -> Result<(Value, bool), FolderError> {
        let path = folder.join(NAME);
        let text = serde_json::to_vec(&about).map_err(|error| FolderError::file(&path, error))?;
        let length = text.len() as u64;
        if self.in_manifest + length <= MOST_IN_MANIFEST {
            self.in_manifest += length;
            return Ok((about, false));
        }
        // Plimsoll could not read longer files.
        if self.apart + length > MOST_BYTES {
            let why = format!("the files about.json would exceed {MOST_BYTES} bytes; use fewer load levels or clients");
            return Err(FolderError::file(&path, why));
        }
        self.apart += length;
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        });
        written.map_err(|source| FolderError::file(&path, source))?;
        Ok((Value::Null, true))
    }
}

/// Reads the files of a recording.
pub(super) struct AboutReader {
    left: u64,
}

impl AboutReader {
    pub(super) fn new() -> Self {
        Self { left: MOST_BYTES }
    }

    /// The data in the folder of a level.
    pub(super) fn read(&mut self, folder: &Path) -> Result<Value, FolderError> {
        let path = folder.join(NAME);
        let file = File::open(&path).map_err(|source| FolderError::file(&path, source))?;
        let mut text = Vec::new();
        file.take(self.left + 1).read_to_end(&mut text).map_err(|source| FolderError::file(&path, source))?;
        self.left = self.left.checked_sub(text.len() as u64).ok_or_else(|| {
            FolderError::damaged(&path, format!("the files about.json exceed the limit of {MOST_BYTES} bytes"))
        })?;
        serde_json::from_slice(&text).map_err(|error| FolderError::damaged(&path, error))
    }
}
