//! Headers inside messages that the capture lacks: in a hole, or cut off by the snap length.

use plimsoll_model::Anomaly;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, rpc, smb2};

use crate::conversation::observe_traffic;

#[test]
fn the_snap_length_does_not_cut_off_a_header_in_a_hole() {
    // The response lacks a segment in its middle, or its last one.
    for lost in [20, 41] {
        let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
        traffic.all(&tcp.handshake());
        let reads = [1, 2].map(|id| smb2::read(id, smb2::file(1), 60_000));
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::compound(&reads)));
        let responses = [smb2::read_answer(1, &vec![7; 59_600]), smb2::read_answer(2, &[7; 100])];
        let mut segments = tcp.split(Side::Server, &nbss(&smb2::compound(&responses)), 1_448);
        assert_eq!(segments.len(), 42);
        segments.remove(lost);
        traffic.all(&segments);
        traffic.tcp(&tcp.ack(Side::Client));
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::echo(3).bytes()));
        traffic.send(&mut tcp, Side::Server, &nbss(&smb2::echoed(3).bytes()));
        let (_, coverage) = observe_traffic(&traffic);
        let unseen = coverage.unseen;
        assert_eq!(coverage.anomalies.count(Anomaly::HeaderCutShort), 0, "{lost}");
        let counts = (unseen.paired, unseen.requests_after_gap, unseen.requests_after_cut);
        assert_eq!(counts, (2, 1, 0), "{lost}: {unseen:?}");
    }
}

/// As libtirpc sends them. The snap length cuts off the record marks of all fragments but the first.
#[test]
fn a_reply_whose_second_record_mark_was_cut_off_ends_its_call() {
    const CALLS: u32 = 20;
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 2049));
    traffic.snaplen = 256;
    traffic.all(&tcp.handshake());
    for xid in 1..=CALLS {
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::read(xid, &[8; 32], 32_768)));
        let reply = rpc::read_reply(xid, &vec![7; 32_768]);
        traffic.send(&mut tcp, Side::Server, &rpc::record_in_fragments(&reply, 8_800));
        traffic.tcp(&tcp.ack(Side::Client));
    }
    let (rows, coverage) = observe_traffic(&traffic);
    assert_eq!((rows.len(), coverage.unseen.paired), (CALLS as usize, u64::from(CALLS)), "{:?}", coverage.unseen);
    assert!(rows.iter().all(|row| row.timeline.response_first.is_some() && row.timeline.response_last.is_none()));
}
