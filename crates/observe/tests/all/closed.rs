//! Closed connections leave the memory after a while, and idle ones become small, with the same results.

use std::net::SocketAddr;

use plimsoll_model::{Anomaly, Outcome, Transaction};
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_observe::{Observed, Observer};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};

const SECOND: i64 = 1_000_000_000;
/// A closed connection is over after this, seconds.
const CLOSED_FOR: i64 = 61;

/// An observer, and the packets that it gets.
struct Capture {
    observer: Observer<Vec<Transaction>>,
    traffic: Traffic,
    number: u64,
}

impl Capture {
    fn new() -> Self {
        Self { observer: Observer::new(Vec::new()), traffic: Traffic::new(Link::Ethernet), number: 0 }
    }

    /// A client's new connection with one call of this xid, answered or not.
    fn connect(&mut self, client: u32, xid: u32, answered: bool) -> Tcp {
        // Other ports of one client: what is kept of each client does not matter here.
        let client = SocketAddr::from(([10, 0, 0, 1], 1_024 + u16::try_from(client).unwrap()));
        let mut tcp = Tcp::new(client, "192.0.2.1:2049".parse().unwrap());
        self.traffic.all(&tcp.handshake());
        self.traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"handle")));
        if answered {
            self.answer(&mut tcp, xid);
        }
        tcp
    }

    fn answer(&mut self, tcp: &mut Tcp, xid: u32) {
        let reply = rpc::record(&rpc::reply(xid, &[&[0; 4][..], &[0; 84]].concat()));
        self.traffic.send(tcp, Side::Server, &reply);
    }

    fn close(&mut self, tcp: &mut Tcp) {
        let fins = [tcp.fin(Side::Client), tcp.fin(Side::Server), tcp.ack(Side::Client)];
        self.traffic.all(&fins);
    }

    /// Gives the observer what there is, and lets time pass.
    fn pass(&mut self, seconds: i64) {
        for frame in self.traffic.frames.drain(..) {
            self.number += 1;
            self.observer.frame(&Frame {
                number: self.number,
                time_ns: Some(frame.time_ns),
                link: LinkType::Ethernet,
                captured: &frame.bytes,
                original_len: frame.original_len,
            });
        }
        self.traffic.time_ns += seconds * SECOND;
    }

    fn end(mut self) -> Observed<Vec<Transaction>> {
        self.pass(0);
        self.observer.finish()
    }
}

#[test]
fn many_short_connections_take_little_memory() {
    let mut sizes = Vec::new();
    let mut capture = Capture::new();
    for at in 0..1_500u32 {
        let mut tcp = capture.connect(at, at + 1, true);
        match at % 2 {
            0 => capture.close(&mut tcp),
            _ => capture.traffic.all(&[tcp.rst(Side::Server)]),
        }
        capture.pass(1);
        if [499, 1_499].contains(&at) {
            // The transactions of the sink are not part of the state.
            sizes.push(capture.observer.state().unwrap().len());
        }
    }
    let each = (sizes[1] - sizes[0]) / 1_000;
    assert!(each < 150, "{each} bytes of state for each closed connection, {sizes:?}");
    let observed = capture.end();
    assert_eq!(observed.coverage.connections, 1_500);
    assert_eq!(observed.sink.len(), 1_500);
    assert_eq!(observed.coverage.anomalies.iter().map(|(_, count)| count).sum::<u64>(), 0);
}

#[test]
fn a_connection_goes_on_that_was_not_broken_off() {
    let mut capture = Capture::new();
    let mut waits = capture.connect(1, 7, false);
    capture.close(&mut waits);
    let mut goes_on = capture.connect(2, 8, true);
    // A forged reset, or one of an earlier connection.
    capture.traffic.all(&[goes_on.rst(Side::Server)]);
    capture.traffic.send(&mut goes_on, Side::Client, &rpc::record(&rpc::getattr(9, b"handle")));
    capture.answer(&mut goes_on, 9);
    for another in 0..3 {
        capture.pass(CLOSED_FOR);
        capture.connect(10 + another, 20 + another, true);
    }
    capture.traffic.send(&mut goes_on, Side::Client, &rpc::record(&rpc::getattr(10, b"handle")));
    capture.answer(&mut goes_on, 10);
    let observed = capture.end();
    let of = |connection: u32| observed.sink.iter().filter(move |t| t.connection == connection).count();
    assert_eq!((of(0), of(1)), (1, 3), "they keep their numbers");
    let unanswered: Vec<_> = observed.sink.iter().filter(|t| t.outcome == Outcome::Unanswered).collect();
    assert_eq!(unanswered.len(), 1);
    assert_eq!(observed.coverage.connections, 5);
}

/// The row of its request does not wait for the end of the capture, which a watch may never have.
#[test]
fn a_closed_connection_whose_request_waits_leaves_the_memory_later() {
    let mut capture = Capture::new();
    let mut closed = capture.connect(1, 7, false);
    capture.close(&mut closed);
    let mut goes_on = capture.connect(2, 8, false);
    // A forged reset: the server still responds.
    capture.traffic.all(&[goes_on.rst(Side::Server)]);
    capture.pass(CLOSED_FOR);
    capture.connect(3, 9, true);
    capture.answer(&mut goes_on, 8);
    capture.pass(CLOSED_FOR);
    capture.connect(4, 10, true);
    capture.pass(0);
    let (sink, _) = capture.observer.sink();
    let rows: Vec<_> = sink.iter().map(|t| (t.connection, t.outcome == Outcome::Unanswered)).collect();
    assert_eq!(rows, [(2, false), (1, false), (0, true), (3, false)]);
}

#[test]
fn the_same_ports_again_are_another_connection() {
    let mut capture = Capture::new();
    let mut first = capture.connect(1, 7, true);
    capture.close(&mut first);
    capture.pass(CLOSED_FOR);
    capture.connect(2, 8, true);
    capture.pass(1);
    let mut again = capture.connect(1, 7, true);
    capture.close(&mut again);
    let observed = capture.end();
    assert_eq!(observed.sink.iter().map(|t| t.connection).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(
        (observed.coverage.connections, observed.coverage.anomalies.iter().map(|(_, count)| count).sum::<u64>()),
        (3, 0)
    );
}

/// Found in a capture that had lost SYNs: Linux numbers the next connection of the same ports from some hundred megabytes further on.
#[test]
fn the_same_ports_again_without_a_syn_are_another_connection_and_no_loss() {
    for goes_on in [false, true] {
        let mut capture = Capture::new();
        let mut first = capture.connect(1, 7, true);
        capture.traffic.all(&[first.rst(Side::Server)]);
        capture.pass(2);
        if goes_on {
            capture.traffic.send(&mut first, Side::Client, &rpc::record(&rpc::getattr(8, b"handle")));
            capture.answer(&mut first, 8);
        } else {
            let client = "10.0.0.1:1025".parse().unwrap();
            let mut again = Tcp::new(client, "192.0.2.1:2049".parse().unwrap()).starting_at(200_000_000, 300_000_000);
            again.handshake();
            capture.traffic.send(&mut again, Side::Client, &rpc::record(&rpc::getattr(8, b"handle")));
            capture.answer(&mut again, 8);
        }
        let observed = capture.end();
        let connections: Vec<u32> = observed.sink.iter().map(|t| t.connection).collect();
        assert_eq!(connections, if goes_on { [0, 0] } else { [0, 1] });
        let coverage = &observed.coverage;
        assert_eq!((coverage.packets.dropped_estimate, coverage.unseen.missing.operations), (0, 0), "{goes_on}");
        assert_eq!(observed.sink.iter().filter(|t| t.outcome == Outcome::Succeeded).count(), 2);
    }
}

/// A client that loses power closes nothing, and its connections stay.
#[test]
fn idle_connections_take_little_memory_and_go_on() {
    const CALLS: u32 = 600;
    let mut capture = Capture::new();
    let mut all = Vec::new();
    for at in 0..400u32 {
        let mut tcp = capture.connect(at, 1, true);
        for xid in 2..=CALLS {
            capture.traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"handle")));
            capture.answer(&mut tcp, xid);
        }
        all.push(tcp);
        capture.pass(1);
    }
    let (count, bytes) = capture.observer.packed();
    assert!(count >= 200 && bytes / count < 600, "{bytes} bytes of {count} connections");
    for tcp in &mut all {
        capture.traffic.send(tcp, Side::Client, &rpc::record(&rpc::getattr(CALLS + 1, b"handle")));
        capture.answer(tcp, CALLS + 1);
        // The answer to an earlier call once more.
        capture.answer(tcp, CALLS);
    }
    capture.pass(0);
    assert_eq!(capture.observer.packed(), (0, 0));
    let observed = capture.end();
    assert_eq!((observed.coverage.connections, observed.sink.len()), (400, 400 * (CALLS as usize + 1)));
    let anomalies: Vec<_> = observed.coverage.anomalies.iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(anomalies, [(Anomaly::DuplicateResponse, 400)]);
}

/// Connections of a mirror port that delivers hardly any packets of clients: each answer might belong to a request that comes later.
fn answers_only(capture: &mut Capture, connections: u32) {
    for at in 0..connections {
        let mut tcp = capture.connect(at, 1, true);
        (2..=200).for_each(|xid| capture.answer(&mut tcp, xid));
        capture.pass(1);
    }
}

/// How many late requests there are on a new connection that has one, after the others were idle.
fn late_requests(mut capture: Capture, connections: u32) -> u64 {
    for at in connections..connections + 6 {
        capture.pass(31);
        capture.connect(at, 1, true);
    }
    let mut tcp = capture.connect(connections + 6, 1, true);
    let request = tcp.data(Side::Client, &rpc::record(&rpc::getattr(2, b"handle")));
    capture.answer(&mut tcp, 2);
    capture.traffic.tcp(&request);
    capture.end().coverage.late_requests.count
}

#[test]
fn answers_without_requests_take_little_memory() {
    let mut capture = Capture::new();
    answers_only(&mut capture, 400);
    let (count, bytes) = capture.observer.packed();
    assert!(count >= 200 && bytes / count < 700, "{bytes} bytes of {count} connections");
    assert_eq!(late_requests(capture, 400), 1, "idle connections leave room for other answers");
}

/// Too few connections to pack any: they leave room as well.
#[test]
fn few_idle_connections_keep_no_answers_without_requests() {
    let mut few = Capture::new();
    answers_only(&mut few, 150);
    assert_eq!(late_requests(few, 150), 1);
    let mut packed = Capture::new();
    answers_only(&mut packed, 150);
    packed.observer.pack();
    assert_eq!(late_requests(packed, 150), 1, "all connections were packed");
}

#[cfg(feature = "decrypt")]
#[test]
fn decrypted_connections_keep_no_answers_without_requests_when_they_are_idle() {
    let mut keys = plimsoll_observe::decrypt::SessionKeys::default();
    keys.add("3d00009400480000:28f2847263c83dc00621f742dd3f2e7b").unwrap();
    let mut capture = Capture { observer: Observer::new(Vec::new()).with_session_keys(keys), ..Capture::new() };
    answers_only(&mut capture, 400);
    assert_eq!(late_requests(capture, 400), 1);
}
