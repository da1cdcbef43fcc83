//! A capture that begins inside a response, and in which no segment shows where the next one begins: requests count as missing.

use plimsoll_model::Coverage;
use plimsoll_model::Transaction;
use plimsoll_testkit::{Segment, Side, Tcp, nbss, rpc, smb1, smb2};

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

/// A response of `messages` whose first segment, with the first header, is not in the capture; and 20 requests with their responses.
fn without_a_header(messages: &[u8]) -> (Vec<Transaction>, Coverage) {
    let mut tcp = Tcp::between_ports(700, 445);
    let sent = |from: Side| move |segment: Segment| Sent { segment, tag: None, from };
    let mut all: Vec<Sent> = tcp.handshake().into_iter().map(sent(Side::Client)).collect();
    for id in 5..8 {
        all.push(sent(Side::Client)(tcp.data(Side::Client, &nbss(&smb2::read(id, smb2::file(1), 5_000).bytes()))));
    }
    all.extend(tcp.split(Side::Server, messages, SEGMENT).into_iter().skip(1).map(sent(Side::Server)));
    for id in 8..28 {
        all.push(sent(Side::Client)(tcp.data(Side::Client, &nbss(&smb2::echo(id).bytes()))));
        all.push(sent(Side::Server)(tcp.data(Side::Server, &nbss(&smb2::echoed(id).bytes()))));
    }
    observe(&all, usize::MAX)
}

fn ids_of_pairs(transactions: &[Transaction]) -> Vec<u64> {
    let paired = transactions.iter().filter(|one| one.timeline.response_first.is_some());
    paired.filter_map(|one| one.id).collect()
}

/// File data that look like the header of a response of 16 MiB: a capture of SMB, or a text in which that is not the whole header.
#[test]
fn file_data_that_look_like_a_header_hide_no_messages() {
    for structure_size in [64, 65] {
        let mut data = vec![0x55; 3 * SEGMENT];
        let mut header = [vec![0, 0xff, 0xff, 0xff], smb2::read_answer(6, &[]).bytes()].concat();
        header[8] = structure_size;
        data[2 * SEGMENT..2 * SEGMENT + header.len()].copy_from_slice(&header);
        let (transactions, coverage) = without_a_header(&nbss(&smb2::read_answer(5, &data).bytes()));
        assert_eq!(ids_of_pairs(&transactions), (8..28).collect::<Vec<_>>());
        let unseen = coverage.unseen;
        assert_eq!((unseen.paired, unseen.requests_after_gap, unseen.orphans()), (20, 3, 0), "{unseen:?}");
    }
}

/// A header in the middle of a segment says where the next message begins.
#[test]
fn a_header_of_smb_where_a_response_ends_confirms_both() {
    // Those of the first session are due, and need not be confirmed.
    for (session, lost) in [(7, 1), (9, 2)] {
        let response = |id| nbss(&smb2::read_answer(id, &[0x55; 5_000]).session(session).bytes());
        let (transactions, coverage) = without_a_header(&[response(5), response(6), response(7)].concat());
        assert_eq!(ids_of_pairs(&transactions), (5 + lost..28).collect::<Vec<_>>());
        assert_eq!(coverage.unseen.requests_after_gap, lost);
    }
}

/// The pairs of four requests and their responses, one behind the other; the segment with the second header of the large messages is not in
/// the capture.
fn pairs_without_the_second_header(messages: impl Fn(u64) -> [Vec<u8>; 2]) -> Vec<u64> {
    let mut tcp = Tcp::between_ports(700, 445);
    let mut all: Vec<Sent> = Vec::new();
    for (side, from) in [Side::Client, Side::Server].into_iter().enumerate() {
        let stream: Vec<u8> = (1..=4).flat_map(|id| nbss(&messages(id)[side])).collect();
        let second = nbss(&messages(1)[side]).len() / SEGMENT;
        let mut segments = tcp.split(from, &stream, SEGMENT);
        if stream.len() > 1 << 16 {
            segments.remove(second);
        }
        all.extend(segments.into_iter().map(|segment| Sent { segment, tag: None, from }));
    }
    ids_of_pairs(&observe(&all, usize::MAX).0)
}

#[test]
fn only_the_message_without_its_header_is_lost() {
    let data = vec![7; 1 << 16];
    let reads = |id| [smb2::read(id, smb2::file(1), 1 << 16), smb2::read_answer(id, &data)].map(|one| one.bytes());
    assert_eq!(pairs_without_the_second_header(reads), [1, 3, 4]);
    let writes = |id| [smb2::write(id, smb2::file(1), &data), smb2::written(id, 1 << 16)].map(|one| one.bytes());
    assert_eq!(pairs_without_the_second_header(writes), [1, 3, 4]);
}

#[test]
fn only_the_response_of_smb1_without_its_header_is_lost() {
    const LEN: u16 = 0xf000;
    let reads = |id: u64| {
        let [asks, says] = [smb1::request, smb1::response].map(|make| make(smb1::READ_ANDX, 300, id as u16));
        let asks = asks.words(&[0xff, 0, 9, 0, 0, LEN, LEN, 0, 0, 0, 0, 0]);
        let says = says.words(&[0xff, 0, 0, 0, 0, LEN, 59, 0, 0, 0, 0, 0]).data(&vec![7; LEN.into()]);
        [asks.bytes(), says.bytes()]
    };
    let found = pairs_without_the_second_header(reads);
    assert_eq!(found.into_iter().map(|id| id & 0xffff).collect::<Vec<_>>(), [1, 3, 4]);
}
