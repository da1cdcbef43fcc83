//! A ring of capture files in a folder, bounded in size and in time.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// Files that the ring has at most: when it is full, a 16th of it goes at a time.
const FILES: u64 = 16;
/// The smallest file, in bytes: less is not worth a file.
const SMALLEST_FILE: u64 = 64 << 10;

/// How much of an interface's packets to store, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveOptions {
    /// The folder. It must be empty, or is made.
    pub folder: PathBuf,
    /// The most bytes of all files together.
    pub bytes: u64,
    /// How long packets are kept, in nanoseconds of capture time; without it only `bytes` bounds the ring.
    pub kept_ns: Option<u64>,
}

/// A file that is complete.
#[derive(Debug)]
struct Complete {
    path: PathBuf,
    bytes: u64,
    last_ns: u64,
}

/// The file that is written.
#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    bytes: u64,
    first_ns: u64,
}

/// The ring.
#[derive(Debug)]
pub(super) struct Folder {
    options: SaveOptions,
    /// The first bytes of each file.
    head: Vec<u8>,
    complete: VecDeque<Complete>,
    open: Option<Open>,
    numbered: u64,
}

impl Folder {
    /// Makes the folder.
    ///
    /// # Errors
    /// It cannot be made or holds anything: files of another capture would neither be analysed with these nor deleted.
    pub(super) fn new(options: SaveOptions, head: Vec<u8>) -> io::Result<Self> {
        fs::create_dir_all(&options.folder)?;
        if fs::read_dir(&options.folder)?.next().is_some() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty; name another folder"));
        }
        Ok(Self { options, head, complete: VecDeque::new(), open: None, numbered: 0 })
    }

    /// Whether a packet at `time_ns` belongs in the next file, after `more` further bytes in the present one.
    pub(super) fn is_full(&self, time_ns: u64, more: usize) -> bool {
        let (bytes, first_ns) = self.open.as_ref().map_or((0, time_ns), |open| (open.bytes, open.first_ns));
        let longest_ns = self.options.kept_ns.map_or(u64::MAX, |kept| kept / FILES);
        bytes + more as u64 >= self.file_bytes() || time_ns.saturating_sub(first_ns) >= longest_ns
    }

    fn file_bytes(&self) -> u64 {
        (self.options.bytes / FILES).max(SMALLEST_FILE)
    }

    /// Writes blocks of the present file, or of a new one that begins with a packet of this time.
    pub(super) fn write(&mut self, blocks: &[u8], time_ns: u64) -> io::Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(begin(&self.options, &self.head, &mut self.numbered, time_ns)?),
        };
        if let Err(error) = open.file.write_all(blocks) {
            // A file that ends in the middle of a packet would be read as a damaged one.
            let _ = open.file.set_len(open.bytes);
            return Err(error);
        }
        open.bytes += blocks.len() as u64;
        Ok(())
    }

    /// Ends the present file, whose last packet had this time, and deletes files that are too many or too old.
    pub(super) fn end_file(&mut self, last_ns: u64) -> io::Result<()> {
        if let Some(Open { path, bytes, .. }) = self.open.take() {
            self.complete.push_back(Complete { path, bytes, last_ns });
        }
        let file_bytes = self.file_bytes();
        let oldest_ns = self.options.kept_ns.map_or(0, |kept| last_ns.saturating_sub(kept));
        let mut bytes: u64 = self.complete.iter().map(|file| file.bytes).sum();
        while let Some(first) = self.complete.front()
            && (bytes + file_bytes > self.options.bytes || first.last_ns < oldest_ns)
        {
            fs::remove_file(&first.path)?;
            bytes -= first.bytes;
            self.complete.pop_front();
        }
        Ok(())
    }
}

fn begin(options: &SaveOptions, head: &[u8], numbered: &mut u64, first_ns: u64) -> io::Result<Open> {
    *numbered += 1;
    let path = options.folder.join(format!("capture-{numbered:06}.pcapng"));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    file.write_all(head)?;
    Ok(Open { path, file, bytes: head.len() as u64, first_ns })
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::servers::Scratch;

    use super::*;

    fn names(folder: &std::path::Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_ring_is_bounded_in_size_and_in_time() {
        let scratch = Scratch::new("ring");
        let inside = |name: &str| scratch.path().join(name);
        let mut folder =
            Folder::new(SaveOptions { folder: inside("size"), bytes: 4 * SMALLEST_FILE, kept_ns: None }, Vec::new())
                .unwrap();
        for time_ns in 1..=9 {
            folder.write(&vec![0; SMALLEST_FILE as usize - 1], time_ns).unwrap();
            assert!(!folder.is_full(time_ns, 0) && folder.is_full(time_ns, 1));
            folder.write(&[0], time_ns).unwrap();
            assert!(folder.is_full(time_ns, 0));
            folder.end_file(time_ns).unwrap();
            assert!(names(&inside("size")).len() <= 3, "there is room for the next");
        }
        assert_eq!(names(&inside("size")), ["capture-000007.pcapng", "capture-000008.pcapng", "capture-000009.pcapng"]);
        let mut folder =
            Folder::new(SaveOptions { folder: inside("time"), bytes: 1 << 30, kept_ns: Some(160) }, Vec::new())
                .unwrap();
        for time_ns in (0..1_000).step_by(5) {
            if folder.is_full(time_ns, 1) {
                folder.end_file(time_ns).unwrap();
            }
            folder.write(&[0], time_ns).unwrap();
        }
        assert!(names(&inside("time")).len() <= FILES as usize + 2);
        let again =
            Folder::new(SaveOptions { folder: inside("time"), bytes: 1 << 30, kept_ns: None }, Vec::new()).unwrap_err();
        assert!(again.to_string().contains("not empty"));
    }
}
