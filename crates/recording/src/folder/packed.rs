//! Private files: a line that identifies the content, followed by the compressed content with a checksum.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use plimsoll_stats::state::STATE_VERSION;

use super::FolderError;

/// The state of a level's statistics.
pub(super) const STATISTICS: &str = "statistics.zst";
/// The data for merging with the other parts of a run.
pub(super) const PART: &str = "part.zst";
/// From when to when the requests of a part of a run were outstanding.
pub(super) const SPANS: &str = "spans.zst";
pub(super) const SPANS_HEAD: &str = "spans";
/// Most bytes of a state, unpacked: ten thousand keys of a breakdown are some 40 MiB.
const MOST_BYTES: u64 = 512 << 20;
const ZSTD_LEVEL: i32 = 3;

/// The first line of a private file.
fn head(what: &str) -> Vec<u8> {
    format!("plimsoll {what} {STATE_VERSION}\n").into_bytes()
}

/// A file being written.
pub(super) struct Packer(zstd::Encoder<'static, File>);

impl Packer {
    pub(super) fn create(path: &Path, what: &str) -> std::io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(&head(what))?;
        let mut packer = zstd::Encoder::new(file, ZSTD_LEVEL)?;
        packer.include_checksum(true)?;
        Ok(Self(packer))
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Everything is written. A crash of the machine may lose it, the end of this program does not.
    pub(super) fn finish_unsynced(self) -> std::io::Result<()> {
        self.0.finish().map(drop)
    }

    /// All is on the disk.
    pub(super) fn finish(self) -> std::io::Result<()> {
        self.0.finish()?.sync_all()
    }
}

/// Opens a file to read its content.
pub(super) fn open(path: &Path, what: &str) -> Result<impl Read + use<>, FolderError> {
    let mut file = File::open(path).map_err(|source| FolderError::file(path, source))?;
    let expected = head(what);
    let mut found = vec![0; expected.len()];
    file.read_exact(&mut found).map_err(|source| FolderError::damaged(path, source))?;
    if found != expected {
        return Err(FolderError::damaged(path, "unknown header for this version"));
    }
    let unpacked = zstd::Decoder::new(file).map_err(|source| FolderError::damaged(path, source))?;
    Ok(BufReader::new(unpacked))
}

/// Reads a whole file, up to the maximum size of statistics.
pub(super) fn read_whole(path: &Path, what: &str) -> Result<Vec<u8>, FolderError> {
    let (mut bytes, packed) = (Vec::new(), open(path, what)?);
    packed.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|source| FolderError::damaged(path, source))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(FolderError::damaged(path, "too large after decompression"));
    }
    Ok(bytes)
}

/// Writes the state of statistics; it is on the disk afterwards.
pub(super) fn write_statistics(path: &Path, state: &[u8]) -> Result<(), FolderError> {
    write_whole(path, "statistics", state)
}

/// Reads it.
pub(super) fn read_statistics(path: &Path) -> Result<Vec<u8>, FolderError> {
    read_whole(path, "statistics")
}

/// Writes the data for merging with the other parts of a run; it is on disk afterwards.
pub(super) fn write_part(path: &Path, part: &[u8]) -> Result<(), FolderError> {
    write_whole(path, "part", part)
}

/// Reads it.
pub(super) fn read_part(path: &Path) -> Result<Vec<u8>, FolderError> {
    read_whole(path, "part")
}

fn write_whole(path: &Path, what: &str, bytes: &[u8]) -> Result<(), FolderError> {
    let write = || {
        let mut packer = Packer::create(path, what)?;
        packer.put(bytes)?;
        packer.finish()
    };
    write().map_err(|source: std::io::Error| FolderError::file(path, source))
}
