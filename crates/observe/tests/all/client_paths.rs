//! The network paths to clients: round trips, and how quickly data pass.

use plimsoll_model::ClientPath;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use crate::conversation::observed;

const MS: i64 = 1_000_000;
const MSS: usize = 1_448;

fn paths(traffic: &Traffic) -> Vec<ClientPath> {
    observed(traffic).coverage.client_paths
}

/// Ten reads of 30 segments, captured at the server. Two segments are acknowledged at a time, `each_ns` apart, the first one round trip
/// after it was sent. `handshake`: whether the handshake was captured.
fn reads(round_trip_ns: i64, each_ns: i64, handshake: bool) -> ClientPath {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let [syn, answer, ack] = tcp.handshake();
    if handshake {
        traffic.all([&syn, &answer]);
        traffic.time_ns += round_trip_ns;
        traffic.tcp(&ack);
    }
    for id in 1..=10 {
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(id, smb2::file(1), 30 * MSS as u32).bytes()));
        let segments = tcp.split(Side::Server, &nbss(&smb2::read_answer(id, &vec![7; 30 * MSS]).bytes()), MSS);
        traffic.all(&segments);
        traffic.time_ns += round_trip_ns;
        for pair in segments.chunks(2) {
            let mut ack = tcp.ack(Side::Client);
            ack.ack = pair.last().map_or(0, |last| last.seq.wrapping_add(last.payload.len() as u32));
            traffic.tcp(&ack);
            traffic.time_ns += each_ns;
        }
        // The reader rests.
        traffic.time_ns += 300 * MS;
    }
    let found = paths(&traffic);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

#[test]
fn the_round_trip_is_known_with_and_without_a_handshake() {
    let near = 20 * MS as u64..24 * MS as u64;
    let whole = reads(20 * MS, 0, true);
    let [to_server, to_client] = whole.round_trips;
    assert_eq!((whole.client, whole.connections, whole.handshakes), ([10, 0, 0, 1].into(), 1, 1));
    assert!(to_server.least_ns.is_some_and(|ns| ns < MS as u64), "{to_server:?}");
    assert!(to_client.least_ns.is_some_and(|ns| near.contains(&ns)), "{to_client:?}");
    assert!(to_client.median_ns.is_some_and(|ns| (17 * MS as u64..28 * MS as u64).contains(&ns)), "{to_client:?}");
    let midstream = reads(20 * MS, 0, false).round_trips[1];
    assert!(
        midstream.least_ns.is_some_and(|ns| near.contains(&ns)),
        "two segments acknowledged at once: {midstream:?}"
    );
}

#[test]
fn a_single_segment_may_have_been_acknowledged_late_and_proves_no_round_trip() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    for id in 1..=9 {
        traffic.exchange(&mut tcp, &nbss(&smb2::echo(id).bytes()), &nbss(&smb2::echoed(id).bytes()));
        traffic.time_ns += 40 * MS;
        traffic.tcp(&tcp.ack(Side::Client));
    }
    let to_client = paths(&traffic)[0].round_trips[1];
    assert_eq!(to_client.least_ns, None, "{to_client:?}");
    assert_eq!(to_client.count, 9);
    assert!(to_client.median_ns.is_some_and(|ns| ns > 35 * MS as u64), "{to_client:?}");
}

#[test]
fn acknowledgements_tell_how_quickly_the_path_takes_data() {
    // Two segments in 2 ms: 1,448,000 bytes/s.
    let [requests, responses] = reads(MS, 2 * MS, true).paces;
    assert_eq!(requests.count, 0, "{requests:?}");
    assert!(responses.count >= 100, "{responses:?}");
    let per_s = responses.bytes_per_s().unwrap_or(0.0);
    assert!((1.3e6..1.5e6).contains(&per_s), "{per_s}");
    assert!(responses.spread().is_some_and(|spread| spread < 0.2), "{responses:?}");
    let quick = reads(MS, -60_000, true).paces[1];
    assert!(quick.count <= 10, "acknowledged together: {quick:?}");
}

#[test]
fn what_was_sent_again_is_not_timed() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 4_000).bytes()));
    let segments = tcp.split(Side::Server, &nbss(&smb2::read_answer(1, &[7; 4_000]).bytes()), MSS);
    traffic.all(&segments);
    traffic.time_ns += 300 * MS;
    traffic.tcp(&segments[0]);
    traffic.tcp(&tcp.ack(Side::Client));
    assert_eq!(paths(&traffic)[0].round_trips[1].count, 0, "which of the two was acknowledged?");
}
