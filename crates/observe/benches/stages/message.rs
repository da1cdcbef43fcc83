//! Stage "message": bytes in order become messages. Time an operation: the request in one stream, the response in the
//! other.

use divan::{Bencher, black_box};
use plimsoll_observe::message::{Framer, Framing};
use plimsoll_observe::packet::Stamp;
use plimsoll_observe::stream::Chunk;

use crate::traffic::{self, Kind, OPERATIONS};

/// What a packet carries.
const SEGMENT: usize = 1_448;

#[divan::bench(sample_size = 10_000, sample_count = 100)]
fn rpc(bencher: Bencher<'_, '_>) {
    run(bencher, Kind::Rpc, Framing::Rpc, OPERATIONS);
}

#[divan::bench(sample_size = 10_000, sample_count = 100)]
fn smb2(bencher: Bencher<'_, '_>) {
    run(bencher, Kind::Smb2, Framing::Smb, OPERATIONS);
}

/// 47 packets an operation.
#[divan::bench(sample_size = 1_000, sample_count = 100)]
fn smb2_reads_of_64_kib(bencher: Bencher<'_, '_>) {
    run(bencher, Kind::Bulk, Framing::Smb, 200);
}

fn run(bencher: Bencher<'_, '_>, kind: Kind, framing: Framing, operations: u32) {
    let operations: Vec<_> = (0..operations).map(|number| traffic::operation(kind, number)).collect();
    let mut streams = [(Framer::default(), 0), (Framer::default(), 0)];
    streams.iter_mut().for_each(|(framer, _)| framer.restart(true));
    let (mut next, mut frame) = (operations.iter().cycle(), 0);
    bencher.bench_local(|| {
        let Some((request, response)) = next.next() else { return };
        for ((framer, offset), bytes) in streams.iter_mut().zip([request, response]) {
            for bytes in bytes.chunks(SEGMENT) {
                frame += 1;
                let wire_len = bytes.len() as u32;
                let chunk =
                    Chunk { offset: *offset, bytes, wire_len, stamp: Stamp { time_ns: 0, frame }, acknowledges: 0 };
                framer.data(&chunk, framing, false, |message| {
                    black_box(message);
                });
                *offset += u64::from(wire_len);
            }
        }
    });
}
