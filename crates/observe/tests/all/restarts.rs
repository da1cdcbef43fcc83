//! Servers that close all connections: whether clients still used them.

use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use crate::waiting::{MS, coverage};

/// The body of an interim response.
const INTERIM: [u8; 9] = [9, 0, 0, 0, 0, 0, 0, 0, 0];

/// A message, and how long after the one before it, s.
type Timed = (i64, Side, Vec<u8>);

fn echo(seconds: i64, id: u64) -> [Timed; 2] {
    [(seconds, Side::Client, smb2::echo(id).bytes()), (0, Side::Server, smb2::echoed(id).bytes())]
}

/// The number of restarts in a capture of two connections with these messages. The server closes both connections `idle_s` seconds after
/// the last message, and the client connects again. Without `has_handshakes`, the capture begins after the handshakes.
fn restarts_after(messages: &[Timed], idle_s: i64, has_handshakes: bool) -> usize {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut all = [701, 702].map(|port| Tcp::between_ports(port, 445));
    for tcp in &mut all {
        let handshake = tcp.handshake();
        traffic.all(handshake.iter().filter(|_| has_handshakes));
    }
    for (after_s, from, bytes) in messages {
        traffic.time_ns += after_s * 1_000 * MS;
        all.iter_mut().for_each(|tcp| traffic.send(tcp, *from, &nbss(bytes)));
    }
    traffic.time_ns += idle_s * 1_000 * MS;
    all.iter().for_each(|tcp| traffic.tcp(&tcp.rst(Side::Server)));
    traffic.time_ns += 5_000 * MS;
    let mut again = Tcp::between_ports(703, 445);
    traffic.all(&again.handshake());
    echo(0, 1).iter().for_each(|(_, from, bytes)| traffic.send(&mut again, *from, &nbss(bytes)));
    coverage(&traffic).restarts.len()
}

/// The number of restarts if the client sends this request on both connections, and gets the response, if there is one. If it `echoes`, it
/// sends an ECHO after 60 s. After 10 more seconds the server closes the connections.
fn restarts(request: &[u8], response: Option<Vec<u8>>, echoes: bool) -> usize {
    let mut messages = echo(0, 1).to_vec();
    messages.push((0, Side::Client, request.to_vec()));
    messages.extend(response.map(|response| (0, Side::Server, response)));
    if echoes {
        messages.extend(echo(60, 3));
    }
    restarts_after(&messages, if echoes { 10 } else { 70 }, true)
}

/// An encrypted message.
fn encrypted(size: u8) -> Vec<u8> {
    [&b"\xfdSMB"[..], &[0; 32], &[size, 0, 0, 0], &[0; 12], &vec![0; size.into()]].concat()
}

#[test]
fn requests_with_an_interim_response_and_encrypted_ones_wait() {
    let read = smb2::read(2, smb2::file(1), 100).bytes();
    let interim = smb2::response(smb2::command::READ, 2, smb2::PENDING).asynchronous(905).body(&INTERIM).bytes();
    assert_eq!(restarts(&read, Some(smb2::read_answer(2, &[7; 100]).bytes()), false), 0, "idle");
    assert_eq!(restarts(&read, None, false), 1);
    assert_eq!(restarts(&read, Some(interim), false), 1);
    assert_eq!(restarts(&encrypted(113), None, false), 1);
    assert_eq!(restarts(&encrypted(113), Some(encrypted(181)), false), 0, "idle");
}

#[test]
fn a_connection_that_is_only_kept_alive_is_idle() {
    let read = smb2::read(2, smb2::file(1), 100).bytes();
    assert_eq!(restarts(&read, Some(smb2::read_answer(2, &[7; 100]).bytes()), true), 0);
    assert_eq!(restarts(&read, None, true), 1);
}

#[test]
fn a_connection_that_was_only_kept_alive_since_the_capture_began_is_idle() {
    assert_eq!(restarts_after(&echo(0, 3), 10, false), 0);
    let read = (0, Side::Client, smb2::read(4, smb2::file(1), 100).bytes());
    let answer = (0, Side::Server, smb2::read_answer(4, &[7; 100]).bytes());
    assert_eq!(restarts_after(&[read, answer], 10, false), 1);
}

#[test]
fn a_late_response_shows_that_the_connection_is_used() {
    let read = (0, Side::Client, smb2::read(2, smb2::file(1), 100).bytes());
    let answer = (35, Side::Server, smb2::read_answer(2, &[7; 100]).bytes());
    let messages = [&echo(0, 1)[..], &[read, answer]].concat();
    assert_eq!(restarts_after(&messages, 3, true), 1);
    // The server ends a request for notifications because it closes the idle connection.
    let notify = (0, Side::Client, smb2::request(smb2::command::CHANGE_NOTIFY, 2).body(&[32; 32]).bytes());
    let cleanup = smb2::response(smb2::command::CHANGE_NOTIFY, 2, 0x0000_010B).body(&INTERIM).bytes();
    let messages = [&echo(0, 1)[..], &[notify, (100, Side::Server, cleanup)]].concat();
    assert_eq!(restarts_after(&messages, 0, true), 0);
}

/// The response of 73 bytes may be that of the CANCEL, which gets none, or of the request behind it.
#[test]
fn a_request_that_a_cancel_leaves_behind_does_not_wait() {
    let [ask, answer] = [Side::Client, Side::Server];
    let exchanges = [(ask, 113), (ask, 68), (answer, 181), (ask, 113), (answer, 73)];
    let mut messages = echo(0, 1).to_vec();
    messages.extend(exchanges.map(|(from, size)| (0, from, encrypted(size))));
    assert_eq!(restarts_after(&messages, 70, true), 0);
    messages.push((0, ask, encrypted(113)));
    assert_eq!(restarts_after(&messages, 70, true), 1, "one of the two waits");
}

/// An ECHO and these encrypted messages.
fn sealed(messages: &[(i64, Side, u8)]) -> Vec<Timed> {
    let sealed = messages.iter().map(|&(after_s, from, size)| (after_s, from, encrypted(size)));
    echo(0, 1).into_iter().chain(sealed).collect()
}

/// The server ends an encrypted request for notifications, which has an interim response, because it closes the idle connection.
#[test]
fn the_end_of_an_encrypted_request_that_waits_by_design_is_no_use() {
    let [ask, answer] = [Side::Client, Side::Server];
    let notify = [(0, ask, 113), (0, answer, 181), (0, ask, 113), (0, answer, 73), (100, answer, 73)];
    assert_eq!(restarts_after(&sealed(&notify), 0, true), 0);
    // A late response to a request that waits, and a late one with data, are uses.
    assert_eq!(restarts_after(&sealed(&[(0, ask, 113), (35, answer, 73)]), 3, true), 1);
    assert_eq!(restarts_after(&sealed(&[(0, ask, 113), (0, answer, 73), (35, answer, 181)]), 3, true), 1);
}

/// The response to an ECHO is as short as its request: it shows nothing of the others. After a FLUSH (88 bytes) it may.
#[test]
fn an_encrypted_request_behind_an_answered_echo_waits() {
    let [ask, answer] = [Side::Client, Side::Server];
    let echoed = [(1, ask, 113), (0, ask, 68), (0, ask, 113), (0, answer, 181), (0, answer, 68)];
    assert_eq!(restarts_after(&sealed(&echoed), 70, true), 1);
    // A CANCEL has no response: that of the FLUSH leaves a request behind, which does not wait.
    let cancelled = [(1, ask, 113), (0, ask, 68), (0, ask, 88), (0, answer, 181), (0, answer, 68)];
    assert_eq!(restarts_after(&sealed(&cancelled), 70, true), 0);
}
