//! A capture that begins inside a response, and in which no segment shows where the next one begins: requests count as missing.

use plimsoll_testkit::{Side, Tcp, rpc};

use crate::conversation::{Sent, observe};

/// Bytes of a response with its record mark. No response begins or ends where a segment does.
const RESPONSE: usize = 5_004;
const REST_OF_FIRST: usize = 3_000;
const SEGMENT: usize = 1_448;

#[test]
fn requests_whose_responses_were_not_recognised_do_not_wait() {
    let mut tcp = Tcp::new(([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
    let mut sent = Vec::new();
    let calls = 1..5;
    for xid in calls.clone() {
        let segment = tcp.data(Side::Client, &rpc::record(&rpc::getattr(xid, &[7; 16])));
        sent.push(Sent { segment, tag: None, from: Side::Client });
    }
    let mut stream = vec![0x55; REST_OF_FIRST];
    for xid in calls {
        stream.extend(rpc::record(&rpc::reply(xid, &vec![0x55; RESPONSE - 4 - 24])));
    }
    assert_eq!(stream.len(), REST_OF_FIRST + 4 * RESPONSE);
    // The capture ends inside the last response, so its header cannot be confirmed either.
    stream.truncate(stream.len() - 100);
    for piece in stream.chunks(SEGMENT) {
        sent.push(Sent { segment: tcp.data(Side::Server, piece), tag: None, from: Side::Server });
    }
    let (transactions, coverage) = observe(&sent, usize::MAX);
    let unseen = coverage.unseen;
    assert_eq!((transactions.len(), unseen.paired), (4, 0), "{unseen:?}");
    assert_eq!((unseen.requests_waiting, unseen.requests_after_gap), (0, 4), "{unseen:?}");
    assert!(unseen.missing.high >= 4, "{unseen:?}");
}
