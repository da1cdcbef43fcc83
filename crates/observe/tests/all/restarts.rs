//! Servers that close all connections: whether clients still used them.

use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use crate::waiting::{MS, coverage};

/// The body of an interim response.
const INTERIM: [u8; 9] = [9, 0, 0, 0, 0, 0, 0, 0, 0];

fn echo(traffic: &mut Traffic, tcp: &mut Tcp, id: u64) {
    traffic.send(tcp, Side::Client, &nbss(&smb2::echo(id).bytes()));
    traffic.send(tcp, Side::Server, &nbss(&smb2::echoed(id).bytes()));
}

/// The number of restarts where the client has two connections, sends this request on each, and maybe gets the response. After 60 s it may
/// send an ECHO. After 10 s the server closes the connections, and the client connects again.
fn restarts(request: &[u8], response: Option<Vec<u8>>, echoes: bool) -> usize {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut all = [701, 702].map(|port| Tcp::between_ports(port, 445));
    for tcp in &mut all {
        traffic.all(&tcp.handshake());
        echo(&mut traffic, tcp, 1);
        traffic.send(tcp, Side::Client, &nbss(request));
        response.iter().for_each(|response| traffic.send(tcp, Side::Server, &nbss(response)));
    }
    traffic.time_ns += 60_000 * MS;
    for tcp in all.iter_mut().filter(|_| echoes) {
        echo(&mut traffic, tcp, 3);
    }
    traffic.time_ns += 10_000 * MS;
    all.iter().for_each(|tcp| traffic.tcp(&tcp.rst(Side::Server)));
    traffic.time_ns += 5_000 * MS;
    let mut again = Tcp::between_ports(703, 445);
    traffic.all(&again.handshake());
    echo(&mut traffic, &mut again, 1);
    coverage(&traffic).restarts.len()
}

#[test]
fn requests_with_an_interim_response_and_encrypted_ones_wait() {
    let read = smb2::read(2, smb2::file(1), 100).bytes();
    let interim = smb2::response(smb2::command::READ, 2, smb2::PENDING).asynchronous(905).body(&INTERIM).bytes();
    assert_eq!(restarts(&read, Some(smb2::read_answer(2, &[7; 100]).bytes()), false), 0, "idle");
    assert_eq!(restarts(&read, None, false), 1);
    assert_eq!(restarts(&read, Some(interim), false), 1);
    let encrypted = |size: u8| [&b"\xfdSMB"[..], &[0; 32], &[size, 0, 0, 0], &[0; 12], &vec![0; size.into()]].concat();
    assert_eq!(restarts(&encrypted(113), None, false), 1);
    assert_eq!(restarts(&encrypted(113), Some(encrypted(181)), false), 0, "idle");
}

#[test]
fn a_connection_that_is_only_kept_alive_is_idle() {
    let read = smb2::read(2, smb2::file(1), 100).bytes();
    assert_eq!(restarts(&read, Some(smb2::read_answer(2, &[7; 100]).bytes()), true), 0);
    assert_eq!(restarts(&read, None, true), 1);
}
