//! Stage "stream": segments become bytes in order, and holes.

use divan::{Bencher, black_box};
use plimsoll_observe::packet::{self, Packet, Stamp};
use plimsoll_observe::stream::{Chunk, Connections, Packable, Receiver, TcpFlow};

use crate::traffic::{self, Around, Kind, OPERATIONS};

#[divan::bench(sample_size = 10_000, sample_count = 100)]
fn in_order(bencher: Bencher<'_, '_>) {
    run(bencher, false);
}

#[divan::bench(sample_size = 10_000, sample_count = 100)]
fn one_percent_lost(bencher: Bencher<'_, '_>) {
    run(bencher, true);
}

fn run(bencher: Bencher<'_, '_>, lossy: bool) {
    let traffic = traffic::of(Kind::Rpc, Around::Ipv4, OPERATIONS);
    let frames = traffic::frames(&traffic);
    let decoded =
        frames.iter().filter_map(|frame| match packet::decode(frame.link, frame.captured, frame.original_len) {
            Packet::Tcp(path, segment) => Some((path, segment)),
            _ => None,
        });
    let segments: Vec<_> = decoded.collect();
    let segments = if lossy { traffic::lossy(segments) } else { segments };
    let mut connections: Connections<Flows> = Connections::default();
    let mut next = 0;
    bencher.bench_local(|| {
        if next == segments.len() {
            next = 0;
            connections = Connections::default();
        }
        let Some((path, segment)) = segments.get(next) else { return };
        next += 1;
        let (slot, direction, _) = connections.find(path, false, Default::default);
        let Flows([low, high]) = connections.get(slot);
        let (tcp_flow, other) = if direction == 0 { (low, high) } else { (high, low) };
        let (acknowledges, _) = other.acknowledge(segment.ack, &mut Seen);
        let stamp = Stamp { time_ns: next as i64, frame: next as u64 };
        tcp_flow.segment(segment, stamp, acknowledges, &mut Seen);
    });
}

/// The two directions of a connection, which are never packed here.
#[derive(Default)]
struct Flows([TcpFlow; 2]);

impl Packable for Flows {
    fn pack(&self, _: Vec<u8>) -> Option<Vec<u8>> {
        None
    }
    fn unpack(_: &[u8]) -> Option<Box<Self>> {
        None
    }
}

/// Takes what comes and does nothing with it.
struct Seen;

impl Receiver for Seen {
    fn data(&mut self, chunk: &Chunk<'_>) {
        black_box(chunk);
    }

    fn hole(&mut self, len: u64, end: u64, acknowledged: bool) {
        black_box((len, end, acknowledged));
    }

    fn restart(&mut self) {}
}
