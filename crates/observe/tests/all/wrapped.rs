//! Sequence numbers that seem to have wrapped after a minute of silence: a gap of gigabytes in the capture, or one damaged number.

use plimsoll_model::Coverage;
use plimsoll_testkit::{Link, Segment, Side, Tcp, Traffic, nbss, smb2};

use crate::waiting::{MS, coverage};

/// The bit of the server's sequence numbers that damage clears, or that is clear after a gap of 3.75 GiB.
const BIT: u32 = 1 << 28;

fn read(id: u64) -> [Vec<u8>; 2] {
    [smb2::read(id, smb2::file(1), 100), smb2::read_answer(id, &[7; 100])].map(|message| nbss(&message.bytes()))
}

/// A READ, a minute of silence, and the request of a second READ. `then` adds its response, as the server sent it, and what follows.
fn observe(has_wrapped: bool, then: impl Fn(&mut Traffic, &mut Tcp, &Segment)) -> Coverage {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut tcp = Tcp::between_ports(700, 445).starting_at(1_000, BIT);
    let [[first, first_response], [second, second_response]] = [read(1), read(2)];
    traffic.exchange(&mut tcp, &first, &first_response);
    traffic.time_ns += 60_000 * MS;
    if has_wrapped {
        let (client, server) = (tcp.next_seq(Side::Client), tcp.next_seq(Side::Server));
        tcp = tcp.starting_at(client, server - BIT);
    }
    traffic.send(&mut tcp, Side::Client, &second);
    let response = tcp.data(Side::Server, &second_response);
    then(&mut traffic, &mut tcp, &response);
    let coverage = coverage(&traffic);
    let p = &coverage.packets;
    assert_eq!(p.tcp_data + p.ack_only + p.ack_repeated, p.tcp);
    coverage
}

fn damaged(response: &Segment) -> Segment {
    Segment { seq: response.seq - BIT, ..response.clone() }
}

/// Three further READs.
fn continues(traffic: &mut Traffic, tcp: &mut Tcp) {
    (3..6).map(read).for_each(|[request, response]| traffic.exchange(tcp, &request, &response));
}

/// Pairs, requests whose response the capture lacks, missing bytes, and retransmissions.
fn numbers(coverage: &Coverage) -> [u64; 4] {
    let Coverage { unseen, packets, unfinished, .. } = coverage;
    assert_eq!(*unfinished, []);
    [unseen.paired, unseen.requests_after_gap, packets.missing_bytes, packets.retransmitted]
}

#[test]
fn a_segment_with_a_damaged_number_is_a_loss_of_its_own_bytes() {
    let bytes = read(2)[1].len() as u64;
    for copies in [1, 2] {
        let coverage = observe(false, |traffic, tcp, response| {
            (0..copies).for_each(|_| traffic.tcp(&damaged(response)));
            continues(traffic, tcp);
        });
        assert_eq!(numbers(&coverage), [4, 1, bytes, copies - 1]);
        assert!(coverage.unseen.missing.operations <= 2, "{:?}", coverage.unseen.missing);
    }
    let acknowledged = observe(false, |traffic, tcp, response| {
        traffic.tcp(&damaged(response));
        traffic.tcp(&tcp.ack(Side::Client));
    });
    assert_eq!(numbers(&acknowledged), [1, 1, bytes, 0]);
}

#[test]
fn nothing_is_missing_if_a_damaged_segment_comes_again() {
    let coverage = observe(false, |traffic, tcp, response| {
        traffic.tcp(&damaged(response));
        traffic.time_ns += 200 * MS;
        traffic.tcp(response);
        continues(traffic, tcp);
    });
    assert_eq!(numbers(&coverage), [5, 0, 0, 0]);
    let missing = coverage.unseen.missing;
    assert_eq!((missing.operations, missing.high, missing.unknown), (0, 0, 0));
}

#[test]
fn the_first_segment_behind_a_wrap_is_analysed_once_another_one_confirms_it() {
    for copies in [1, 2] {
        let coverage = observe(true, |traffic, tcp, response| {
            (0..copies).for_each(|_| traffic.tcp(response));
            continues(traffic, tcp);
        });
        assert_eq!(numbers(&coverage), [5, 0, 0, copies - 1]);
    }
    let acknowledged = observe(true, |traffic, tcp, response| {
        traffic.tcp(response);
        traffic.tcp(&tcp.ack(Side::Client));
    });
    assert_eq!(numbers(&acknowledged), [2, 0, 0, 0]);
    let in_two_segments = observe(true, |traffic, _, response| {
        let mut first = response.clone();
        let payload = first.payload.split_off(100);
        traffic.all(&[first, Segment { seq: response.seq + 100, payload, ..response.clone() }]);
    });
    assert_eq!(numbers(&in_two_segments), [2, 0, 0, 0]);
}

#[test]
fn a_stray_syn_before_the_wrap_changes_nothing() {
    let coverage = observe(true, |traffic, tcp, response| {
        let (source, destination) = (response.destination, response.source);
        let syn = Segment { source, destination, seq: 1 << 30, ack: 0, flags: 0x02, payload: vec![], ..*response };
        traffic.tcp(&syn);
        traffic.tcp(response);
        continues(traffic, tcp);
    });
    assert_eq!(numbers(&coverage), [5, 0, 0, 0]);
}

/// Nothing decides: the response may be that of the request, or of one in a gap.
#[test]
fn the_last_segment_of_a_capture_does_not_confirm_itself() {
    let at_the_end = [
        observe(true, |traffic, _, response| traffic.tcp(response)),
        observe(false, |traffic, _, response| traffic.tcp(&damaged(response))),
    ];
    assert_eq!(at_the_end.map(|coverage| numbers(&coverage)), [[1, 1, 0, 0]; 2]);
}
