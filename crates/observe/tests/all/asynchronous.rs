//! Requests with an interim answer whose final one the capture lost.

use plimsoll_model::{Coverage, Outcome, WaitEnd};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use crate::conversation::{observed, observing};

const INTERIM_BODY: [u8; 9] = [9, 0, 0, 0, 0, 0, 0, 0, 0];
const READ: u16 = 8;

/// A request that gets an interim answer and a final one, and a request behind it that is answered; `loses` the final one.
fn observe(command: u16, request: &[u8], loses: bool) -> Coverage {
    observe_until(command, request, loses, |_, _| {})
}

fn observe_until(command: u16, request: &[u8], loses: bool, end: impl FnOnce(&mut Traffic, &mut Tcp)) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &nbss(request));
    let interim = smb2::response(command, 1, smb2::PENDING).asynchronous(905).body(&INTERIM_BODY);
    traffic.send(&mut tcp, Side::Server, &nbss(&interim.bytes()));
    if loses {
        let last = nbss(&smb2::response(command, 1, 0).asynchronous(905).body(&INTERIM_BODY).bytes());
        drop(tcp.data(Side::Server, &last));
    }
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(2).bytes()), &nbss(&smb2::echoed(2).bytes()));
    end(&mut traffic, &mut tcp);
    observed(&traffic).coverage
}

#[test]
fn what_was_lost_behind_an_interim_answer_counts_as_lost() {
    let read = smb2::read(1, smb2::file(1), 3_000).bytes();
    let unseen = observe(READ, &read, true).unseen;
    assert_eq!((unseen.paired, unseen.requests_waiting, unseen.requests_after_gap), (1, 0, 1), "{unseen:?}");
    assert_eq!(unseen.missing.operations, 2, "and what had the first id: {unseen:?}");
    let unseen = observe(READ, &read, false).unseen;
    assert_eq!((unseen.requests_waiting, unseen.requests_after_gap), (1, 0), "nothing lost: {unseen:?}");
}

/// It may still wait, despite the losses.
#[test]
fn a_request_that_waits_by_design_is_not_missing() {
    let notify = smb2::request(smb2::command::CHANGE_NOTIFY, 1).body(&[32; 32]).bytes();
    let unseen = observe(smb2::command::CHANGE_NOTIFY, &notify, true).unseen;
    assert_eq!((unseen.requests_waiting, unseen.requests_after_gap), (1, 0), "{unseen:?}");
}

/// Another channel of its session could have answered it.
#[test]
fn a_request_of_a_connection_that_ended_is_unanswered() {
    let read = smb2::read(1, smb2::file(1), 3_000).bytes();
    let unseen = observe_until(READ, &read, false, |traffic, tcp| {
        for from in [Side::Client, Side::Server] {
            traffic.tcp(&tcp.fin(from));
            traffic.tcp(&tcp.ack(from.other()));
        }
        // The same ends open another connection.
        let mut next = Tcp::between_ports(700, 445).starting_at(1_000_000, 2_000_000);
        traffic.all(&next.handshake());
        traffic.exchange(&mut next, &nbss(&smb2::echo(0).bytes()), &nbss(&smb2::echoed(0).bytes()));
    })
    .unseen;
    assert_eq!((unseen.paired, unseen.requests_waiting), (2, 1), "{unseen:?}");
}

/// In a watch of days, the requests of closed connections would take the room of those that wait.
#[test]
fn requests_of_a_closed_connection_leave_before_the_capture_ends() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    let mut body = [0; 24];
    body[0] = 25;
    let set_up = smb2::request(smb2::command::SESSION_SETUP, 0).session(0).body(&body);
    let is_set_up = smb2::response(smb2::command::SESSION_SETUP, 0, 0).body(&[9, 0, 0, 0, 72, 0, 0, 0]);
    traffic.exchange(&mut tcp, &nbss(&set_up.bytes()), &nbss(&is_set_up.bytes()));
    let notify = smb2::request(smb2::command::CHANGE_NOTIFY, 1).body(&[32; 32]);
    for (id, command, request) in
        [(1, smb2::command::CHANGE_NOTIFY, notify), (2, READ, smb2::read(2, smb2::file(1), 3_000))]
    {
        traffic.send(&mut tcp, Side::Client, &nbss(&request.bytes()));
        let interim = smb2::response(command, id, smb2::PENDING).asynchronous(904 + id).body(&INTERIM_BODY);
        traffic.send(&mut tcp, Side::Server, &nbss(&interim.bytes()));
    }
    traffic.tcp(&tcp.rst(Side::Client));
    let mut other = Tcp::between_ports(701, 445);
    traffic.all(&other.handshake());
    for id in 1..=2 {
        traffic.time_ns += 61_000_000_000;
        traffic.exchange(&mut other, &nbss(&smb2::echo(id).bytes()), &nbss(&smb2::echoed(id).bytes()));
        // Closed connections are looked for when the packets of another one come.
        let mut next = Tcp::between_ports(701 + id as u16, 445);
        traffic.all(&next.handshake());
    }
    let mut observer = observing(&traffic);
    let unanswered = observer.sink().0.iter().filter(|row| row.outcome == Outcome::Unanswered);
    assert_eq!(unanswered.map(|row| row.id).collect::<Vec<_>>(), [Some(2), Some(1)]);
    let coverage = observer.finish().coverage;
    assert_eq!((coverage.unseen.paired, coverage.unseen.requests_waiting), (3, 2), "{:?}", coverage.unseen);
    let ends: Vec<_> = coverage.unfinished.iter().map(|one| (one.end, one.requests)).collect();
    assert_eq!(ends, [(WaitEnd::Client, 1)], "the notification waits by design");
}

/// A server may answer requests of a session after it has answered the LOGOFF: message IDs belong to connections, not to sessions.
#[test]
fn a_response_after_the_end_of_its_session_ends_its_request() {
    let read = smb2::read(1, smb2::file(1), 3_000).bytes();
    let unseen = observe_until(READ, &read, false, |traffic, tcp| {
        let logoff = [smb2::request(2, 3), smb2::response(2, 3, 0)].map(|message| message.body(&[4, 0, 0, 0]).bytes());
        for (from, message) in [Side::Client, Side::Server].into_iter().zip(&logoff) {
            traffic.send(tcp, from, &nbss(message));
        }
        let last = smb2::response(READ, 1, 0).asynchronous(905).body(&INTERIM_BODY);
        traffic.send(tcp, Side::Server, &nbss(&last.bytes()));
    })
    .unseen;
    assert_eq!((unseen.paired, unseen.requests_waiting), (3, 0), "{unseen:?}");
}

/// Another client has the lock. How long the request waits is known, although a missing answer does not show that one was lost.
#[test]
fn a_lock_that_is_not_granted_waits_until_the_capture_ends() {
    let lock = |flags: u8| {
        let mut body = [0; 48];
        (body[0], body[2], body[40]) = (48, 1, flags);
        smb2::request(smb2::command::LOCK, 1).body(&body).bytes()
    };
    let (exclusive, at_once) = (lock(0x02), lock(0x12));
    let ends = |coverage: &Coverage| -> Vec<(WaitEnd, bool)> {
        coverage.unfinished.iter().map(|one| (one.end, Some(one.end_ns) == coverage.last_ns)).collect()
    };
    let waits = observe(smb2::command::LOCK, &exclusive, false);
    assert_eq!(ends(&waits), [(WaitEnd::CaptureLocked, true)]);
    assert_eq!((waits.unseen.requests_waiting, waits.unseen.requests_after_gap), (1, 0), "{:?}", waits.unseen);
    let unlocked = observe(smb2::command::LOCK, &at_once, false);
    assert_eq!(ends(&unlocked), [(WaitEnd::Capture, true)], "it does not wait for other clients");
    assert_eq!(ends(&observe(smb2::command::LOCK, &exclusive, true)), [], "the answer may be lost");
    let closed =
        observe_until(smb2::command::LOCK, &exclusive, false, |traffic, tcp| traffic.tcp(&tcp.fin(Side::Client)));
    assert_eq!(ends(&closed), [], "its client gave up");
}
