//! Why to believe the capture reader: every format built by hand and read back, every way to cut or spoil one, and
//! tshark as the second opinion on real captures.

mod builders;
mod damage;
mod formats;
#[cfg(target_os = "linux")]
mod maps;
mod order;
mod samples;

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{CaptureAnomalies, CaptureError, Captures, Input, LinkType};

/// A frame that owns its bytes, so that tests can compare lists of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owned {
    number: u64,
    time_ns: Option<i64>,
    link: LinkType,
    captured: Vec<u8>,
    original_len: u32,
}

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("plimsoll-capture-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Input {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        Input::File(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// All frames of some inputs, and the anomalies.
fn read(inputs: Vec<Input>) -> Result<(Vec<Owned>, CaptureAnomalies), CaptureError> {
    let mut captures = Captures::open(inputs)?;
    let mut frames = Vec::new();
    while let Some(frame) = captures.next()? {
        frames.push(Owned {
            number: frame.number,
            time_ns: frame.time_ns,
            link: frame.link,
            captured: frame.captured.to_vec(),
            original_len: frame.original_len,
        });
    }
    assert!(captures.next()?.is_none(), "the end stays the end");
    Ok((frames, captures.anomalies()))
}

/// All frames of one file with these bytes.
fn read_bytes(bytes: &[u8]) -> Result<(Vec<Owned>, CaptureAnomalies), CaptureError> {
    let folder = Folder::new();
    let input = folder.file("capture", bytes);
    read(vec![input])
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 3).unwrap()
}
