//! Counts the heap of a test program, which makes it its allocator: `#[global_allocator] static HEAP: Heap = Heap::new();`

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, with counts.
#[derive(Debug)]
pub struct Heap {
    live: AtomicUsize,
    peak: AtomicUsize,
}

impl Heap {
    /// Nothing allocated yet.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "an allocator is made once, in a constant")]
    pub const fn new() -> Self {
        Self { live: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// The most bytes at a time while something is done, beyond those before it.
    pub fn peak<T>(&self, does: impl FnOnce() -> T) -> (usize, T) {
        let before = self.live.load(Relaxed);
        self.peak.store(before, Relaxed);
        let done = does();
        (self.peak.load(Relaxed) - before, done)
    }
}

// SAFETY: passes every call on to the system's allocator, unchanged.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = self.live.fetch_add(layout.size(), Relaxed) + layout.size();
        self.peak.fetch_max(live, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.live.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}
