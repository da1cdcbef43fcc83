//! The file that one job leaves for the next: a line that identifies it, followed by the compressed data with a checksum.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use plimsoll_observe::capture::{CaptureAnomalies, Carried};
use plimsoll_observe::filter::FilterState;
use plimsoll_results::record::Link;
use plimsoll_stats::Statistics;
use serde::{Deserialize, Serialize};

const ZSTD_LEVEL: i32 = 3;
/// Most bytes, unpacked: more than all bounds of the observer together allow.
const MOST_BYTES: u64 = 8 << 30;

/// Its first line. The layout is that of this build's types.
fn head(build: &str) -> String {
    format!("plimsoll hand-over {} {build}\n", env!("CARGO_PKG_VERSION"))
}

/// The data for the next job.
#[derive(Serialize, Deserialize)]
pub(crate) struct HandOver {
    /// Flags that determine which transactions count.
    pub(super) asked: String,
    /// The place of the job that wrote it.
    pub(crate) link: Link,
    /// The files so far.
    pub(crate) inputs: Vec<String>,
    /// Damage in the files.
    pub(super) anomalies: CaptureAnomalies,
    pub(crate) filter: FilterState,
    /// Of all files so far.
    pub(crate) statistics: Statistics,
    /// See `Observer::state`.
    pub(crate) observer: Vec<u8>,
    /// Packets that no job has taken.
    pub(super) carried: Carried,
}

impl HandOver {
    /// Writes it.
    pub(super) fn write(&self, mut out: File, build: &str) -> anyhow::Result<()> {
        out.write_all(head(build).as_bytes())?;
        let mut packer = zstd::Encoder::new(BufWriter::new(out), ZSTD_LEVEL)?;
        packer.include_checksum(true)?;
        packer.write_all(&postcard::to_extend(self, Vec::new())?)?;
        packer.finish()?.flush()?;
        Ok(())
    }

    /// Reads it.
    ///
    /// # Errors
    /// The file is not there, is none or damaged, or another build wrote it.
    pub(super) fn read(path: &Path, build: &str) -> anyhow::Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        let expected = head(build);
        let mut head = Vec::new();
        // Byte by byte: nothing of what follows is taken.
        for byte in file.by_ref().bytes().take(expected.len().max(200)) {
            head.push(byte?);
            if head.ends_with(b"\n") {
                break;
            }
        }
        anyhow::ensure!(head.starts_with(b"plimsoll hand-over "), "expected a file written by --hand-over-to");
        if head != expected.as_bytes() {
            let other = String::from_utf8_lossy(&head);
            let other = other.trim_end().trim_start_matches("plimsoll hand-over ").to_owned();
            anyhow::bail!(
                "another build of plimsoll wrote this file ({other}); use the same build for all files of the capture"
            );
        }
        let mut bytes = Vec::new();
        let unpacked = zstd::Decoder::with_buffer(file).map_err(damaged)?;
        unpacked.take(MOST_BYTES).read_to_end(&mut bytes).map_err(damaged)?;
        postcard::from_bytes(&bytes).map_err(damaged)
    }
}

fn damaged(why: impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("the file is damaged: {why}")
}
