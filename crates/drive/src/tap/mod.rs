//! Writes what went over the sockets as a capture file, with the client's times.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;

/// A capture file that a run's connections write to.
pub struct Tap {
    file: Mutex<BufWriter<File>>,
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tap").finish_non_exhaustive()
    }
}

impl Tap {
    /// Makes (or empties) the file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: Mutex::new(BufWriter::with_capacity(1 << 20, File::create(path)?)) })
    }

    /// Writes out what is still held back, and tells of the first error that there was.
    ///
    /// # Errors
    /// Something could not be written: the file is cut.
    pub fn finish(&self) -> io::Result<()> {
        self.file.lock().map_err(|_| io::Error::other("a worker panicked while it wrote"))?.flush()
    }
}
