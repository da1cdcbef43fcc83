//! Memory does not grow with the number of rows. In a separate test binary, because it counts every allocation.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in tests")]

#[path = "all/table/samples.rs"]
#[allow(dead_code, reason = "only some of the samples are needed here")]
mod samples;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use plimsoll_model::{Names, Sink};
use plimsoll_recording::{TableFormat, TransactionsFile};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes every call on to the system's allocator, unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes held at the most while `rows` transactions on 1000 connections and 5000 paths are written.
fn peak(rows: u64, name: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut names = Names::default();
    let mut transaction = samples::full(&mut names, "first");
    let paths: Vec<_> = (0..5000).map(|i| names.intern(&format!("folder/with/a/longish/name/file{i}.dat"))).collect();
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let mut file = {
        let path = folder.path().join(name);
        TransactionsFile::new(std::fs::File::create(&path).unwrap(), TableFormat::of(&path).unwrap()).unwrap()
    };
    for i in 0..rows {
        transaction.id = Some(i);
        transaction.client.port = (i % 1000) as u16;
        transaction.path = paths[(i.wrapping_mul(7919) % 5000) as usize];
        transaction.timeline.response_last = Some(1_700_000_000_000_000_000 + i as i64 * 1000);
        file.transaction(&transaction, &names);
    }
    assert_eq!(file.finish().unwrap().rows, rows);
    PEAK.load(Relaxed) - before
}

#[test]
fn memory_does_not_grow_with_the_rows() {
    const MIB: usize = 1 << 20;
    for (name, limit, rows) in [("t.parquet", 32 * MIB, 100_000), ("t.csv", MIB, 20_000)] {
        let (short, long) = (peak(rows, name), peak(3 * rows, name));
        println!("{name}: {short} bytes at the most for {rows} rows, {long} for three times as many");
        assert!(long < limit, "{name}: {long}");
        // The index at a Parquet file's end grows by some kilobytes a row group.
        assert!(long < short + MIB, "{name}: {short} for {rows} rows, {long} for three times as many");
    }
}
