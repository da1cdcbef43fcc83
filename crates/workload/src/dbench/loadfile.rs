//! Reads a load file: plain or compressed text.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// The largest load file, bytes of text: ten times NetBench's.
const LARGEST: u64 = 256 << 20;
/// What compressed files begin with (RFC 1952 2.3.1).
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// A load file's text.
#[derive(Debug)]
pub(crate) struct LoadFile {
    pub(crate) text: String,
}

/// Why a load file is of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadFileError {
    /// The line, from 1; 0 for the file as a whole.
    pub(crate) line: usize,
    pub(crate) problem: String,
}

impl LoadFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It is not there, too large, or no text.
    pub(crate) fn read(path: &Path) -> Result<Self, LoadFileError> {
        let whole = |problem: String| LoadFileError { line: 0, problem };
        let file = open(path).map_err(|error| whole(missing(&error)))?;
        let mut bytes = Vec::new();
        take(file, &mut bytes).map_err(|error| whole(error.to_string()))?;
        if bytes.starts_with(&GZIP) {
            let compressed = std::mem::take(&mut bytes);
            take(MultiGzDecoder::new(compressed.as_slice()), &mut bytes).map_err(|error| whole(error.to_string()))?;
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let sound = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..sound).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            LoadFileError { line, problem: "not valid UTF-8".to_owned() }
        })?;
        Ok(Self { text })
    }
}

/// Other kinds of files may be endless, or block.
fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the load file is not a regular file"));
    }
    File::open(path)
}

fn take(from: impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    from.take(LARGEST + 1).read_to_end(bytes)?;
    let fits = bytes.len() as u64 <= LARGEST;
    if fits {
        Ok(())
    } else {
        Err(io::Error::other(format!("the load file is too large: the limit is {LARGEST} bytes")))
    }
}

fn missing(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "load file not found; the Debian package dbench contains client.txt, the load file of NetBench".to_owned()
        }
        _ => error.to_string(),
    }
}

impl fmt::Display for LoadFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}
