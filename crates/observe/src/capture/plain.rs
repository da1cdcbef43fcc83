//! A plain file: mapped if that is safe and faster, otherwise read. See docs/decisions/0002.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use memmap2::Mmap;

use super::lease::{self, PageTable};

/// Bytes of addresses mapped at once. They take no memory; only where one map ends and the next begins are pages brought twice.
/// (Tests cross from map to map with files that are small.)
const MAP_BYTES: u64 = if cfg!(test) { 4 << 20 } else { 64 << 20 };
/// A step brings a map to memory up to the next multiple of this number of bytes in the file. Smaller steps cost time.
const STEP_BYTES: u64 = 1 << 20;
/// Size of a huge page: the system brings and frees each of them as a whole.
const HUGE_BYTES: u64 = 2 << 20;
/// A file with less than this left, in bytes, is not worth a lease.
const WORTH_A_LEASE: u64 = 4 << 20;
/// A file in small pages is read this far, in bytes, before the size of its pages is looked at again. (Tests look again in small files.)
const READ_ON_BYTES: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };
/// Alignment of a map and of the steps in it, bytes: a multiple of every page size.
const GRAIN: u64 = 64 << 10;
/// Bytes of a map that stay in memory behind the reader if other threads use it. (Freed pages that they still use would have to be read
/// again.)
const HANDED_BYTES: usize = 8 << 20;
/// Between two looks whether another thread still uses a map.
const IN_USE: Duration = Duration::from_micros(100);

/// Whether the file may be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lease {
    Untried,
    Held,
    /// The file is in small pages: not before this offset.
    Later(u64),
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
    /// The position up to which the file was read or mapped, also for the progress display.
    furthest: u64,
    progress: Arc<AtomicU64>,
    page_table: PageTable,
}

/// A part of a file whose pages are brought to memory step by step.
#[derive(Debug)]
pub(super) struct Mapped {
    /// The bytes of `part`: reached through it, they would cost each packet some waits for the cache.
    bytes: &'static [u8],
    part: Arc<Part>,
    /// Its offset in the file.
    pub(super) base: u64,
    /// Up to here pages were brought to memory.
    pub(super) filled: usize,
    /// Up to here they were freed again.
    freed: usize,
    /// What was brought last is a huge page.
    is_huge: bool,
    /// The file ends with `filled`.
    pub(super) last: bool,
}

/// Bytes of a mapped file, which packets in other threads may use after the reader has moved on. The file and its lease stay open until
/// then; fields are dropped in this order.
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

    /// The mapped bytes, to share with other threads.
    pub(super) fn part(&self) -> &Arc<Part> {
        &self.part
    }
}

impl Plain {
    /// A file that stands at its start. The bytes that are read are added to `progress`.
    pub(super) fn new(file: File, progress: Arc<AtomicU64>) -> Self {
        let file = Arc::new(file);
        let page_table = PageTable::default();
        Self { file, size: 0, lease: Lease::Untried, position: 0, furthest: 0, progress, page_table }
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
        if self.lease == Lease::Untried || matches!(self.lease, Lease::Later(from) if offset >= from) {
            self.lease = self.ask(offset);
        }
        self.lease == Lease::Held && lease::holds(&self.file)
    }

    /// The bytes from `needed` on, and some behind `offset`, where [`Plain::may_map`] says so. The map before should be gone by then.
    /// `None` also where the file is in small pages, unless `any_pages`: to map these takes longer than to read them.
    pub(super) fn map(&mut self, needed: u64, offset: u64, any_pages: bool) -> Option<Mapped> {
        if self.lease == Lease::Held { self.part(needed, offset, any_pages) } else { None }
    }

    /// Brings more of a map to memory, some behind `pos` at least, where [`Plain::may_map`] says so, and frees what stands in front of
    /// `needed` in it. False where the map has no more, or its pages cannot be read.
    pub(super) fn fill(&mut self, map: &mut Mapped, needed: usize, pos: usize) -> bool {
        let grain = GRAIN as usize;
        let others_use = Arc::strong_count(&map.part) > 1;
        let needed = needed.saturating_sub(if others_use { HANDED_BYTES } else { 0 });
        let needed = needed - needed % grain;
        let whole = &map.part.bytes;
        let known = map.filled.max(pos);
        let step = STEP_BYTES - (map.base + known as u64) % STEP_BYTES;
        let mut to = known.saturating_add(step as usize).min(whole.len());
        if to <= known {
            return false;
        }
        let mut from = map.filled;
        if needed > map.freed {
            lease::free(whole, map.freed..needed);
            map.freed = needed;
            if map.is_huge && !others_use {
                lease::in_small_pages(whole, needed..map.filled);
                from = needed;
            }
        }
        if !lease::bring(whole, from..to) {
            return false;
        }
        // With its first half, a huge page brought the second one.
        let ends_in_middle = (map.base + to as u64) % HUGE_BYTES == STEP_BYTES;
        map.is_huge = ends_in_middle && self.page_table.has(whole, to + STEP_BYTES as usize / 2);
        if map.is_huge {
            let end = (to + STEP_BYTES as usize).min(whole.len());
            if lease::bring(whole, to..end) {
                to = end;
            }
        }
        map.filled = to;
        let end = map.base + to as u64;
        map.last = end == self.size;
        self.reached(end);
        true
    }

    /// From now on the file is read instead of mapped: until [`Lease::Later`], or to its end. The caller must have dropped its maps; this
    /// waits for packets in other threads that use one.
    pub(super) fn give_back(&mut self) {
        if self.lease == Lease::Held {
            while Arc::get_mut(&mut self.file).is_none() {
                std::thread::sleep(IN_USE);
            }
            lease::give_back(&self.file);
        }
        if !matches!(self.lease, Lease::Later(_)) {
            self.lease = Lease::Refused;
        }
    }

    /// Takes a lease, if the file is worth one.
    fn ask(&mut self, offset: u64) -> Lease {
        let size = |file: &File| file.metadata().map_or(0, |metadata| metadata.len());
        if size(&self.file).saturating_sub(offset) < WORTH_A_LEASE || !lease::take(&self.file) {
            return Lease::Refused;
        }
        // The size may have changed before the lease was granted.
        self.size = size(&self.file);
        Lease::Held
    }

    fn part(&mut self, needed: u64, offset: u64, any_pages: bool) -> Option<Mapped> {
        let base = needed - needed % GRAIN;
        let len = self.size.checked_sub(base).filter(|&len| len > 0)?.min(MAP_BYTES);
        let bytes = lease::map(&self.file, base, usize::try_from(len).ok()?)?;
        if !any_pages && !self.is_huge(&bytes, (offset.next_multiple_of(HUGE_BYTES) - base) as usize) {
            drop(bytes);
            self.give_back();
            self.lease = Lease::Later(offset + READ_ON_BYTES);
            return None;
        }
        let part = Arc::new(Part { bytes, _file: Arc::clone(&self.file) });
        // SAFETY: a map does not move until it is dropped. `Mapped` holds `part`, never lends it mutably, and lends these bytes no longer
        // than it lives.
        let bytes = unsafe { std::slice::from_raw_parts(part.bytes.as_ptr(), part.bytes.len()) };
        let mut map = Mapped { bytes, part, base, filled: 0, freed: 0, is_huge: false, last: false };
        self.fill(&mut map, 0, (offset - base) as usize).then_some(map)
    }

    /// Whether a huge page begins at `at`. Afterwards it is not in memory, for the reader is not there yet.
    fn is_huge(&mut self, map: &Mmap, at: usize) -> bool {
        if at >= map.len() || !lease::bring(map, at..at + 1) {
            return false;
        }
        let is_huge = self.page_table.has(map, at + HUGE_BYTES as usize / 2);
        lease::free(map, at..map.len().min(at + HUGE_BYTES as usize));
        is_huge
    }

    fn reached(&mut self, offset: u64) {
        let more = offset.saturating_sub(self.furthest);
        self.furthest += more;
        self.progress.fetch_add(more, Ordering::Relaxed);
    }
}
