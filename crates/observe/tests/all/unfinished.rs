//! Requests and connections to which the server does not respond, and sessions without a free slot.

use plimsoll_model::{Coverage, WaitEnd};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, rpc, smb1, smb2};

use crate::waiting::{MS, coverage};

/// A request with a response, one without, and then the end of the connection, or of the capture.
fn ended(by: Option<(Side, bool)>) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(2, smb2::file(1), 3_000).bytes()));
    traffic.time_ns += 100 * MS;
    match by {
        Some((side, true)) => traffic.tcp(&tcp.rst(side)),
        Some((side, false)) => traffic.tcp(&tcp.fin(side)),
        None => {}
    }
    coverage(&traffic)
}

#[test]
fn a_request_without_a_response_is_noted_with_the_end_that_ended_its_connection() {
    let ends = [
        (Some((Side::Server, false)), WaitEnd::Server),
        (Some((Side::Server, true)), WaitEnd::Server),
        (Some((Side::Client, false)), WaitEnd::Client),
        (None, WaitEnd::Capture),
    ];
    for (by, end) in ends {
        let coverage = ended(by);
        let [one] = coverage.unfinished[..] else { panic!("{by:?}: {:?}", coverage.unfinished) };
        assert_eq!((one.end, one.requests, one.procedure.row().name), (end, 1, "READ"), "{by:?}");
        assert_eq!(Some(one.end_ns), coverage.last_ns, "{by:?}");
        assert!(end == WaitEnd::Capture || one.end_ns - one.first_ns >= 100 * MS, "{by:?}");
    }
}

/// Without this, the capture may lack what the server sends.
#[test]
fn a_request_without_a_response_is_noted_with_its_acknowledgement() {
    let is_acknowledged = |by_server: bool| {
        let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
        traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(2, smb2::file(1), 3_000).bytes()));
        if by_server {
            traffic.tcp(&tcp.ack(Side::Server));
        }
        traffic.time_ns += 100 * MS;
        traffic.tcp(&tcp.fin(Side::Client));
        let [one] = coverage(&traffic).unfinished[..] else { panic!("one connection") };
        one.is_acknowledged
    };
    assert_eq!([true, false].map(is_acknowledged), [true, false]);
}

#[test]
fn a_request_whose_response_may_be_lost_or_that_ends_a_session_is_not_noted() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(2, smb2::file(1), 3_000).bytes()));
    // The capture lacks this one.
    tcp.data(Side::Server, &nbss(&smb2::read_answer(2, &[7; 100]).bytes()));
    traffic.tcp(&tcp.ack(Side::Client));
    traffic.tcp(&tcp.fin(Side::Server));
    assert_eq!(coverage(&traffic).unfinished, []);
}

/// Between two files of a capture, the server sends 3.5 GiB: its sequence numbers seem to be far behind those before.
#[test]
fn a_response_may_be_lost_where_sequence_numbers_come_round() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let read = |id| nbss(&smb2::read(id, smb2::file(1), 100).bytes());
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
    traffic.send(&mut tcp, Side::Client, &read(2));
    traffic.time_ns += 60_000 * MS;
    let (client, server) = (tcp.next_seq(Side::Client), tcp.next_seq(Side::Server));
    let mut tcp = tcp.starting_at(client.wrapping_add(500_000), server.wrapping_sub(1 << 29));
    for id in 5_000..5_005 {
        traffic.exchange(&mut tcp, &read(id), &nbss(&smb2::read_answer(id, &[7; 100]).bytes()));
    }
    let Coverage { unfinished, unseen, packets, .. } = coverage(&traffic);
    assert_eq!((unfinished.len(), packets.retransmitted), (0, 0));
    assert_eq!((unseen.paired, unseen.requests_after_gap), (6, 1));
    assert!(unseen.missing.operations > 1_000, "the client's 500,000 bytes: {:?}", unseen.missing);
}

/// A READ, before and after which the server sends a message.
fn read_between(before: Option<&[u8]>, after: Option<&[u8]>) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
    before.into_iter().for_each(|message| traffic.send(&mut tcp, Side::Server, &nbss(message)));
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(2, smb2::file(1), 3_000).bytes()));
    after.into_iter().for_each(|message| traffic.send(&mut tcp, Side::Server, &nbss(message)));
    traffic.time_ns += 100 * MS;
    traffic.tcp(&tcp.fin(Side::Client));
    coverage(&traffic)
}

#[test]
fn a_message_that_cannot_be_read_may_be_the_response() {
    let of_kind = |magic: &[u8]| [magic, &[0; 100]].concat();
    let mut damaged = smb2::echoed(9).bytes();
    damaged[20] = 8;
    let unreadable =
        [("compressed", of_kind(b"\xfcSMB")), ("encrypted", of_kind(b"\xfdSMB")), ("an impossible compound", damaged)];
    for (what, message) in &unreadable {
        assert_eq!(read_between(None, Some(message)).unfinished, [], "{what}");
        assert_eq!(read_between(Some(message), None).unfinished.len(), 1, "{what}, before the request");
    }
    assert_eq!(read_between(None, Some(&smb2::echoed(9).bytes())).unfinished.len(), 1, "another response");
}

/// The last response of the server, some time after its first one, to which the packets after that led; `None` if it is the first one.
fn last_response(port: u16, then: impl Fn(&mut Traffic, &mut Tcp)) -> Option<i64> {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, port));
    if port == 445 {
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::create(1, "a").bytes()));
        traffic.send(&mut tcp, Side::Server, &nbss(&smb2::created(1, smb2::file(1)).bytes()));
    } else {
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(1, b"root")));
        traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(1, &rpc::words(&[0]))));
    }
    traffic.time_ns += 100 * MS;
    let from_ns = traffic.time_ns;
    then(&mut traffic, &mut tcp);
    let coverage = coverage(&traffic);
    let [(server, ns)] = coverage.last_responses.unwrap()[..] else { panic!("one server") };
    assert_eq!(server.port, port);
    (ns >= from_ns).then_some(ns - from_ns)
}

#[test]
fn each_message_that_may_be_a_response_shows_that_its_server_is_there() {
    let message = |bytes: Vec<u8>| last_response(445, |traffic, tcp| traffic.send(tcp, Side::Server, &nbss(&bytes)));
    let of_kind = |magic: &[u8]| [magic, &[0; 100]].concat();
    assert_eq!(message(of_kind(b"\xfdSMB")), Some(0), "encrypted");
    assert_eq!(message(of_kind(b"\xfcSMB")), Some(0), "compressed");
    assert_eq!(message(smb2::echoed(9).bytes()), Some(0), "without a request");
    let interim = smb2::response(smb2::command::READ, 9, smb2::PENDING).asynchronous(7);
    assert_eq!(message(interim.body(&[9, 0, 0, 0, 0, 0, 0, 0, 0]).bytes()), Some(0), "interim");
    let notification = smb2::response(18, u64::MAX, 0).body(&[24; 24]);
    assert_eq!(message(notification.bytes()), None, "a lease is broken");
    let asked = |bytes: Vec<u8>| last_response(445, |traffic, tcp| traffic.send(tcp, Side::Client, &nbss(&bytes)));
    assert_eq!((asked(smb2::echo(9).bytes()), asked(of_kind(b"\xfdSMB"))), (None, None), "requests");
    let orphan = rpc::record(&rpc::reply(9, &rpc::words(&[0])));
    assert_eq!(last_response(2049, |traffic, tcp| traffic.send(tcp, Side::Server, &orphan)), Some(0));
    assert_eq!(last_response(2049, |traffic, tcp| traffic.tcp(&tcp.ack(Side::Server))), None, "TCP alone");
}

/// A server hangs for 20 s from a READ on. Its client closes the connection after 10 s, or waits, and another client works before the hang
/// and after it. When the server last responded before the end of the wait, in seconds from the READ on.
fn responded_during_the_wait(client_gives_up: bool) -> i64 {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let mut other = Tcp::between_ports(701, 445);
    let mut works = |traffic: &mut Traffic, id: u64| {
        traffic.exchange(&mut other, &nbss(&smb2::echo(id).bytes()), &nbss(&smb2::echoed(id).bytes()));
    };
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
    let sent_ns = traffic.time_ns;
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(2, smb2::file(1), 3_000).bytes()));
    traffic.time_ns += 2_000 * MS;
    works(&mut traffic, 1);
    traffic.time_ns += 8_000 * MS;
    if client_gives_up {
        traffic.tcp(&tcp.rst(Side::Client));
    }
    traffic.time_ns += 10_000 * MS;
    works(&mut traffic, 2);
    let [one] = coverage(&traffic).unfinished[..] else { panic!("one request") };
    assert_eq!(one.end, if client_gives_up { WaitEnd::Client } else { WaitEnd::Capture });
    (one.responded_ns.unwrap() - sent_ns) / (1_000 * MS)
}

#[test]
fn the_last_response_before_the_end_of_a_wait_is_noted() {
    assert_eq!([true, false].map(responded_during_the_wait), [2, 20]);
}

#[test]
fn tls_records_of_the_server_show_that_it_is_there() {
    let record = |kind: u8| [&[kind, 3, 3, 0, 100][..], &[7; 100]].concat();
    let records = |from: Side| {
        let mut traffic = Traffic::new(Link::Ethernet);
        let mut tcp = Tcp::between_ports(700, 2049);
        traffic.all(&tcp.handshake());
        (0..8).for_each(|_| traffic.send(&mut tcp, from, &record(23)));
        coverage(&traffic).last_responses.unwrap().len()
    };
    assert_eq!((records(Side::Server), records(Side::Client)), (1, 0));
}

/// A READ without a response on a connection that is no longer followed, because another one begins between the same ends. The capture
/// goes on for a minute.
#[test]
fn a_request_of_a_connection_that_another_one_replaces_is_not_noted() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let mut again = Tcp::between_ports(700, 445).starting_at(9_000_000, 8_000_000);
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(2, smb2::file(1), 3_000).bytes()));
    traffic.time_ns += 1_000 * MS;
    traffic.all(&again.handshake());
    for id in [1, 2] {
        traffic.exchange(&mut again, &nbss(&smb2::echo(id).bytes()), &nbss(&smb2::echoed(id).bytes()));
        traffic.time_ns += 60_000 * MS;
    }
    assert_eq!(coverage(&traffic).unfinished, []);
}

/// A CREATE with an interim response, whose client closes the connection a second later. The capture goes on for two minutes.
#[test]
fn a_request_with_an_interim_response_does_not_wait_longer_than_its_connection() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::create(1, "a").bytes()));
    let interim = smb2::response(smb2::command::CREATE, 1, smb2::PENDING).asynchronous(7);
    traffic.send(&mut tcp, Side::Server, &nbss(&interim.body(&[9, 0, 0, 0, 0, 0, 0, 0, 0]).bytes()));
    traffic.time_ns += 1_000 * MS;
    traffic.all(&[tcp.fin(Side::Client), tcp.fin(Side::Server), tcp.ack(Side::Client)]);
    for port in 701..=704 {
        let mut other = Tcp::between_ports(port, 445);
        traffic.exchange(&mut other, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
        traffic.time_ns += 40_000 * MS;
    }
    assert_eq!(coverage(&traffic).unfinished, []);
}

/// A client opens a file again, for which the server breaks the client's own oplock (SMB1); the number of connections that wait for the
/// server after 10 s.
fn waiting_in_smb1(acknowledges: bool) -> usize {
    const CREATE: u8 = 0x03;
    const LOCKING_ANDX: u8 = 0x24;
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let create = |mid| nbss(&smb1::request(CREATE, 300, mid).words(&[0, 0, 0]).data(b"\x04file\0").bytes());
    traffic.exchange(&mut tcp, &create(1), &nbss(&smb1::response(CREATE, 300, 1).words(&[7]).bytes()));
    traffic.send(&mut tcp, Side::Client, &create(2));
    let locking = |pid, mid| {
        let words = [0xff, 0, 7, 0x0102, 0, 0, 0, 0];
        nbss(&smb1::request(LOCKING_ANDX, pid, mid).words(&words).bytes())
    };
    traffic.send(&mut tcp, Side::Server, &locking(0xffff, 0xffff));
    if acknowledges {
        traffic.send(&mut tcp, Side::Client, &locking(300, 3));
    }
    traffic.time_ns += 10_000 * MS;
    traffic.tcp(&tcp.ack(Side::Client));
    coverage(&traffic).unfinished.len()
}

#[test]
fn a_request_that_waits_until_its_client_gives_up_an_oplock_does_not_wait_for_the_server() {
    assert_eq!(waiting_in_smb1(false), 0);
    assert_eq!(waiting_in_smb1(true), 1);
}

/// An SMB1 request that was captured after its response (two clocks) has one.
#[test]
fn a_request_that_was_captured_after_its_response_is_not_noted() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let message = |of: fn(u8, u16, u16) -> smb1::Message, mid| nbss(&of(smb1::ECHO, 300, mid).words(&[1]).bytes());
    for mid in 1..=3 {
        traffic.exchange(&mut tcp, &message(smb1::request, mid), &message(smb1::response, mid));
    }
    let late = tcp.data(Side::Client, &message(smb1::request, 4));
    traffic.send(&mut tcp, Side::Server, &message(smb1::response, 4));
    traffic.tcp(&late);
    let coverage = coverage(&traffic);
    assert_eq!((coverage.late_requests.count, coverage.unfinished), (1, vec![]));
}

/// The SYN of a connection to a port, sent again or not, and refused or not.
fn syn(port: u16, is_again: bool, is_refused: bool) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, port));
    let [syn, ..] = tcp.handshake();
    traffic.tcp(&syn);
    if is_again {
        traffic.time_ns += 1_000 * MS;
        traffic.tcp(&syn);
    }
    if is_refused {
        traffic.tcp(&tcp.rst(Side::Server));
    }
    coverage(&traffic)
}

#[test]
fn a_connection_is_not_opened_whose_syn_is_refused_or_sent_again() {
    for (is_again, is_refused) in [(true, false), (false, true)] {
        let coverage = syn(445, is_again, is_refused);
        let [one] = coverage.unopened[..] else { panic!("{:?}", coverage.unopened) };
        assert_eq!((one.server.port, one.refused, one.unanswered), (445, u64::from(is_refused), u64::from(is_again)));
        assert_eq!(one.wait_ns >= 1_000 * MS as u64, is_again);
    }
    assert_eq!(syn(445, false, false).unopened, [], "the capture may end before the answer");
    assert_eq!(syn(8_080, false, true).unopened, [], "no file server");
}

#[test]
fn a_connection_that_was_opened_is_none_that_was_not() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let [syn, answer, ack] = tcp.handshake();
    traffic.tcp(&syn);
    traffic.time_ns += 1_000 * MS;
    traffic.all([&syn, &answer, &ack]);
    traffic.tcp(&tcp.rst(Side::Server));
    assert_eq!(coverage(&traffic).unopened, []);
}
