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
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
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

/// Packets were swapped in the capture, and an encrypted request waits.
#[test]
fn a_response_in_clear_before_its_request_hides_no_other_one() {
    const INVALID_PARAMETER: u32 = 0xC000_000D;
    let (mut traffic, mut tcp) = opened();
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::read_answer(9, &[7; 10]).bytes()));
    traffic.send(&mut tcp, Side::Client, &encrypted(328));
    let refusal = smb2::response(smb2::command::READ, 3, INVALID_PARAMETER).body(&[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    for (id, response) in [(2, smb2::read_answer(2, &[7; 10])), (3, refusal)] {
        let late = tcp.data(Side::Client, &nbss(&smb2::read(id, smb2::file(1), 10).bytes()));
        traffic.send(&mut tcp, Side::Server, &nbss(&response.bytes()));
        traffic.tcp(&late);
    }
    let unseen = observe_traffic(&traffic).1.unseen;
    assert_eq!((unseen.orphans(), unseen.paired), (1, 3), "{unseen:?}");
}

#[test]
fn an_encrypted_response_is_that_of_the_only_request() {
    let rows = |first: Option<Vec<u8>>, size: u32| {
        let (mut traffic, mut tcp) = opened();
        first.into_iter().for_each(|first| traffic.send(&mut tcp, Side::Client, &first));
        traffic.exchange(&mut tcp, &nbss(&smb2::read(2, smb2::file(1), 10).bytes()), &encrypted(size));
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

#[test]
fn an_encrypted_response_may_be_that_of_a_request_with_an_interim_one() {
    let (mut traffic, mut tcp) = opened();
    let notify = smb2::request(smb2::command::CHANGE_NOTIFY, 2).body(&[32; 32]);
    traffic.send(&mut tcp, Side::Client, &nbss(&notify.bytes()));
    let interim = smb2::response(smb2::command::CHANGE_NOTIFY, 2, smb2::PENDING).asynchronous(905);
    traffic.send(&mut tcp, Side::Server, &nbss(&interim.body(&[9, 0, 0, 0, 0, 0, 0, 0, 0]).bytes()));
    traffic.exchange(&mut tcp, &nbss(&smb2::read(3, smb2::file(1), 10).bytes()), &encrypted(73));
    let (rows, coverage) = observe_traffic(&traffic);
    let outcome = rows.iter().find(|row| row.id == Some(3)).map(|row| row.outcome);
    assert_eq!((outcome, coverage.unseen.encrypted), (Some(Outcome::Unanswered), 1));
}

/// With the key of a session, its encrypted requests are read: a response that does not open may be of any request.
#[cfg(feature = "decrypt")]
#[test]
fn an_encrypted_response_that_its_key_does_not_open_is_of_no_certain_request() {
    use plimsoll_observe::capture::{Frame, LinkType};
    let (mut traffic, mut tcp) = opened();
    traffic.exchange(&mut tcp, &nbss(&smb2::read(2, smb2::file(1), 10).bytes()), &encrypted(73));
    let mut keys = plimsoll_observe::decrypt::SessionKeys::default();
    keys.add("0700000000000000:28f2847263c83dc00621f742dd3f2e7b").unwrap();
    let mut observer = plimsoll_observe::Observer::new(Vec::new()).with_session_keys(keys);
    for (number, frame) in (1..).zip(&traffic.frames) {
        let (time_ns, original_len, link) = (Some(frame.time_ns), frame.original_len, LinkType::Ethernet);
        observer.frame(&Frame { number, time_ns, link, captured: &frame.bytes, original_len });
    }
    let rows: Vec<plimsoll_model::Transaction> = observer.finish().sink;
    let outcome = rows.iter().find(|row| row.id == Some(2)).map(|row| row.outcome);
    assert_eq!(outcome, Some(Outcome::Unanswered));
}
