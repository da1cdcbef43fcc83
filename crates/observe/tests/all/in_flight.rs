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
