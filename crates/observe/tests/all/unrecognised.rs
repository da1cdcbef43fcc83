//! A capture that begins inside a response, and in which no segment shows where the next one begins: requests count as missing.

use plimsoll_model::Coverage;
use plimsoll_model::Transaction;
use plimsoll_testkit::{Side, Tcp, rpc};

use crate::conversation::{Sent, observe};

const SEGMENT: usize = 1_448;
const REQUESTS: u32 = 4;

/// Four requests, and their responses of `response` bytes with the record mark. The capture begins inside the previous response, and ends
/// before the end of the last one. No response begins or ends at a segment boundary.
fn begun_inside_a_response(rest_of_first: usize, response: usize) -> (Vec<Transaction>, Coverage) {
    let mut tcp = Tcp::new(([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
    let mut sent = Vec::new();
    for xid in 1..=REQUESTS {
        let segment = tcp.data(Side::Client, &rpc::record(&rpc::getattr(xid, &[7; 16])));
        sent.push(Sent { segment, tag: None, from: Side::Client });
    }
    let mut stream = vec![0x55; rest_of_first];
    for xid in 1..=REQUESTS {
        stream.extend(rpc::record(&rpc::reply(xid, &vec![0x55; response - 4 - 24])));
    }
    assert_eq!(stream.len(), rest_of_first + REQUESTS as usize * response);
    stream.truncate(stream.len() - 100);
    for piece in stream.chunks(SEGMENT) {
        sent.push(Sent { segment: tcp.data(Side::Server, piece), tag: None, from: Side::Server });
    }
    observe(&sent, usize::MAX)
}

/// The header of the first response says where the second one begins, and so from there on all are recognised; the end of the last one is
/// not in the capture.
#[test]
fn a_header_where_a_response_ends_confirms_both() {
    let (transactions, coverage) = begun_inside_a_response(3_000, 5_004);
    let paired: Vec<_> =
        transactions.iter().filter(|one| one.timeline.response_last.is_some()).map(|one| one.id).collect();
    let unseen = coverage.unseen;
    assert_eq!((paired, unseen.paired), (vec![Some(2), Some(3)], 3), "{unseen:?}");
    assert_eq!((unseen.requests_waiting, unseen.requests_after_gap), (0, 1), "{unseen:?}");
}

/// All headers are cut apart by the ends of segments.
#[test]
fn requests_whose_responses_were_not_recognised_do_not_wait() {
    let (transactions, coverage) = begun_inside_a_response(2 * SEGMENT - 10, 4 * SEGMENT);
    let unseen = coverage.unseen;
    assert_eq!((transactions.len(), unseen.paired), (4, 0), "{unseen:?}");
    assert_eq!((unseen.requests_waiting, unseen.requests_after_gap), (0, 4), "{unseen:?}");
    assert!(unseen.missing.high >= 4, "{unseen:?}");
}
