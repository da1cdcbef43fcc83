//! Read leases: Linux reports before another process changes a file.
//!
//! If a process truncates a memory-mapped file, this process ends with SIGBUS, and bytes that change under a slice are undefined
//! behaviour. While this process holds a read lease on a file, another process that opens it for writing or truncates it waits in the
//! kernel until the lease is returned, for 45 seconds at most (/proc/sys/fs/lease-break-time). The kernel grants a lease on the user's
//! own files (or with CAP_LEASE) that are not open for writing.
//!
//! Spec: fcntl(2) F_SETLEASE

use std::ffi::c_int;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use memmap2::{Advice, Mmap, MmapOptions, UncheckedAdvice};

/// fcntl command that selects the signal for a waiting process (include/uapi/asm-generic/fcntl.h; libc does not have it).
const F_SETSIG: c_int = 10;

/// Local file systems, whose files change only through this machine's kernel: ext2 to 4, XFS, btrfs, F2FS and tmpfs
/// (include/uapi/linux/magic.h).
const LOCAL: [u32; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];

/// Takes a lease. False if the system grants none.
pub(super) fn take(file: &File) -> bool {
    let local = rustix::fs::fstatfs(file).is_ok_and(|system| LOCAL.contains(&(system.f_type as u32)));
    // No code handles the signal, because `holds` polls. The default action of SIGURG is to ignore it.
    local
        && control(file, F_SETSIG, libc::SIGURG) == Some(0)
        && control(file, libc::F_SETLEASE, libc::F_RDLCK) == Some(0)
}

/// Whether the lease is held and no other process waits for its end.
pub(super) fn holds(file: &File) -> bool {
    control(file, libc::F_GETLEASE, 0) == Some(libc::F_RDLCK)
}

/// Gives the lease back; no map of the file may be left. (Closing the file does so too.)
pub(super) fn give_back(file: &File) {
    // That there was none any more is as good.
    let _ = control(file, libc::F_SETLEASE, libc::F_UNLCK);
}

/// A part of a file on which a lease is held, all of it within the file. To be dropped before the lease is given back.
pub(super) fn map(file: &File, offset: u64, len: usize) -> Option<Mmap> {
    // SAFETY: while the lease is held, and for 45 s longer, no process can open the file for writing or truncate it. The reader checks
    // the lease with every step, which contains a millisecond's worth of packets.
    let bytes = unsafe { MmapOptions::new().offset(offset).len(len).map(file) }.ok()?;
    Some(bytes)
}

/// Fills the page table for a part of a map at once. And a disk that fails does so here, without a signal: then false.
pub(super) fn bring(map: &Mmap, part: Range<usize>) -> bool {
    map.advise_range(Advice::PopulateRead, part.start, part.len()).is_ok()
}

/// Gives back the memory of a part of a map that is no longer needed.
pub(super) fn free(map: &Mmap, part: Range<usize>) {
    // SAFETY: the map is shared, and no process can change the file, so a later read would return the same bytes. If the call fails, that
    // costs only memory.
    let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, part.start, part.len()) };
}

/// Says which pages of a map are in memory for this process.
#[derive(Debug, Default)]
pub(super) struct PageTable {
    /// Opened with the first question. `None` if the system has no such file.
    file: Option<Option<File>>,
}

impl PageTable {
    /// Whether the page at `at` can be used without a page fault. A wrong answer costs memory or time only.
    pub(super) fn has(&mut self, map: &Mmap, at: usize) -> bool {
        const ENTRY_BYTES: u64 = 8;
        const PRESENT: u64 = 1 << 63;
        let file = self.file.get_or_insert_with(|| File::open("/proc/self/pagemap").ok());
        let (Some(file), true) = (file, at < map.len()) else { return false };
        let page = (map.as_ptr() as usize + at) as u64 / rustix::param::page_size() as u64;
        let mut entry = [0; ENTRY_BYTES as usize];
        file.read_exact_at(&mut entry, page * ENTRY_BYTES).is_ok() && u64::from_ne_bytes(entry) & PRESENT != 0
    }
}

/// Makes the system use small pages for the rest of a huge page whose front was freed with [`free`]. Otherwise the next access would bring
/// the whole huge page again.
pub(super) fn in_small_pages(map: &Mmap, part: Range<usize>) {
    // Other advice makes this part a mapping of its own, and a mapping that begins within a huge page gets small pages. If the system does
    // not do it, that costs memory only.
    let _ = map.advise_range(Advice::Sequential, part.start, part.len());
}

fn control(file: &File, command: c_int, argument: c_int) -> Option<c_int> {
    // SAFETY: the descriptor is open as long as `file`, and these commands take numbers, no pointers.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    (result >= 0).then_some(result)
}
