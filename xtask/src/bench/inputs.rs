//! The big captures in target/bench: copies of small ones with other ports.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::record::replicate;
use crate::{process, workspace};

/// Bytes that a capture of each kind has at least when it is made of one that the project ships.
const OP_DENSE_BYTES: u64 = 400_000_000;
const BULK_BYTES: u64 = 900_000_000;

/// A kind of traffic and its source.
pub(crate) struct Traffic {
    pub(crate) name: &'static str,
    source: PathBuf,
    copies: u64,
}

/// The captures of one kind: one, and one ten times as long.
pub(crate) struct Captures {
    pub(crate) short: PathBuf,
    pub(crate) long: PathBuf,
}

/// Small packets, very many operations; none where there is nothing to make it of.
pub(crate) fn op_dense() -> Result<Option<Traffic>, String> {
    shared("op-dense", "nfs3-ipv6-op-dense.pcap", 60).map_or_else(|| own("op-dense", OP_DENSE_BYTES), |it| Ok(Some(it)))
}

/// Large reads and writes; none where there is nothing to make it of.
pub(crate) fn bulk() -> Result<Option<Traffic>, String> {
    shared("bulk", "nfs3-two-sessions.pcap", 40).map_or_else(|| own("bulk", BULK_BYTES), |it| Ok(Some(it)))
}

impl Traffic {
    /// Makes the captures, where they are not there from the last time.
    pub(crate) fn captures(&self) -> Result<Captures, String> {
        Ok(Captures { short: self.capture(self.copies / 10)?, long: self.capture(self.copies)? })
    }

    fn capture(&self, copies: u64) -> Result<PathBuf, String> {
        let copies = copies.max(1);
        let path = folder()?.join(format!("{}-{}-x{copies}.pcap", self.name, stem(&self.source)));
        if path.is_file() {
            return Ok(path);
        }
        // Renamed when it is whole: half a capture is never taken for one.
        let partial = path.with_extension("partial");
        replicate::write(&self.source, &partial, copies, false)?;
        fs::rename(&partial, &path).map_err(failed)?;
        Ok(path)
    }
}

fn folder() -> Result<PathBuf, String> {
    let folder = workspace::root().join("target/bench");
    fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder)
}

fn failed(error: std::io::Error) -> String {
    format!("target/bench: {error}")
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn shared(name: &'static str, file: &str, copies: u64) -> Option<Traffic> {
    let source = workspace::root().join("../shared/captures").join(file);
    source.is_file().then_some(Traffic { name, source, copies })
}

/// The largest capture that the project ships, unpacked.
fn own(name: &'static str, bytes: u64) -> Result<Option<Traffic>, String> {
    let captures = workspace::root().join("captures");
    let folders = fs::read_dir(&captures).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let packed = folders.map(|folder| folder.join("capture.pcap.zst"));
    let sized = packed.filter_map(|path| Some((path.metadata().ok()?.len(), path)));
    let Some((_, packed)) = sized.max() else { return Ok(None) };
    let source =
        folder()?.join(packed.parent().unwrap_or(&packed).file_name().unwrap_or_default()).with_extension("pcap");
    process::output(Command::new("zstd").args(["-d", "-q", "-f", "-o"]).args([&source, &packed]))?;
    let size = source.metadata().map_err(failed)?.len();
    // A multiple of ten, so that a tenth of the copies is an integer.
    let copies = bytes.div_ceil(size.max(1)).next_multiple_of(10);
    Ok(Some(Traffic { name, source, copies }))
}
