//! Operations whose request or response is encrypted without a key, but not both.

use plimsoll_model::Outcome;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use crate::conversation::observe_traffic;

/// The session of the other messages.
const SESSION: u64 = 7;

/// An encrypted message.
///
/// Spec: MS-SMB2 2.2.41
fn encrypted(size: u32) -> Vec<u8> {
    let mut bytes = b"\xfdSMB".to_vec();
    bytes.extend([5; 32]);
    bytes.extend(size.to_le_bytes());
    bytes.extend([0, 0, 1, 0]);
    bytes.extend(SESSION.to_le_bytes());
    bytes.extend(vec![0x55; size as usize]);
    nbss(&bytes)
}

/// A connection from its handshake on.
fn opened() -> (Traffic, Tcp) {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::echo(1).bytes()));
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::echoed(1).bytes()));
    (traffic, tcp)
}

#[test]
fn a_response_to_an_encrypted_request_has_a_request() {
    const INVALID_PARAMETER: u32 = 0xC000_000D;
    let (mut traffic, mut tcp) = opened();
    traffic.send(&mut tcp, Side::Client, &encrypted(328));
    let refusal = |id| smb2::response(smb2::command::READ, id, INVALID_PARAMETER).body(&[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::compound(&[refusal(2), refusal(3)])));
    let (_, coverage) = observe_traffic(&traffic);
    let unseen = coverage.unseen;
    assert_eq!((unseen.orphans(), unseen.encrypted), (0, 1), "{unseen:?}");
    assert_eq!((coverage.encrypted.all.count, coverage.encrypted.unanswered), (1, 0));
    traffic.send(&mut tcp, Side::Server, &nbss(&refusal(4).bytes()));
    assert_eq!(observe_traffic(&traffic).1.unseen.orphans(), 1, "no further request waits");
}

#[test]
fn an_encrypted_response_is_that_of_the_only_request() {
    let rows = |first: Option<Vec<u8>>, size: u32| {
        let (mut traffic, mut tcp) = opened();
        first.into_iter().for_each(|first| traffic.send(&mut tcp, Side::Client, &first));
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(2, smb2::file(1), 10).bytes()));
        traffic.send(&mut tcp, Side::Server, &encrypted(size));
        let (rows, coverage) = observe_traffic(&traffic);
        let unseen = coverage.unseen;
        let outcome = rows.iter().find(|row| row.id == Some(2)).map(|row| row.outcome);
        (outcome, unseen.paired, unseen.requests_waiting, unseen.encrypted)
    };
    let another = nbss(&smb2::read(3, smb2::file(1), 10).bytes());
    assert_eq!(rows(None, 73), (Some(Outcome::Unknown), 2, 0, 0));
    assert_eq!(rows(None, 108), (Some(Outcome::Unanswered), 1, 1, 1), "it may be a break");
    assert_eq!(rows(Some(another), 73), (Some(Outcome::Unanswered), 1, 2, 1), "one of two");
    assert_eq!(rows(Some(encrypted(113)), 73), (Some(Outcome::Unanswered), 1, 1, 1), "the encrypted one");
}
