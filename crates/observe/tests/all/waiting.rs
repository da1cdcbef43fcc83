//! What TCP's headers tell of waiting.

use plimsoll_model::Coverage;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use crate::conversation::observed;

pub(crate) const MS: i64 = 1_000_000;
pub(crate) const MSS: usize = 1_448;

pub(crate) fn coverage(traffic: &Traffic) -> Coverage {
    observed(traffic).coverage
}

/// Six reads of 3,000 bytes. The server sends the last segment of each `goes_on_ns` after the other segments were acknowledged.
fn last_segment_after(acknowledged_ns: i64, goes_on_ns: i64) -> Coverage {
    last_segment_from((0, 0), acknowledged_ns, goes_on_ns)
}

/// The same after a handshake with these round trips from the capture to the server and to the client.
fn last_segment_from((to_server_ns, to_client_ns): (i64, i64), acknowledged_ns: i64, goes_on_ns: i64) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    for (segment, passes_ns) in tcp.handshake().into_iter().zip([to_server_ns, to_client_ns, 0]) {
        traffic.tcp(&segment);
        traffic.time_ns += passes_ns;
    }
    for id in 1..=6 {
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(id, smb2::file(1), 3_000).bytes()));
        let answer = nbss(&smb2::read_answer(id, &[7; 3_000]).bytes());
        let (first, last) = answer.split_at(2 * MSS);
        let segments = tcp.split(Side::Server, first, MSS);
        traffic.all(&segments);
        traffic.time_ns += acknowledged_ns;
        traffic.tcp(&tcp.ack(Side::Client));
        traffic.time_ns += goes_on_ns;
        traffic.tcp(&tcp.data(Side::Server, last));
        traffic.tcp(&tcp.ack(Side::Client));
        traffic.time_ns += 60 * MS;
    }
    coverage(&traffic)
}

#[test]
fn a_delayed_acknowledgement_is_one_for_which_the_rest_of_a_message_waits() {
    let delayed = last_segment_after(40 * MS, 0).network;
    assert_eq!(delayed.delayed_acks, [0, 6]);
    assert!((240 * MS as u64..245 * MS as u64).contains(&delayed.delayed_ack_ns[1]), "{delayed:?}");
    assert_eq!(last_segment_after(MS, 0).network.delayed_acks, [0, 0], "acknowledged at once");
    assert_eq!(last_segment_after(40 * MS, 20 * MS).network.delayed_acks, [0, 0], "the rest waited for something else");
}

#[test]
fn an_acknowledgement_that_comes_after_a_round_trip_is_not_delayed() {
    let far = |acknowledged_ns: i64| last_segment_from((0, 60 * MS), acknowledged_ns, 0).network;
    assert_eq!(far(60 * MS).delayed_acks, [0, 0], "the path to the client takes 60 ms");
    assert_eq!(far(90 * MS).delayed_acks, [0, 0], "30 ms later than the path explains");
    let delayed = far(100 * MS);
    assert_eq!(delayed.delayed_acks, [0, 6]);
    assert!((238 * MS as u64..245 * MS as u64).contains(&delayed.delayed_ack_ns[1]), "40 ms each: {delayed:?}");
    let behind_the_server = last_segment_from((60 * MS, 0), 60 * MS, 0).network;
    assert_eq!(behind_the_server.delayed_acks, [0, 6], "the client, which acknowledges, is near");
}

#[test]
fn a_closed_window_counts_where_the_sender_goes_on_when_it_opens() {
    let closed = |goes_on_ns: i64| {
        let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 3_000).bytes()));
        let answer = nbss(&smb2::read_answer(1, &[7; 3_000]).bytes());
        let (first, last) = answer.split_at(2 * MSS);
        traffic.tcp(&tcp.data(Side::Server, first));
        let mut full = tcp.ack(Side::Client);
        full.window = 0;
        traffic.tcp(&full);
        traffic.time_ns += 30 * MS;
        traffic.tcp(&tcp.ack(Side::Client));
        traffic.time_ns += goes_on_ns;
        traffic.tcp(&tcp.data(Side::Server, last));
        coverage(&traffic).network
    };
    let waited = closed(0);
    assert_eq!(waited.zero_windows, [0, 1]);
    assert!((30 * MS as u64..31 * MS as u64).contains(&waited.zero_window_ns[1]), "{waited:?}");
    assert_eq!(waited.slow_reader.map(|(_, closed_ns)| closed_ns), Some(waited.zero_window_ns[1]));
    assert_eq!(closed(50 * MS).zero_windows, [0, 0], "the server had nothing to send");
}

#[test]
fn a_sender_inside_a_message_waits_from_its_last_segment_on() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 3_000).bytes()));
    let answer = nbss(&smb2::read_answer(1, &[7; 3_000]).bytes());
    let (first, last) = answer.split_at(2 * MSS);
    traffic.tcp(&tcp.data(Side::Server, first));
    // The window was full before the reader had taken nothing of it and said so.
    traffic.time_ns += 40 * MS;
    let mut full = tcp.ack(Side::Client);
    full.window = 0;
    traffic.tcp(&full);
    traffic.time_ns += 30 * MS;
    traffic.tcp(&tcp.ack(Side::Client));
    traffic.tcp(&tcp.data(Side::Server, last));
    let waited_ns = coverage(&traffic).network.zero_window_ns[1];
    assert!((70 * MS as u64..71 * MS as u64).contains(&waited_ns), "{waited_ns}");
}

#[test]
fn a_window_that_is_never_opened_counts_as_long_as_its_receiver_says_that_it_is_closed() {
    let closed = |probes: i64| {
        let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 3_000).bytes()));
        let answer = nbss(&smb2::read_answer(1, &[7; 3_000]).bytes());
        traffic.tcp(&tcp.data(Side::Server, &answer[..2 * MSS]));
        for _ in 0..=probes {
            let mut full = tcp.ack(Side::Client);
            full.window = 0;
            traffic.tcp(&full);
            traffic.time_ns += 400 * MS;
        }
        coverage(&traffic).network
    };
    let waited = closed(5);
    assert_eq!(waited.zero_windows, [0, 1]);
    assert!((2_000 * MS as u64..2_010 * MS as u64).contains(&waited.zero_window_ns[1]), "{waited:?}");
    assert_eq!(closed(0).zero_windows, [0, 0], "nobody knows how long");
}

/// Some systems send the next byte as a probe. The receiver has no room for it, and gets it once more with what follows.
#[test]
fn the_byte_of_a_window_probe_is_not_retransmitted() {
    let behind_probe = |probed: usize| {
        let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 3_000).bytes()));
        let answer = nbss(&smb2::read_answer(1, &[7; 3_000]).bytes());
        let (first, last) = answer.split_at(2 * MSS);
        traffic.tcp(&tcp.data(Side::Server, first));
        let opens = tcp.ack(Side::Client);
        let mut full = opens.clone();
        full.window = 0;
        traffic.tcp(&full);
        let mut probe = tcp.data(Side::Server, &last[..probed]);
        for _ in 0..3 {
            traffic.time_ns += 400 * MS;
            traffic.all([&probe, &full]);
        }
        traffic.tcp(&opens);
        probe.payload = last.to_vec();
        traffic.tcp(&probe);
        coverage(&traffic)
    };
    let coverage = behind_probe(1);
    assert_eq!((coverage.network.resent_segments, coverage.packets.retransmitted), ([0, 0], 0));
    assert_eq!((coverage.network.zero_windows, coverage.unseen.paired), ([0, 1], 1));
    assert_eq!(behind_probe(2).network.resent_segments, [0, 3], "two bytes are no probe");
}

/// A connection captured from its middle, `late_ns` after the capture's beginning, with an answer to a request that was not captured.
fn begun_after(late_ns: i64) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 100).bytes()));
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::read_answer(1, &[7; 100]).bytes()));
    traffic.time_ns += late_ns;
    let mut other = Tcp::between_ports(701, 445);
    traffic.send(&mut other, Side::Server, &nbss(&smb2::read_answer(8, &[7; 100]).bytes()));
    traffic.send(&mut other, Side::Client, &nbss(&smb2::read(9, smb2::file(1), 100).bytes()));
    traffic.send(&mut other, Side::Server, &nbss(&smb2::read_answer(9, &[7; 100]).bytes()));
    coverage(&traffic)
}

#[test]
fn what_comes_late_is_not_excused_by_the_beginning_of_the_capture() {
    let early = begun_after(10 * MS).unseen;
    assert_eq!((early.responses_before_start, early.responses_unexplained), (1, 0));
    let late = begun_after(5_000 * MS).unseen;
    assert_eq!((late.responses_before_start, late.responses_unexplained), (0, 1));
    assert_eq!((late.missing.low, late.missing.operations), (0, 1), "it may still be from before the capture");
    assert_eq!((early.missing.unknown, late.missing.unknown), (0, 1), "how many others were lost with it nobody knows");
}

/// A read of three segments over a round trip of 20 ms, captured beside the server; a copy of the segment `at` comes `again_ns` after the
/// last segment.
fn retransmitted(at: usize, again_ns: i64, acknowledged: bool) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let [syn, answer, ack] = tcp.handshake();
    traffic.all([&syn, &answer]);
    traffic.time_ns += 20 * MS;
    traffic.tcp(&ack);
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(1, smb2::file(1), 4_000).bytes()));
    let segments = tcp.split(Side::Server, &nbss(&smb2::read_answer(1, &[7; 4_000]).bytes()), MSS);
    traffic.all(&segments);
    if acknowledged {
        traffic.tcp(&tcp.ack(Side::Client));
    }
    traffic.time_ns += again_ns;
    traffic.tcp(&segments[at]);
    traffic.tcp(&segments[at]);
    coverage(&traffic)
}

/// A write of four segments over a round trip of 20 ms, captured beside the server; the second segment comes last, `late_ns` after the
/// third.
fn overtaken(late_ns: i64) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let [syn, answer, ack] = tcp.handshake();
    traffic.all([&syn, &answer]);
    traffic.time_ns += 20 * MS;
    traffic.tcp(&ack);
    let segments = tcp.split(Side::Client, &nbss(&smb2::write(1, smb2::file(1), &[7; 4_000]).bytes()), MSS);
    traffic.all([&segments[0], &segments[2]]);
    traffic.time_ns += late_ns;
    traffic.tcp(&segments[1]);
    traffic.all(&segments[3..]);
    coverage(&traffic)
}

#[test]
fn a_segment_that_comes_after_a_later_one_within_a_round_trip_was_overtaken() {
    let quick = overtaken(9 * MS);
    assert_eq!((quick.network.reordered_segments, quick.network.resent_segments), ([1, 0], [0, 0]));
    assert_eq!(quick.client_paths[0].reordered_segments, [1, 0]);
    assert_eq!(overtaken(21 * MS).network.reordered_segments, [0, 0], "it may have been sent again");
}

#[test]
fn segments_lost_behind_the_capture_delay_by_a_round_trip_or_a_timeout() {
    let quick = retransmitted(0, MS, false).network;
    assert_eq!((quick.data_segments, quick.resent_segments), ([1, 4 + 1], [0, 2]), "{quick:?}");
    let round_trip = 20 * MS as u64..=21 * MS as u64;
    assert!(round_trip.contains(&quick.resent_wait_ns[1]), "the two at one time count once: {quick:?}");
    let late = retransmitted(2, 200 * MS, false).network;
    assert!((200 * MS as u64..=201 * MS as u64).contains(&late.resent_wait_ns[1]), "{late:?}");
    assert_eq!((late.most_resent.lead, late.most_resent.client), (2, Some([10, 0, 0, 1].into())));
    let copy = retransmitted(2, 0, false).network;
    assert!(copy.resent_wait_ns[1] < MS as u64, "the newest segment again at once is no loss: {copy:?}");
    let unneeded = retransmitted(0, 200 * MS, true);
    assert_eq!((unneeded.network.resent_segments, unneeded.network.resent_wait_ns), ([0, 0], [0, 0]));
    assert_eq!(unneeded.packets.retransmitted, 2);
}

#[test]
fn the_handshake_tells_the_round_trip_to_both_ends() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let [syn, answer, ack] = tcp.handshake();
    traffic.tcp(&syn);
    traffic.time_ns += 12 * MS;
    traffic.tcp(&answer);
    traffic.tcp(&ack);
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
    let network = coverage(&traffic).network;
    assert_eq!(network.handshakes, 1);
    assert_eq!((network.to_server_ns, network.to_client_ns), (Some(12_100_000), Some(100_000)));

    let (mut again, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let [syn, answer, ack] = tcp.handshake();
    again.all([&syn, &syn, &answer, &ack]);
    again.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
    assert_eq!(coverage(&again).network.to_server_ns, None, "which of the two was answered?");
}

/// The handshake's packets, in which `again` comes a second time after so long, and then a request with its response.
fn handshake(again: usize, again_ns: i64) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let packets = tcp.handshake();
    for (at, packet) in packets.iter().enumerate() {
        traffic.tcp(packet);
        if at == again {
            traffic.time_ns += again_ns;
            traffic.tcp(packet);
        }
    }
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
    coverage(&traffic)
}

#[test]
fn a_handshake_is_late_if_its_packets_are_sent_again() {
    for again in [0, 1] {
        let late = handshake(again, 1_000 * MS);
        assert_eq!(late.network.late_handshakes, 1, "packet {again}");
        let took = late.network.late_handshake_ns;
        assert!((1_000 * MS as u64..1_001 * MS as u64).contains(&took), "packet {again}: {took} ns");
        let [path] = &late.client_paths[..] else { panic!("one client") };
        assert_eq!((path.late_handshakes, path.late_handshake_ns), (1, took));
    }
    for (again, again_ns) in [(2, 1_000 * MS), (0, MS), (1, MS)] {
        let coverage = handshake(again, again_ns);
        assert_eq!(coverage.network.late_handshakes, 0, "packet {again} after {again_ns} ns");
    }
}

/// Reads of 9,000 bytes by a client whose window has room for two segments: after each two the server waits for so long.
fn two_segments_at_a_time(window: u16, acknowledged_ns: i64, goes_on_ns: i64) -> Coverage {
    // Sequence numbers begin anywhere.
    let mut tcp = Tcp::between_ports(700, 445).starting_at(1_000, 3_000_000_000);
    let mut traffic = Traffic::new(Link::Ethernet);
    let narrow = |mut segment: plimsoll_testkit::Segment| {
        segment.window = window;
        segment
    };
    tcp.handshake().into_iter().for_each(|segment| traffic.tcp(&narrow(segment)));
    for id in 1..=3 {
        let request = nbss(&smb2::read(id, smb2::file(1), 9_000).bytes());
        traffic.tcp(&narrow(tcp.data(Side::Client, &request)));
        for pair in tcp.split(Side::Server, &nbss(&smb2::read_answer(id, &[7; 9_000]).bytes()), MSS).chunks(2) {
            traffic.all(pair);
            traffic.time_ns += acknowledged_ns;
            let mut ack = narrow(tcp.ack(Side::Client));
            ack.ack = pair.last().map_or(0, |last| last.seq.wrapping_add(last.payload.len() as u32));
            traffic.tcp(&ack);
            traffic.time_ns += goes_on_ns;
        }
    }
    coverage(&traffic)
}

#[test]
fn a_window_is_too_small_that_is_full_until_an_acknowledgement_comes() {
    let room = 2 * MSS as u16 + 500;
    let small = two_segments_at_a_time(room, 30 * MS, 0).network;
    // Seven segments a read: four pairs, behind the last of which nothing waits.
    assert_eq!(small.small_windows, [0, 9], "{small:?}");
    assert!((270 * MS as u64..271 * MS as u64).contains(&small.small_window_ns[1]), "{small:?}");
    let most = small.smallest_window[1].expect("a window");
    assert_eq!((most.client, most.bytes, most.waits), ([10, 0, 0, 1].into(), u32::from(room), 9));
    for (network, why) in [
        (two_segments_at_a_time(0xffff, 30 * MS, 0), "there is room"),
        (two_segments_at_a_time(room, MS / 2, 0), "acknowledged at once"),
        (two_segments_at_a_time(room, 30 * MS, 20 * MS), "the server waited for something else"),
    ] {
        assert_eq!(network.network.small_windows, [0, 0], "{why}");
    }
}
