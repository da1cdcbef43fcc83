//! Stage "packet": frames become TCP segments; etherparse beside ours (docs/decisions/0007-packet-headers.md).
//!
//! All three are asked for the same: addresses, ports, sequence and acknowledgement numbers, flags, payload.

use divan::{Bencher, black_box};
use etherparse::{LaxNetSlice, LaxSlicedPacket, NetSlice, SlicedPacket, TcpSlice, TransportSlice};
use plimsoll_observe::packet;

use crate::traffic::{self, Around, Kind};

const AROUND: [Around; 3] = [Around::Ipv4, Around::Ipv6, Around::Vlan];
/// Operations whose packets are decoded again and again: they stay in the cache, so that it is decoding what is timed.
const OPERATIONS: u32 = 100;

#[divan::bench(args = AROUND, sample_size = 10_000, sample_count = 200)]
fn ours(bencher: Bencher<'_, '_>, around: Around) {
    let traffic = traffic::of(Kind::Rpc, around, OPERATIONS);
    let frames = traffic::frames(&traffic);
    let mut next = frames.iter().cycle();
    bencher.bench_local(|| {
        let frame = black_box(next.next());
        frame.map(|frame| black_box(packet::decode(frame.link, frame.captured, frame.original_len))).is_some()
    });
}

#[divan::bench(args = AROUND, sample_size = 10_000, sample_count = 200)]
fn etherparse_strict(bencher: Bencher<'_, '_>, around: Around) {
    let traffic = traffic::of(Kind::Rpc, around, OPERATIONS);
    let frames = traffic::frames(&traffic);
    let mut next = frames.iter().cycle();
    bencher.bench_local(|| {
        let frame = black_box(next.next());
        frame.and_then(|frame| {
            let packet = SlicedPacket::from_ethernet(frame.captured).ok()?;
            match &packet.net {
                Some(NetSlice::Ipv4(ip)) => black_box((ip.header().source(), ip.header().destination())).0.len(),
                Some(NetSlice::Ipv6(ip)) => black_box((ip.header().source(), ip.header().destination())).0.len(),
                _ => return None,
            };
            match &packet.transport {
                Some(TransportSlice::Tcp(tcp)) => Some(segment(tcp)),
                _ => None,
            }
        })
    });
}

#[divan::bench(args = AROUND, sample_size = 10_000, sample_count = 200)]
fn etherparse_lax(bencher: Bencher<'_, '_>, around: Around) {
    let traffic = traffic::of(Kind::Rpc, around, OPERATIONS);
    let frames = traffic::frames(&traffic);
    let mut next = frames.iter().cycle();
    bencher.bench_local(|| {
        let frame = black_box(next.next());
        frame.and_then(|frame| {
            let packet = LaxSlicedPacket::from_ethernet(frame.captured).ok()?;
            match &packet.net {
                Some(LaxNetSlice::Ipv4(ip)) => black_box((ip.header().source(), ip.header().destination())).0.len(),
                Some(LaxNetSlice::Ipv6(ip)) => black_box((ip.header().source(), ip.header().destination())).0.len(),
                _ => return None,
            };
            match &packet.transport {
                Some(TransportSlice::Tcp(tcp)) => Some(segment(tcp)),
                _ => None,
            }
        })
    });
}

fn segment(tcp: &TcpSlice<'_>) -> bool {
    let ports = (tcp.source_port(), tcp.destination_port());
    let flags = (tcp.syn(), tcp.fin(), tcp.rst(), tcp.ack());
    black_box((ports, tcp.sequence_number(), tcp.acknowledgment_number(), flags, tcp.payload()));
    true
}
