//! A connection whose first messages come in segments too small to show a header: nothing of it is missing.

use plimsoll_model::Anomaly;
use plimsoll_testkit::{Segment, Side, Tcp, nbss, rpc, smb2};

use crate::conversation::{Sent, observe};

/// A connection with consecutive requests and responses, each cut into a first piece and the rest.
fn in_pieces(port: u16, rounds: &[(Vec<u8>, Vec<u8>)], pieces: &[usize]) -> Vec<Sent> {
    let mut tcp = Tcp::new(([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], port).into());
    let sent = |(segment, from): (Segment, Side)| Sent { segment, tag: None, from };
    let mut all: Vec<Sent> =
        tcp.handshake().into_iter().zip([Side::Client, Side::Server, Side::Client]).map(sent).collect();
    for (request, response) in rounds {
        for (from, message) in [(Side::Client, request), (Side::Server, response)] {
            let mut rest = message.as_slice();
            for &piece in pieces {
                let (first, behind) = rest.split_at(piece);
                all.push(sent((tcp.data(from, first), from)));
                rest = behind;
            }
            all.push(sent((tcp.data(from, rest), from)));
        }
    }
    all
}

fn rounds(port: u16) -> Vec<(Vec<u8>, Vec<u8>)> {
    if port == 445 {
        return (5..8).map(|id| (nbss(&smb2::echo(id).bytes()), nbss(&smb2::echoed(id).bytes()))).collect();
    }
    let call = |xid| rpc::record(&rpc::getattr(xid, &[7; 16]));
    (0x100..0x103).map(|xid| (call(xid), rpc::record(&rpc::reply(xid, &rpc::words(&[0; 22]))))).collect()
}

#[test]
fn the_first_request_is_not_lost() {
    for port in [445, 2049] {
        for pieces in [&[][..], &[1], &[3], &[4], &[4, 4], &[1, 1, 1, 1, 1], &[4, 23], &[27]] {
            let (transactions, coverage) = observe(&in_pieces(port, &rounds(port), pieces), usize::MAX);
            let unseen = coverage.unseen;
            assert_eq!((transactions.len(), unseen.paired), (3, 3), "{port} {pieces:?} {unseen:?}");
            // Segments are 100 µs apart: the request's time is that of its first byte.
            let last = pieces.len() as i64 * 2 + 1;
            let times: Vec<_> = transactions.iter().map(|one| one.timeline.response_time()).collect();
            assert_eq!(times, [Some(last * 100_000); 3], "{port} {pieces:?}");
        }
    }
}

/// The first segment does not show that the message is a compound.
#[test]
fn the_later_members_of_a_compound_are_not_lost() {
    let file = smb2::file(1);
    let request = nbss(&smb2::compound(&[smb2::read(5, file, 10_000), smb2::close(6, file).related()]));
    let answer = nbss(&smb2::compound(&[smb2::read_answer(5, &[7; 10_000]), smb2::closed(6).related()]));
    let rounds = [(request, answer)];
    for pieces in [&[][..], &[4], &[7], &[8], &[20], &[27]] {
        let (transactions, coverage) = observe(&in_pieces(445, &rounds, pieces), usize::MAX);
        let unseen = coverage.unseen;
        assert_eq!((transactions.len(), unseen.paired, unseen.unanswered()), (2, 2, 0), "{pieces:?} {unseen:?}");
        assert_eq!(coverage.anomalies.count(Anomaly::HeaderCutShort), 0, "{pieces:?}");
    }
}

#[test]
fn small_segments_of_something_else_begin_nothing() {
    let chat = |text: &str| text.as_bytes().to_vec();
    let rounds: Vec<_> =
        (0..20).map(|_| (chat("ls -l and some more of it\r\n"), chat("nothing here, sorry\r\n"))).collect();
    let (transactions, coverage) = observe(&in_pieces(2049, &rounds, &[1, 2]), usize::MAX);
    assert_eq!((transactions.len(), coverage.unseen.paired), (0, 0));
}

/// A capture of two places may have the second copy of a SYN behind data.
#[test]
fn a_second_copy_of_a_syn_begins_no_stream() {
    for port in [445, 2049] {
        let mut sent = in_pieces(port, &rounds(port), &[40]);
        // Behind the first piece of the first request.
        sent.insert(4, sent[0].clone());
        let (transactions, coverage) = observe(&sent, usize::MAX);
        assert_eq!(transactions.len(), 3, "{port}: {:?}", coverage.anomalies);
        assert_eq!(coverage.anomalies.count(Anomaly::BytesUnrecognised), 0, "{port}");
    }
}
