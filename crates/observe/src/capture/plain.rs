//! A plain file: mapped where that is safe and pays, else read. See docs/decisions/0002.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use memmap2::Mmap;

use super::lease;

/// A map ends where a multiple of so many bytes does, as long as the file does: there the system's huge pages end too, and a map that
/// went on would bring the whole next one.
const MAP_BYTES: u64 = 2 << 20;
/// So many bytes behind what is in memory already, at least, a map has (or it ends with the file).
const MORE_BYTES: u64 = 512 << 10;
/// A file with less than this left, in bytes, is not worth a lease.
const WORTH_A_LEASE: u64 = 4 << 20;
/// Where a map may begin, in bytes: a multiple of every page size.
const GRAIN: u64 = 64 << 10;
/// Between two looks whether another thread still uses a map.
const IN_USE: Duration = Duration::from_micros(100);

/// Whether the file may be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lease {
    Untried,
    Held,
    Refused,
}

/// A plain file, open for reading.
#[derive(Debug)]
pub(super) struct Plain {
    file: Arc<File>,
    /// Its size in bytes; cannot change while the lease is held.
    size: u64,
    lease: Lease,
    /// Where the next read begins.
    position: u64,
    /// How far it was read or mapped, also told to the progress.
    furthest: u64,
    progress: Arc<AtomicU64>,
}

/// A part of a file in memory.
#[derive(Debug)]
pub(super) struct Mapped {
    /// The bytes of `part`: reached through it, they would cost each packet some waits for the cache.
    bytes: &'static [u8],
    part: Arc<Part>,
    /// Where it stands in the file.
    pub(super) base: u64,
    /// The file ends with it.
    pub(super) last: bool,
}

/// Bytes of a mapped file, which packets in other threads may use after the reader has gone on. The file stays open as long, and so
/// does its lease; fields are dropped in this order.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) bytes: Mmap,
    _file: Arc<File>,
}

impl Mapped {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// The same for other threads.
    pub(super) fn part(&self) -> &Arc<Part> {
        &self.part
    }
}

impl Plain {
    /// A file that stands at its start. The bytes that are read are added to `progress`.
    pub(super) fn new(file: File, progress: Arc<AtomicU64>) -> Self {
        let file = Arc::new(file);
        Self { file, size: 0, lease: Lease::Untried, position: 0, furthest: 0, progress }
    }

    /// Reads on from where the last read or seek ended.
    pub(super) fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = (&*self.file).read(room)?;
        self.position = self.position.saturating_add(count as u64);
        self.reached(self.position);
        Ok(count)
    }

    /// The next read begins at `offset`.
    pub(super) fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.position = (&*self.file).seek(SeekFrom::Start(offset))?;
        Ok(())
    }

    /// Whether the file may be mapped (on) from `offset`.
    pub(super) fn may_map(&mut self, offset: u64) -> bool {
        if self.lease == Lease::Untried {
            self.lease = self.ask(offset);
        }
        self.lease == Lease::Held && lease::holds(&self.file)
    }

    /// The bytes around and behind `offset`, beyond those up to `known`, where [`Plain::may_map`] says so. The map before should be gone by
    /// then. `None` if they cannot be read.
    pub(super) fn map(&mut self, offset: u64, known: u64) -> Option<Mapped> {
        if self.lease == Lease::Held { self.part(offset, known) } else { None }
    }

    /// From now on the file is read. No map of it may be left here; what packets in other threads use of one is waited for.
    pub(super) fn give_back(&mut self) {
        if self.lease == Lease::Held {
            while Arc::get_mut(&mut self.file).is_none() {
                std::thread::sleep(IN_USE);
            }
            lease::give_back(&self.file);
        }
        self.lease = Lease::Refused;
    }

    /// Reads exactly so many bytes from where the last read or seek ended.
    pub(super) fn read_exact(&mut self, room: &mut [u8]) -> io::Result<()> {
        (&*self.file).read_exact(room)
    }

    /// Takes a lease, if the file is worth one.
    fn ask(&mut self, offset: u64) -> Lease {
        let size = |file: &File| file.metadata().map_or(0, |metadata| metadata.len());
        if size(&self.file).saturating_sub(offset) < WORTH_A_LEASE || !lease::take(&self.file) {
            return Lease::Refused;
        }
        // Asked again: what was the size before the lease may not be it any more.
        self.size = size(&self.file);
        Lease::Held
    }

    fn part(&mut self, offset: u64, known: u64) -> Option<Mapped> {
        let base = offset - offset % GRAIN;
        let end = (known.max(offset) + MORE_BYTES).next_multiple_of(MAP_BYTES).min(self.size);
        let len = end.checked_sub(base).filter(|&len| len > 0)?;
        let bytes = lease::map(&self.file, base, usize::try_from(len).ok()?)?;
        if !lease::bring(&bytes) {
            return None;
        }
        let part = Arc::new(Part { bytes, _file: Arc::clone(&self.file) });
        // SAFETY: a map stays where it is until it is dropped. `Mapped` keeps `part`, gives it to nobody mutably, and lends these bytes
        // for no longer than it lives itself.
        let bytes = unsafe { std::slice::from_raw_parts(part.bytes.as_ptr(), part.bytes.len()) };
        self.reached(end);
        Some(Mapped { bytes, part, base, last: end == self.size })
    }

    fn reached(&mut self, offset: u64) {
        let more = offset.saturating_sub(self.furthest);
        self.furthest += more;
        self.progress.fetch_add(more, Ordering::Relaxed);
    }
}
