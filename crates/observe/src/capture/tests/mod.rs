//! Why to believe the capture reader: every format built by hand and read back, every way to cut or spoil one, and
//! tshark as the second opinion on real captures.

mod builders;
mod damage;
mod drops;
mod formats;
#[cfg(target_os = "linux")]
mod maps;
mod order;
mod samples;

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Batch, CaptureAnomalies, CaptureError, Captures, Frame, Input, LinkType};

/// An owned frame, so that tests can compare lists of frames.
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

impl From<Frame<'_>> for Owned {
    fn from(frame: Frame<'_>) -> Self {
        let Frame { number, time_ns, link, captured, original_len } = frame;
        Self { number, time_ns, link, captured: captured.to_vec(), original_len }
    }
}

/// All frames of some inputs, and the anomalies. Read in batches, files give the same.
fn read(inputs: Vec<Input>) -> Result<(Vec<Owned>, CaptureAnomalies), CaptureError> {
    // A pipe is read but once.
    if !inputs.iter().all(|input| matches!(input, Input::File(path) if path.is_file())) {
        return read_one_by_one(inputs);
    }
    let in_batches = read_in_batches(inputs.clone());
    let one_by_one = read_one_by_one(inputs);
    match (&one_by_one, in_batches) {
        (Ok(one_by_one), Ok(in_batches)) => assert!(*one_by_one == in_batches, "batches differ"),
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
        (one, other) => panic!("{:?} one by one, {:?} in batches", one.as_ref().err(), other.err()),
    }
    one_by_one
}

fn read_one_by_one(inputs: Vec<Input>) -> Result<(Vec<Owned>, CaptureAnomalies), CaptureError> {
    let mut captures = Captures::open(inputs)?;
    let mut frames = Vec::new();
    while let Some(frame) = captures.next()? {
        frames.push(Owned::from(frame));
    }
    assert!(captures.next()?.is_none(), "the end stays the end");
    Ok((frames, captures.anomalies()))
}

/// The same from batches that are looked at when all has been read, as a slow thread may do.
fn read_in_batches(inputs: Vec<Input>) -> Result<(Vec<Owned>, CaptureAnomalies), CaptureError> {
    let mut captures = Captures::open(inputs)?;
    let (mut batches, mut batch) = (Vec::new(), Batch::default());
    while captures.next_batch(&mut batch)? {
        assert!(batch.packets() > 0);
        batches.push(std::mem::take(&mut batch));
    }
    assert!(!captures.next_batch(&mut batch)?, "the end stays the end");
    let anomalies = captures.anomalies();
    drop(captures);
    Ok((batches.iter().flat_map(Batch::frames).map(Owned::from).collect(), anomalies))
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
