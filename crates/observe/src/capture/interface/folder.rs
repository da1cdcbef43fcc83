//! A ring of capture files in a folder, bounded in size and in time.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Interface;
use super::section::{self, Lost};

/// Files that the ring has at most: when it is full, a 16th of it goes at a time.
const FILES: u64 = 16;
/// The smallest file, in bytes: less is not worth a file.
const SMALLEST_FILE: u64 = 64 << 10;
/// How often files are looked for that became too old.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

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
    written: Instant,
}

/// The file that is written.
#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    bytes: u64,
    first_ns: u64,
    /// When the last packet was written. By a clock that cannot be set, unlike the time of the packet.
    written: Instant,
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
    /// When files were last looked for that became too old.
    looked: Instant,
    /// A full disk has deleted files before the ring was full; and that was asked for.
    is_short: bool,
    was_short: bool,
}

impl Folder {
    /// Makes the folder.
    ///
    /// # Errors
    /// It cannot be made or holds anything: files of another capture would neither be analysed with these nor deleted.
    pub(super) fn new(options: SaveOptions, head: Vec<u8>) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&options.folder)?;
        if fs::read_dir(&options.folder)?.next().is_some() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty; name another folder"));
        }
        Ok(Self {
            options,
            head,
            complete: VecDeque::new(),
            open: None,
            numbered: 0,
            looked: Instant::now(),
            is_short: false,
            was_short: false,
        })
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

    /// Writes blocks of the present file, or of a new one that begins with a packet of this time. If the disk is full, the oldest
    /// packets make room, as they do if the ring is: the newest ones explain what is wrong now.
    pub(super) fn write(&mut self, blocks: &[u8], time_ns: u64) -> io::Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let needed = 4 * (blocks.len() + self.head.len()) as u64 + 2 * self.file_bytes();
        let mut freed = 0;
        loop {
            match self.try_write(blocks, time_ns) {
                // Where deleting makes no room (snapshots keep the blocks), the other files stay.
                Err(error) if is_full(&error) && freed < needed => {
                    let Some(oldest) = self.complete.pop_front() else { return Err(error) };
                    delete(&oldest.path)?;
                    freed += oldest.bytes;
                    self.is_short = true;
                }
                written => return written,
            }
        }
    }

    /// Whether the disk was full for the first time: the ring is shorter than it was to be.
    pub(super) fn became_short(&mut self) -> bool {
        self.is_short && !std::mem::replace(&mut self.was_short, true)
    }

    /// Writes all blocks, or leaves everything as it was.
    fn try_write(&mut self, blocks: &[u8], time_ns: u64) -> io::Result<()> {
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(begin(&self.options, &self.head, &mut self.numbered, time_ns)?),
        };
        if let Err(error) = open.file.write_all(blocks) {
            // A file that ends in the middle of a packet would be read as a damaged one; and the next blocks belong where these began.
            let _ = open.file.set_len(open.bytes);
            let _ = open.file.seek(SeekFrom::Start(open.bytes));
            return Err(error);
        }
        open.bytes += blocks.len() as u64;
        open.written = Instant::now();
        Ok(())
    }

    /// Ends the present file: with the blocks from `unsaved` on, and with the losses of its time, which are added to the blocks.
    pub(super) fn end(&mut self, blocks: &mut Vec<u8>, unsaved: usize, (last_ns, lost): (u64, Lost)) -> io::Result<()> {
        let packets = self.write(blocks.get(unsaved..).unwrap_or_default(), last_ns);
        let (end, written) = (blocks.len(), self.open.as_ref().map(|open| open.written));
        section::statistics(blocks, last_ns, lost);
        packets?;
        self.write(blocks.get(end..).unwrap_or_default(), last_ns)?;
        if let (Some(open), Some(written)) = (&mut self.open, written) {
            // The losses make no packet younger.
            open.written = written;
        }
        self.end_file(last_ns)?;
        // By the times of the packets, those from before the clock was set back are still to come.
        self.delete_old(Instant::now())
    }

    /// Ends the present file, whose last packet had this time, and deletes files that are too many or too old.
    pub(super) fn end_file(&mut self, last_ns: u64) -> io::Result<()> {
        if let Some(Open { path, bytes, written, .. }) = self.open.take() {
            self.complete.push_back(Complete { path, bytes, last_ns, written });
        }
        let file_bytes = self.file_bytes();
        let oldest_ns = self.options.kept_ns.map_or(0, |kept| last_ns.saturating_sub(kept));
        let mut bytes: u64 = self.complete.iter().map(|file| file.bytes).sum();
        while let Some(first) = self.complete.front()
            && (bytes + file_bytes > self.options.bytes || first.last_ns < oldest_ns)
        {
            delete(&first.path)?;
            bytes -= first.bytes;
            self.complete.pop_front();
        }
        Ok(())
    }

    /// Whether all packets of the present file are too old.
    fn is_outdated(&self, now: Instant) -> bool {
        self.open.as_ref().is_some_and(|open| self.is_old(open.written, now))
    }

    fn is_old(&self, written: Instant, now: Instant) -> bool {
        let kept = self.options.kept_ns.map(Duration::from_nanos);
        kept.is_some_and(|kept| now.saturating_duration_since(written) > kept)
    }

    /// Deletes the complete files that are too old.
    fn delete_old(&mut self, now: Instant) -> io::Result<()> {
        self.looked = now;
        while let Some(first) = self.complete.front()
            && self.is_old(first.written, now)
        {
            delete(&first.path)?;
            self.complete.pop_front();
        }
        Ok(())
    }
}

impl Interface {
    /// Deletes files that became too old. While no packet comes, no packet begins a new file, which would do so.
    pub(super) fn delete_old_files(&mut self) {
        let Self { folder, counts, blocks, losses, last_ns, name, link, socket, down, .. } = self;
        let now = Instant::now();
        let is_due = |folder: &&mut Folder| now.saturating_duration_since(folder.looked) >= CHECK_INTERVAL;
        let Some(folder) = folder.as_mut().filter(is_due).filter(|_| counts.may_save()) else { return };
        // The begin and the end of a downtime must be in one section, so in one file.
        if folder.is_outdated(now) && down.is_none() {
            let unsaved = blocks.len();
            counts.saved(folder.end(blocks, unsaved, (*last_ns, losses.end_section())));
            section::begin(blocks, name, *link, socket.snap_length());
        }
        counts.saved(folder.delete_old(now));
    }
}

/// Deletes a file of the ring, unless somebody has done so to make room.
fn delete(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Whether there is no room for more: on the disk, or of what this user may have on it.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn begin(options: &SaveOptions, head: &[u8], numbered: &mut u64, first_ns: u64) -> io::Result<Open> {
    let number = *numbered + 1;
    let path = options.folder.join(format!("capture-{number:06}.pcapng"));
    // Packets have file data and logons: only the owner may read them.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    if let Err(error) = file.write_all(head) {
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    *numbered = number;
    Ok(Open { path, file, bytes: head.len() as u64, first_ns, written: Instant::now() })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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

    /// They have file data, and logons whose passwords can be guessed.
    #[test]
    fn only_the_owner_can_read_saved_packets() {
        let scratch = Scratch::new("ring-mode");
        let options = SaveOptions { folder: scratch.path().join("ring"), bytes: 4 * SMALLEST_FILE, kept_ns: None };
        Folder::new(options, Vec::new()).unwrap().write(&[0], 1).unwrap();
        let mode = |name: &str| fs::metadata(scratch.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("ring"), mode("ring/capture-000001.pcapng")), (0o700, 0o600));
    }

    /// Nobody works at the weekend: no packet comes that would begin a new file.
    #[test]
    fn files_become_too_old_without_packets() {
        let scratch = Scratch::new("ring-old");
        let (path, hour) = (scratch.path().join("ring"), Duration::from_secs(3_600));
        let kept_ns = Some(u64::try_from(hour.as_nanos()).unwrap());
        let mut ring = Folder::new(SaveOptions { folder: path.clone(), bytes: 1 << 30, kept_ns }, vec![1]).unwrap();
        let mut blocks = vec![0; 100];
        ring.end(&mut blocks, 0, (1, Lost::default())).unwrap();
        assert!(blocks.len() > 100, "the losses are in the stream");
        ring.write(&[0], 2).unwrap();
        assert_eq!(fs::read(path.join("capture-000001.pcapng")).unwrap().len(), 1 + blocks.len());
        let (now, later) = (Instant::now(), Instant::now() + 2 * hour);
        ring.delete_old(now).unwrap();
        assert!(!ring.is_outdated(now) && names(&path).len() == 2);
        // The first look leaves the file that is written, which must end first.
        ring.delete_old(later).unwrap();
        assert!(ring.is_outdated(later));
        assert_eq!(names(&path), ["capture-000002.pcapng"]);
        let written = ring.open.as_ref().unwrap().written;
        ring.end(&mut blocks, usize::MAX, (2, Lost::default())).unwrap();
        assert_eq!(ring.complete.front().unwrap().written, written, "the losses make it no younger");
        ring.delete_old(later).unwrap();
        assert!(!ring.is_outdated(later) && names(&path).is_empty());
    }

    /// A server that is busy all the time has no moment without packets.
    #[test]
    fn a_clock_that_is_set_back_keeps_no_file_for_longer() {
        let (scratch, kept_ns) = (Scratch::new("ring-back"), Some(1));
        let path = scratch.path().join("ring");
        let mut ring = Folder::new(SaveOptions { folder: path.clone(), bytes: 1 << 30, kept_ns }, vec![1]).unwrap();
        ring.write(&[0], 1_000_000).unwrap();
        ring.end_file(1_000_000).unwrap();
        ring.write(&[0], 500).unwrap();
        ring.end(&mut Vec::new(), 0, (500, Lost::default())).unwrap();
        assert!(names(&path).is_empty(), "{:?}", names(&path));
    }

    #[test]
    fn a_file_that_somebody_deleted_is_no_failure() {
        let scratch = Scratch::new("ring-deleted");
        let options = SaveOptions { folder: scratch.path().join("ring"), bytes: 4 * SMALLEST_FILE, kept_ns: None };
        let mut ring = Folder::new(options, Vec::new()).unwrap();
        for time_ns in 1..=9 {
            ring.write(&vec![0; SMALLEST_FILE as usize], time_ns).unwrap();
            if time_ns == 3 {
                fs::remove_file(scratch.path().join("ring/capture-000001.pcapng")).unwrap();
            }
            ring.end_file(time_ns).unwrap();
        }
        assert_eq!(names(&scratch.path().join("ring")).len(), 3);
    }

    /// The disk is smaller than the ring may be.
    #[test]
    fn a_full_disk_costs_the_oldest_packets_and_no_others() {
        let mut scratch = Scratch::new("ring-full");
        let Some(disk) = scratch.small_file_system("disk", 8 * SMALLEST_FILE) else {
            plimsoll_testkit::skip("needs the right to mount a tmpfs");
            return;
        };
        let folder = disk.join("ring");
        let options = SaveOptions { folder: folder.clone(), bytes: 16 * SMALLEST_FILE, kept_ns: None };
        let head = vec![0xaa; 100];
        let mut ring = Folder::new(options, head.clone()).unwrap();
        // In pieces of which none fills a file, so that the disk is full in the middle of one.
        let piece = |number: u64| vec![number as u8; 10_000];
        for number in 1..=200 {
            if ring.is_full(number, 10_000) {
                ring.end_file(number).unwrap();
            }
            ring.write(&piece(number), number).unwrap();
        }
        let files = names(&folder);
        assert!((4..=9).contains(&files.len()) && files.is_sorted(), "{files:?}");
        let mut saved = Vec::new();
        for file in &files {
            let bytes = fs::read(folder.join(file)).unwrap();
            let (first, packets) = bytes.split_at(head.len());
            assert!(first == head && packets.len().is_multiple_of(10_000), "{file}: whole packets");
            saved.extend(packets.chunks(10_000).map(|packet| {
                assert!(packet.iter().all(|byte| *byte == packet[0]), "{file}");
                u64::from(packet[0])
            }));
        }
        assert_eq!(saved.last(), Some(&200));
        assert_eq!([ring.became_short(), ring.became_short()], [true, false], "said once");
        assert!(saved.windows(2).all(|two| two[1] == two[0] + 1), "none is missing in between: {saved:?}");
        // Another program takes all room: with no file left to delete, saving fails.
        fs::write(disk.join("other"), vec![0; 8 * SMALLEST_FILE as usize]).unwrap_err();
        let failed = (201..600).find_map(|number| {
            if ring.is_full(number, 10_000) {
                ring.end_file(number).unwrap();
            }
            let _ = fs::OpenOptions::new().append(true).open(disk.join("other")).unwrap().write_all(&[0; 64 << 10]);
            ring.write(&piece(number), number).err()
        });
        assert_eq!(failed.map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    }
}
