//! All stages behind "capture" at once, pairing among them: frames become transactions. What the other stages do not
//! take of it is pairing. Time an operation.

use divan::{Bencher, black_box};
use plimsoll_model::{Names, Sink, Transaction};
use plimsoll_observe::Observer;

use crate::traffic::{self, Around, Kind, OPERATIONS};

#[divan::bench(sample_size = 2_000, sample_count = 200)]
fn rpc(bencher: Bencher<'_, '_>) {
    run(bencher, Kind::Rpc, OPERATIONS, false);
}

#[divan::bench(sample_size = 2_000, sample_count = 200)]
fn rpc_one_percent_lost(bencher: Bencher<'_, '_>) {
    run(bencher, Kind::Rpc, OPERATIONS, true);
}

#[divan::bench(sample_size = 2_000, sample_count = 200)]
fn smb2(bencher: Bencher<'_, '_>) {
    run(bencher, Kind::Smb2, OPERATIONS, false);
}

#[divan::bench(sample_size = 2_000, sample_count = 200)]
fn smb2_one_percent_lost(bencher: Bencher<'_, '_>) {
    run(bencher, Kind::Smb2, OPERATIONS, true);
}

/// 47 packets an operation.
#[divan::bench(sample_size = 100, sample_count = 100)]
fn smb2_reads_of_64_kib(bencher: Bencher<'_, '_>) {
    run(bencher, Kind::Bulk, 200, false);
}

fn run(bencher: Bencher<'_, '_>, kind: Kind, operations: u32, lossy: bool) {
    let traffic = traffic::of(kind, Around::Ipv4, operations);
    let frames = traffic::frames(&traffic);
    let frames = if lossy { traffic::lossy(frames) } else { frames };
    // Whole ones but for the handshake, and for what was lost.
    let an_operation = traffic.frames.len() / operations as usize;
    let mut groups = frames.chunks(an_operation);
    let mut observer = Observer::new(Taken);
    bencher.bench_local(|| {
        let Some(group) = groups.next() else {
            groups = frames.chunks(an_operation);
            observer = Observer::new(Taken);
            return;
        };
        for frame in group {
            observer.frame(frame);
        }
    });
}

/// Takes transactions and does nothing with them.
struct Taken;

impl Sink for Taken {
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        black_box(transaction);
    }
}
