//! Paths with more bytes in flight than a stream usually holds back: a packet that the network lost is not missing in the capture.

use plimsoll_model::{Anomaly, Coverage, Transaction};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use crate::conversation::observe_traffic;
use crate::waiting::{MS, MSS};

/// A READ of 4 MiB, of whose response the tenth segment comes 200 ms after all others; and when it came. The client acknowledges the
/// segments before it, or nothing.
fn resent(acknowledges: bool) -> (Vec<Transaction>, Coverage, i64) {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.step_ns = 1_000;
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 4 << 20).bytes()));
    let response = nbss(&smb2::read_answer(1, &vec![7; 4 << 20]).bytes());
    let mut segments = tcp.split(Side::Server, &response, MSS);
    let lost = segments.remove(9);
    let mut up_to_lost = tcp.ack(Side::Client);
    up_to_lost.ack = lost.seq;
    for piece in segments.chunks(100) {
        traffic.all(piece);
        if acknowledges {
            traffic.tcp(&up_to_lost);
        }
    }
    traffic.time_ns += 200 * MS;
    let came_ns = traffic.time_ns;
    traffic.tcp(&lost);
    traffic.tcp(&tcp.ack(Side::Client));
    let (transactions, coverage) = observe_traffic(&traffic);
    (transactions, coverage, came_ns)
}

#[test]
fn a_response_waits_for_a_segment_that_comes_after_megabytes() {
    let (transactions, coverage, came_ns) = resent(true);
    let found: Vec<_> = transactions.iter().map(|one| (one.id, one.timeline.response_last)).collect();
    assert_eq!(found, [(Some(1), Some(came_ns))]);
    assert!(transactions[0].resent_wait_ns.is_some_and(|ns| ns >= 200 * MS as u64), "{:?}", transactions[0]);
    let counts = [Anomaly::GapFilled, Anomaly::GapUnexplained, Anomaly::GapInCapture, Anomaly::SegmentLate];
    assert_eq!(counts.map(|one| coverage.anomalies.count(one)), [1, 0, 0, 0]);
    assert_eq!((coverage.packets.missing_bytes, coverage.packets.dropped_at_least), (0, 0));
}

/// Without acknowledgements, the capture may have lost the segment: a stream does not wait for it for long.
#[test]
fn a_segment_that_comes_too_late_is_not_missing() {
    let (transactions, coverage, _) = resent(false);
    assert_eq!((transactions.len(), coverage.unseen.paired), (1, 1));
    let counts = [Anomaly::GapFilled, Anomaly::GapUnexplained, Anomaly::GapInCapture, Anomaly::SegmentLate];
    assert_eq!(counts.map(|one| coverage.anomalies.count(one)), [1, 0, 0, 1]);
    assert_eq!((coverage.packets.missing_bytes, coverage.packets.dropped_at_least), (0, 0));
}

/// A connection with 20 READs that stays open: a loss on another connection could hide its end.
fn add_connection_left_open(traffic: &mut Traffic) {
    let mut left = Tcp::between_ports(701, 445);
    traffic.all(&left.handshake());
    for id in 0..20 {
        traffic.send(&mut left, Side::Client, &nbss(&smb2::read(id, smb2::file(1), 512).bytes()));
        traffic.send(&mut left, Side::Server, &nbss(&smb2::read_answer(id, &[7; 512]).bytes()));
    }
    traffic.tcp(&left.ack(Side::Client));
}

/// A connection that is left open, and another one with a READ response of which two segments were captured in the wrong order.
#[test]
fn two_segments_in_the_wrong_order_hide_no_operations() {
    let mut traffic = Traffic::new(Link::Ethernet);
    add_connection_left_open(&mut traffic);
    let mut tcp = Tcp::between_ports(700, 445);
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(0, smb2::file(1), 16_384).bytes()));
    let mut segments = tcp.split(Side::Server, &nbss(&smb2::read_answer(0, &[7; 16_384]).bytes()), MSS);
    segments.swap(4, 5);
    traffic.all(&segments);
    traffic.tcp(&tcp.ack(Side::Client));
    let (transactions, coverage) = observe_traffic(&traffic);
    assert_eq!((transactions.len(), coverage.anomalies.count(Anomaly::GapFilled)), (21, 1));
    let missing = coverage.unseen.missing;
    assert_eq!((missing.operations, missing.high), (0, 0));
}

/// A READ response of which three segments come late and in disorder, after their hole was given up; and a hole of one segment that stays.
#[test]
fn a_hole_that_is_filled_in_disorder_counts_once() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.step_ns = 1_000;
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 4 << 20).bytes()));
    let mut segments = tcp.split(Side::Server, &nbss(&smb2::read_answer(1, &vec![7; 4 << 20]).bytes()), MSS);
    segments.remove(1_000);
    let late: Vec<_> = segments.drain(9..12).collect();
    traffic.all(&segments);
    [1, 0, 2].iter().for_each(|&at: &usize| traffic.tcp(&late[at]));
    let (_, coverage) = observe_traffic(&traffic);
    let counts = [Anomaly::SegmentLate, Anomaly::GapFilled, Anomaly::GapUnexplained];
    assert_eq!(counts.map(|one| coverage.anomalies.count(one)), [3, 1, 1]);
    assert_eq!((coverage.packets.missing_bytes, coverage.packets.dropped_at_least), (MSS as u64, 1));
}

/// Megabytes wait behind a hole of a connection that has no further packets for ten minutes: then the missing bytes come too late.
#[test]
fn a_silent_connection_does_not_wait_for_missing_bytes() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 4 << 20).bytes()));
    let mut segments = tcp.split(Side::Server, &nbss(&smb2::read_answer(1, &vec![7; 4 << 20]).bytes()), MSS);
    let lost = segments.remove(9);
    let mut up_to_lost = tcp.ack(Side::Client);
    up_to_lost.ack = lost.seq;
    for piece in segments.chunks(100) {
        traffic.all(piece);
        traffic.tcp(&up_to_lost);
    }
    let mut others = [701, 702].map(|port| Tcp::between_ports(port, 445));
    for id in 0..60 {
        for other in &mut others {
            traffic.exchange(other, &nbss(&smb2::echo(id).bytes()), &nbss(&smb2::echoed(id).bytes()));
        }
        traffic.time_ns += 10_000 * MS;
    }
    traffic.tcp(&lost);
    let (transactions, coverage) = observe_traffic(&traffic);
    assert_eq!((transactions.len(), coverage.anomalies.count(Anomaly::SegmentLate)), (121, 1));
}

/// The same with a READ response of which a segment came after its hole was given up.
#[test]
fn a_segment_that_comes_too_late_hides_no_operations() {
    let mut traffic = Traffic::new(Link::Ethernet);
    add_connection_left_open(&mut traffic);
    let mut tcp = Tcp::between_ports(700, 445);
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(0, smb2::file(1), 4 << 20).bytes()));
    let mut segments = tcp.split(Side::Server, &nbss(&smb2::read_answer(0, &vec![7; 4 << 20]).bytes()), MSS);
    let late = segments.remove(4);
    traffic.all(&segments);
    traffic.tcp(&late);
    traffic.tcp(&tcp.ack(Side::Client));
    let (transactions, coverage) = observe_traffic(&traffic);
    assert_eq!((transactions.len(), coverage.anomalies.count(Anomaly::SegmentLate)), (21, 1));
    let missing = coverage.unseen.missing;
    assert_eq!((missing.operations, missing.high), (0, 0));
}

/// The capture begins while one side sends a message: its first packet is an acknowledgement, and some segments have just passed.
#[test]
fn segments_that_passed_before_the_capture_are_not_missing() {
    for from in [Side::Client, Side::Server] {
        let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
        let message = match from {
            Side::Client => smb2::write(1, smb2::file(1), &[7; 30_000]),
            Side::Server => smb2::read_answer(1, &[7; 30_000]),
        };
        let segments = tcp.split(from, &nbss(&message.bytes()), MSS);
        let mut acknowledgement = tcp.ack(from.other());
        acknowledgement.ack = segments[4].seq;
        traffic.tcp(&acknowledgement);
        traffic.all(&segments[12..]);
        traffic.tcp(&tcp.ack(from.other()));
        let read = smb2::read(2, smb2::file(1), 100);
        traffic.exchange(&mut tcp, &nbss(&read.bytes()), &nbss(&smb2::read_answer(2, &[7; 100]).bytes()));
        let (transactions, coverage) = observe_traffic(&traffic);
        assert_eq!((transactions.len(), coverage.packets.missing_bytes), (1, 0), "{from:?}");
        assert_eq!(coverage.anomalies.count(Anomaly::GapInCapture), 0, "{from:?}");
    }
}
