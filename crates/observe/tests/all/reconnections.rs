//! Requests that reconnect durable handles, and their outcomes.

use plimsoll_model::{Outcome, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

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
    let mut observer = Observer::new(Vec::<Transaction>::new());
    for (number, frame) in (1..).zip(&traffic.frames) {
        let (time_ns, link) = (Some(frame.time_ns), LinkType::Ethernet);
        observer.frame(&Frame { number, time_ns, link, captured: &frame.bytes, original_len: frame.original_len });
    }
    let rows = observer.finish().sink;
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
