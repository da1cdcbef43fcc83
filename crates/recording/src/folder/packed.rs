//! `statistics.zst`: the state of a stage's statistics, packed, with a checksum.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use plimsoll_stats::state::STATE_VERSION;

use super::FolderError;

pub(super) const NAME: &str = "statistics.zst";
/// Before the packed bytes, with the version after it.
const MAGIC: &[u8] = b"plimsoll statistics ";
/// Most bytes of a state, unpacked: ten thousand keys of a breakdown are some 40 MiB.
const MOST_BYTES: u64 = 512 << 20;
const ZSTD_LEVEL: i32 = 3;

fn head() -> Vec<u8> {
    [MAGIC, STATE_VERSION.to_string().as_bytes(), b"\n"].concat()
}

/// Writes a state; it is on the disk afterwards.
pub(super) fn write(path: &Path, state: &[u8]) -> Result<(), FolderError> {
    let write = || -> std::io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(&head())?;
        let mut packer = zstd::Encoder::new(file, ZSTD_LEVEL)?;
        packer.include_checksum(true)?;
        packer.write_all(state)?;
        packer.finish()?.sync_all()
    };
    write().map_err(|source| FolderError::file(path, source))
}

/// Reads a state.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, FolderError> {
    let mut file = File::open(path).map_err(|source| FolderError::file(path, source))?;
    let expected = head();
    let mut found = vec![0; expected.len()];
    file.read_exact(&mut found).map_err(|source| FolderError::damaged(path, source))?;
    if found != expected {
        return Err(FolderError::damaged(path, "it does not begin as such a file of this version does"));
    }
    unpack(file).map_err(|source| FolderError::damaged(path, source))
}

fn unpack(packed: impl Read) -> std::io::Result<Vec<u8>> {
    let mut state = Vec::new();
    zstd::Decoder::new(packed)?.take(MOST_BYTES + 1).read_to_end(&mut state)?;
    if state.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::other("it unpacks to more than statistics can be"));
    }
    Ok(state)
}
