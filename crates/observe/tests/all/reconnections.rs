//! Requests that reconnect durable handles, and their outcomes.

use plimsoll_model::Outcome;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use crate::conversation::observed;

/// STATUS_OBJECT_NAME_NOT_FOUND, STATUS_ACCESS_DENIED.
const STATUSES: [u32; 2] = [0xC000_0034, 0xC000_0022];

/// CREATE of the file "file" with an empty create context of this name.
///
/// Spec: MS-SMB2 2.2.13.2
fn create_with(context: [u8; 4]) -> Vec<u8> {
    let mut bytes = smb2::create(1, "file").bytes();
    bytes[64 + 48..64 + 52].copy_from_slice(&128_u32.to_le_bytes());
    bytes[64 + 52..64 + 56].copy_from_slice(&24_u32.to_le_bytes());
    bytes.resize(128, 0);
    // Next, the name's offset and length, a reserved field, the data's offset and length.
    bytes.extend([0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(context);
    bytes.extend([0; 4]);
    bytes
}

fn outcome(context: [u8; 4], status: u32) -> Outcome {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.send(&mut tcp, Side::Client, &nbss(&create_with(context)));
    let refusal = smb2::response(smb2::command::CREATE, 1, status).body(&[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    traffic.send(&mut tcp, Side::Server, &nbss(&refusal.bytes()));
    let rows = observed(&traffic).sink;
    assert_eq!((rows.len(), rows[0].status), (1, Some(status)));
    rows[0].outcome
}

/// Of a file that is opened by its name, "not found" is an ordinary answer. A client that wants its open file back has lost it.
#[test]
fn a_file_that_is_not_given_back_is_a_refusal() {
    let [not_found, denied] = STATUSES;
    for context in [*b"DHnC", *b"DH2C"] {
        assert_eq!(outcome(context, not_found), Outcome::Refused);
        assert_eq!(outcome(context, denied), Outcome::Refused);
    }
    for context in [*b"DHnQ", *b"DH2Q", *b"RqLs"] {
        assert_eq!(outcome(context, not_found), Outcome::Expected);
    }
}

/// CREATE with an empty name that reconnects this handle.
///
/// Spec: MS-SMB2 2.2.13.2.12
fn reconnect(handle: [u8; 16]) -> Vec<u8> {
    let mut bytes = smb2::create(1, "").bytes();
    bytes[64 + 48..64 + 52].copy_from_slice(&120_u32.to_le_bytes());
    bytes[64 + 52..64 + 56].copy_from_slice(&60_u32.to_le_bytes());
    bytes.extend([0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 36, 0, 0, 0]);
    bytes.extend(b"DH2C\0\0\0\0");
    bytes.extend(handle);
    bytes.extend([0; 20]);
    nbss(&bytes)
}

/// The server ignores the name.
#[test]
fn a_handle_that_is_given_back_has_the_path_of_its_file() {
    let paths = |handle| {
        let mut traffic = Traffic::new(Link::Ethernet);
        let (mut before, mut tcp) = (Tcp::between_ports(700, 445), Tcp::between_ports(701, 445));
        traffic.send(&mut before, Side::Client, &nbss(&smb2::create(1, "file").bytes()));
        traffic.send(&mut before, Side::Server, &nbss(&smb2::created(1, smb2::file(1)).bytes()));
        traffic.exchange(&mut tcp, &reconnect(handle), &nbss(&smb2::created(1, smb2::file(2)).bytes()));
        traffic.exchange(&mut tcp, &nbss(&smb2::close(2, smb2::file(2)).bytes()), &nbss(&smb2::closed(2).bytes()));
        let observed = observed(&traffic);
        observed.sink.iter().map(|row| observed.names.text(row.path).map(str::to_owned)).collect::<Vec<_>>()
    };
    let file = || Some("file".to_owned());
    assert_eq!(paths(smb2::file(1)), [file(), file(), file()]);
    assert_eq!(paths(smb2::file(9)), [file(), None, None], "its open was not captured");
}
