//! `intervals.zst`: the intervals of a level, exact, for comparisons.
//!
//! Each interval, or part of one (`stats::intervals`), follows its length in four little-endian bytes. The length 0 precedes the last
//! entry, which contains the other data of the intervals.

use std::io::Read;
use std::path::Path;

use plimsoll_stats::intervals::IntervalsReader;
use plimsoll_stats::{Interval, Intervals};

use super::FolderError;
use super::packed::{self, Packer};
use crate::error::Cause;

pub(super) const NAME: &str = "intervals.zst";
const WHAT: &str = "intervals";
/// Most bytes of one interval: as many cells as all intervals together can have that are held at once take 48 MiB.
const MOST_BYTES: u64 = 64 << 20;

/// The file being written.
pub(super) struct IntervalsFile(Packer);

impl IntervalsFile {
    pub(super) fn create(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join(NAME);
        Packer::create(&path, WHAT).map(Self).map_err(|source| FolderError::file(&path, source))
    }

    pub(super) fn put(&mut self, interval: &Interval) -> Result<(), Cause> {
        let bytes = interval.to_bytes();
        self.0.put(&u32::try_from(bytes.len())?.to_le_bytes())?;
        Ok(self.0.put(&bytes)?)
    }

    /// Completes the file on disk. `all` are the complete intervals, of which this file has the rest.
    pub(super) fn finish(mut self, all: &Intervals) -> Result<(), Cause> {
        let end = all.end_to_bytes();
        self.0.put(&0u32.to_le_bytes())?;
        self.0.put(&u32::try_from(end.len())?.to_le_bytes())?;
        self.0.put(&end)?;
        Ok(self.0.finish()?)
    }
}

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<Intervals, FolderError> {
    let unpacked = packed::open(path, WHAT)?;
    intervals(unpacked).map_err(|source| FolderError::damaged(path, source))
}

fn intervals(mut from: impl Read) -> Result<Intervals, Cause> {
    let (mut reader, mut piece) = (IntervalsReader::default(), Vec::new());
    while next(&mut from, &mut piece)? {
        reader.interval(&piece)?;
    }
    next(&mut from, &mut piece)?;
    let intervals = reader.end(&piece)?;
    // The end of the compressed data must be read to verify its checksum.
    if from.read(&mut [0])? == 0 { Ok(intervals) } else { Err("more data than expected".into()) }
}

/// Reads one thing; `false` where its length is 0.
fn next(from: &mut impl Read, piece: &mut Vec<u8>) -> Result<bool, Cause> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > MOST_BYTES {
        return Err(format!("the record of an interval has {length} bytes; the limit is {MOST_BYTES} bytes").into());
    }
    piece.clear();
    let found = from.take(length).read_to_end(piece)? as u64;
    if found == length {
        Ok(length > 0)
    } else {
        Err(format!("the file ends within the record of an interval, after {found} of its {length} bytes").into())
    }
}
