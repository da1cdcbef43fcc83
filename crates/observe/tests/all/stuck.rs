//! Repeatedly retransmitted segments, and acknowledgements meanwhile.

use plimsoll_model::{ClientPath, Stuck};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use super::waiting::{MS, MSS, coverage};

/// A response of 3,000 bytes whose first segment the server sends `copies` times, at growing intervals. The client acknowledges the
/// responses before it, and sends further requests if `asks`. `last` sends the last copy.
fn sent_again(copies: u32, asks: bool, last: impl Fn(&mut Traffic, &mut Tcp)) -> [Stuck; 2] {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    for id in 1..=3 {
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(id, smb2::file(1), 100).bytes()));
        traffic.send(&mut tcp, Side::Server, &nbss(&smb2::read_answer(id, &[7; 100]).bytes()));
        traffic.tcp(&tcp.ack(Side::Client));
    }
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(4, smb2::file(1), 3_000).bytes()));
    let acknowledges = tcp.ack(Side::Client);
    let answer = nbss(&smb2::read_answer(4, &[7; 3_000]).bytes());
    let segments = tcp.split(Side::Server, &answer, MSS);
    traffic.all(&segments);
    for copy in 1..copies {
        traffic.time_ns += (200 * MS) << copy;
        traffic.tcp(&segments[0]);
        if asks {
            traffic.tcp(&acknowledges);
        }
    }
    last(&mut traffic, &mut tcp);
    coverage(&traffic).client_paths.first().map(|path| path.stuck).unwrap_or_default()
}

#[test]
fn a_segment_that_is_never_acknowledged_is_stuck_if_its_receiver_is_there() {
    let stuck = sent_again(6, true, |_, _| ());
    assert_eq!(stuck[0], Stuck::default());
    assert_eq!((stuck[1].segments, stuck[1].copies, stuck[1].bytes), (1, 6, MSS as u32), "{stuck:?}");
    assert!((12_000 * MS as u64..12_100 * MS as u64).contains(&stuck[1].ns), "{stuck:?}");
    assert_eq!(sent_again(6, false, |_, _| ())[1], Stuck::default(), "the client is off");
    assert_eq!(sent_again(3, true, |_, _| ())[1], Stuck::default(), "too few");
    let arrived = sent_again(6, true, |traffic, tcp| traffic.tcp(&tcp.ack(Side::Client)));
    assert_eq!(arrived[1], Stuck::default(), "the last copy arrived");
}

/// A read of `bytes` bytes, whose response the client acknowledges.
fn acknowledged(traffic: &mut Traffic, tcp: &mut Tcp, id: u64, bytes: usize) {
    traffic.send(tcp, Side::Client, &nbss(&smb2::read(id, smb2::file(1), bytes as u32).bytes()));
    let answer = nbss(&smb2::read_answer(id, &vec![7; bytes]).bytes());
    traffic.all(&tcp.split(Side::Server, &answer, MSS));
    traffic.tcp(&tcp.ack(Side::Client));
}

/// A client reads 3,000 bytes; then the path drops its next segment of that size for 6 s. Meanwhile another connection
/// of the client reads `meanwhile` bytes, or nothing.
fn narrower_later(meanwhile: Option<usize>) -> ClientPath {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let mut other = Tcp::between_ports(701, 445);
    for id in 1..=3 {
        acknowledged(&mut traffic, &mut tcp, id, 3_000);
        acknowledged(&mut traffic, &mut other, id, 3_000);
    }
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(4, smb2::file(1), 3_000).bytes()));
    let ack = tcp.ack(Side::Client);
    let segments = tcp.split(Side::Server, &nbss(&smb2::read_answer(4, &[7; 3_000]).bytes()), MSS);
    traffic.all(&segments);
    for (id, wait_ns) in (4..).zip([200 * MS, 400 * MS, 800 * MS, 1_600 * MS, 3_200 * MS]) {
        traffic.time_ns += wait_ns;
        traffic.tcp(&segments[0]);
        if let Some(bytes) = meanwhile {
            acknowledged(&mut traffic, &mut other, id, bytes);
        }
    }
    traffic.tcp(&ack);
    acknowledged(&mut traffic, &mut other, 20, 50);
    coverage(&traffic).client_paths[0]
}

#[test]
fn requests_to_a_server_that_sends_nothing_more_are_unanswered() {
    let gone = |answers: bool| {
        let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
        (1..=3).for_each(|id| acknowledged(&mut traffic, &mut tcp, id, 100));
        let ack = tcp.ack(Side::Server);
        let request = tcp.data(Side::Client, &nbss(&smb2::read(4, smb2::file(1), 100).bytes()));
        let from_ns = traffic.time_ns;
        traffic.tcp(&request);
        for copy in 1..6 {
            traffic.time_ns += (200 * MS) << copy;
            traffic.tcp(&request);
            if answers {
                traffic.tcp(&ack);
            }
        }
        (coverage(&traffic).client_paths[0], from_ns)
    };
    let (path, from_ns) = gone(false);
    assert_eq!((path.unanswered.segments, path.unanswered.copies, path.stuck[0].segments), (1, 6, 0), "{path:?}");
    let first_ns = path.unanswered_from_ns.unwrap();
    assert!((from_ns..from_ns + 500 * MS).contains(&first_ns), "{first_ns}");
    assert_eq!(gone(true).0.unanswered, Stuck::default(), "it sends acknowledgements of what came before");
}

/// A request of 1,448 bytes that TCP sends six times, without any packet in return, and then in smaller segments, five times. The server
/// answers these or not.
fn smaller_in_the_end(answer: impl Fn(&mut Traffic, &mut Tcp)) -> ClientPath {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    (1..=3).for_each(|id| acknowledged(&mut traffic, &mut tcp, id, 100));
    let request = nbss(&smb2::write(4, smb2::file(1), &[7; MSS - 116]).bytes());
    let large = tcp.data(Side::Client, &request);
    let mut small = large.clone();
    small.payload.truncate(500);
    for (segment, copies) in [(&large, 6), (&small, 5)] {
        for copy in 0..copies {
            traffic.time_ns += (200 * MS) << copy;
            traffic.tcp(segment);
        }
    }
    answer(&mut traffic, &mut tcp);
    coverage(&traffic).client_paths[0]
}

#[test]
fn a_segment_that_arrives_once_it_is_smaller_is_not_unanswered() {
    let nothing = smaller_in_the_end(|_, _| ()).unanswered;
    assert_eq!((nothing.segments, nothing.copies, nothing.bytes), (2, 6, 500), "{nothing:?}");
    let arrives = smaller_in_the_end(|traffic, tcp| {
        let mut ack = tcp.ack(Side::Server);
        ack.ack = ack.ack.wrapping_sub((MSS - 500) as u32);
        traffic.tcp(&ack);
    });
    assert_eq!((arrives.unanswered, arrives.unanswered_from_ns), (Stuck::default(), None));
    let is_there = smaller_in_the_end(|traffic, tcp| {
        let mut ack = tcp.ack(Side::Server);
        ack.ack = ack.ack.wrapping_sub(MSS as u32);
        traffic.tcp(&ack);
    });
    assert_eq!(is_there.unanswered, Stuck::default(), "it sends an acknowledgement of what came before");
}

#[test]
fn what_was_acknowledged_before_a_segment_was_stuck_is_told_apart_from_what_was_since() {
    let narrower = narrower_later(Some(100));
    assert_eq!((narrower.stuck[1].segments, narrower.stuck[1].bytes), (1, MSS as u32), "{narrower:?}");
    assert_eq!((narrower.largest_acknowledged[1], narrower.largest_since_stuck[1]), (MSS as u32, 184));
    let lossy = narrower_later(Some(3_000));
    assert_eq!(lossy.largest_since_stuck[1], MSS as u32, "others of this size arrive: {lossy:?}");
    assert_eq!(lossy.largest_since_stuck[0], 0, "no request was stuck");
    let interrupted = narrower_later(None);
    assert_eq!((interrupted.stuck[1].segments, interrupted.largest_since_stuck[1]), (1, 0), "the path carried nothing");
}

#[test]
fn a_connection_without_any_packet_to_the_receiver_has_no_segment_that_is_stuck() {
    let again = |traffic: &mut Traffic, tcp: &mut Tcp| {
        let request = tcp.data(Side::Client, &nbss(&smb2::echo(5).bytes()));
        (0..3).for_each(|_| {
            traffic.time_ns += 300 * MS;
            traffic.tcp(&request);
        });
    };
    assert_eq!(sent_again(6, true, again)[1], Stuck::default(), "nor do acknowledgements reach the client");
    let back = |traffic: &mut Traffic, tcp: &mut Tcp| {
        let mut reset = tcp.rst(Side::Client);
        reset.ack = reset.ack.wrapping_sub(3_084);
        traffic.tcp(&reset);
    };
    assert_eq!(sent_again(6, false, back)[1], Stuck::default(), "the client was off, and started again");
    assert_eq!(sent_again(6, true, back)[1].segments, 1, "it gives up");
}
