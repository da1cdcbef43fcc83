//! Memory does not grow with the number of rows. In a separate test binary, because it counts every allocation.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in tests")]

#[path = "all/table/samples.rs"]
#[allow(dead_code, reason = "only some of the samples are needed here")]
mod samples;

use plimsoll_model::{Names, Sink};
use plimsoll_recording::{TableFormat, TransactionsFile};
use plimsoll_testkit::heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap::new();

/// Bytes held at the most while `rows` transactions on 1000 connections and 5000 paths are written.
fn peak(rows: u64, name: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut names = Names::default();
    let mut transaction = samples::full(&mut names, "first");
    let paths: Vec<_> = (0..5000).map(|i| names.intern(&format!("folder/with/a/longish/name/file{i}.dat"))).collect();
    let write = || {
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
    };
    HEAP.peak(write).0
}

#[test]
fn memory_does_not_grow_with_the_rows() {
    const MIB: usize = 1 << 20;
    // A row group has 65,536 rows: one is written, and two, each with some rows more.
    for (name, limit, rows) in [("t.parquet", 32 * MIB, 70_000), ("t.csv", MIB, 20_000)] {
        let (short, long) = (peak(rows, name), peak(2 * rows, name));
        println!("{name}: {short} bytes at the most for {rows} rows, {long} for twice as many");
        assert!(long < limit, "{name}: {long}");
        // The index at a Parquet file's end grows by some kilobytes a row group.
        assert!(long < short + MIB, "{name}: {short} for {rows} rows, {long} for twice as many");
    }
}
