//! Messages are built after MS-CIFS 2.2.3; the expected results follow from Swartz 1997, sections 4 and 5.

mod bench;

use plimsoll_model::{Endpoint, Transaction as Row};
use proptest::prelude::{any, proptest};

use super::*;
use crate::message::whole;
use crate::packet::Stamp;
use bench::{Bench, CLIENT, CLOSE, DENIED, OK, SERVER, build, request, response, row};

#[test]
fn an_id_comes_round_again_after_losses_both_ways() {
    let mut bench = Bench::new();
    bench.asks(&request(5, command::CLOSE, CLOSE));
    // Its answer is lost, and so is the next request with the same id; then comes the answer to that one.
    bench.context.holes = [1, 1];
    bench.sent[CLIENT] += 60;
    bench.says(&response(5, OK, command::CLOSE, &[]));
    bench.end();
    assert_eq!(bench.rows(), [], "nobody knows that it was not answered");
    assert_eq!((bench.count(Anomaly::PairAmbiguous), bench.output.tally.paired), (1, 0));
    assert_eq!(bench.count(Anomaly::RequestUnanswered), 0);
    assert_eq!(bench.output.tally.others().requests_after_gap, 1);
}

#[test]
fn losses_one_way_leave_no_doubt() {
    for holes in [[3, 0], [0, 3]] {
        let mut bench = Bench::new();
        bench.asks(&request(5, command::CLOSE, CLOSE));
        bench.context.holes = holes;
        bench.says(&response(5, OK, command::CLOSE, &[]));
        assert_eq!(bench.rows(), [row("CLOSE", Outcome::Succeeded, 1, Some(2))]);
    }
}

#[test]
fn an_id_taken_again_leaves_the_old_request_unanswered() {
    let mut bench = Bench::new();
    bench.asks(&request(5, command::CLOSE, CLOSE));
    bench.asks(&request(5, command::FLUSH, &[7]));
    bench.says(&response(5, OK, command::FLUSH, &[]));
    let expected = [row("CLOSE", Outcome::Unanswered, 1, None), row("FLUSH", Outcome::Succeeded, 2, Some(3))];
    assert_eq!(bench.rows(), expected);
    assert_eq!(bench.count(Anomaly::IdReused), 1);
}

#[test]
fn answers_to_other_requests_are_not_paired() {
    let wrong_tree = {
        let mut answer = response(5, OK, command::CLOSE, &[]);
        answer[24] = 2;
        answer
    };
    let wrong_user = {
        let mut answer = response(5, OK, command::CLOSE, &[]);
        answer[28] = 2;
        answer
    };
    for other in [response(5, OK, command::FLUSH, &[]), wrong_tree, wrong_user] {
        let mut bench = Bench::new();
        bench.asks(&request(5, command::CLOSE, CLOSE));
        bench.says(&other);
        assert_eq!((bench.rows().len(), bench.count(Anomaly::ResponseMismatch)), (0, 1));
        bench.says(&response(5, OK, command::CLOSE, &[]));
        assert_eq!(bench.rows(), [row("CLOSE", Outcome::Succeeded, 1, Some(3))]);
    }
}

#[test]
fn an_answer_that_does_not_acknowledge_its_request_is_older() {
    let mut bench = Bench::new();
    let before = bench.sent[CLIENT];
    bench.asks(&request(5, command::CLOSE, CLOSE));
    bench.message(SERVER, &response(5, OK, command::CLOSE, &[]), false, before);
    assert_eq!((bench.rows().len(), bench.count(Anomaly::ResponseMismatch)), (0, 1));
    bench.end();
    assert_eq!(bench.rows(), [row("CLOSE", Outcome::Unanswered, 1, None)]);
}

/// The response to a READ that waits. File data may look like its header, but not before the end of a message of its length.
#[test]
fn a_response_to_a_read_is_due_with_its_own_length_alone() {
    const LEN: u16 = 5_000;
    let mut bench = Bench::new();
    bench.asks(&request(5, command::READ_ANDX, &[0xff, 0, 9, 0, 0, LEN, LEN, 0, 0, 0, 0, 0]));
    let words = [0xff, 0, 0, 0, 0, LEN, 59, 0, 0, 0, 0, 0];
    let message = build(0x80, OK, 5, &[(command::READ_ANDX, &words, &[7; LEN as usize])]);
    let len = u32::try_from(message.len()).unwrap();
    let mut is_due = |len, direction| bench.smb1.is_due(&message, len, direction);
    assert!(is_due(len, SERVER) && is_due(len + 8, SERVER), "with padding");
    assert!(!is_due(len - 1, SERVER) && !is_due(len + 9, SERVER) && !is_due(len, CLIENT));
}

#[test]
fn a_raw_write_has_two_parts() {
    let mut bench = Bench::new();
    // FID, Count 5000, Reserved, Offset, Timeout, WriteMode, Remaining, DataLength 8, DataOffset.
    let write = |mode| build(0, OK, 9, &[(0x1d, &[7, 5_000, 0, 0, 0, 0, 0, mode, 0, 0, 8, 59], &[1; 8])]);
    assert!(!bench.smb1.expects_raw(CLIENT));
    bench.asks(&write(0));
    assert!(!bench.smb1.expects_raw(CLIENT), "not before the server has asked for it");
    bench.says(&response(9, OK, 0x1d, &[0xffff]));
    assert!(!bench.smb1.expects_raw(SERVER));
    bench.block(CLIENT, 4_992);
    assert!(!bench.smb1.expects_raw(CLIENT));
    bench.end();
    let sync = row("WRITE_RAW", Outcome::Succeeded, 1, Some(2));
    assert_eq!(bench.rows(), [sync.clone(), row("WRITE_RAW async portion", Outcome::Unanswered, 3, None)]);
    let payloads: Vec<_> = bench.output.sink.iter().map(|row| row.payload_bytes).collect();
    assert_eq!(payloads, [Some(8), Some(4_992)]);
    assert_eq!((bench.count(Anomaly::RequestUnanswered), bench.output.tally.paired), (0, 1));

    // Write-through: the block is answered too.
    let mut bench = Bench::new();
    bench.asks(&write(1));
    bench.says(&response(9, OK, 0x1d, &[0xffff]));
    bench.block(CLIENT, 4_992);
    bench.says(&response(9, OK, 0x20, &[5_000]));
    assert_eq!(bench.rows(), [sync, row("WRITE_RAW async portion", Outcome::Succeeded, 3, Some(4))]);

    // Refused: no block follows.
    let mut bench = Bench::new();
    bench.asks(&write(0));
    bench.says(&response(9, DENIED, 0x20, &[0]));
    assert!(!bench.smb1.expects_raw(CLIENT));
    assert_eq!(bench.rows(), [row("WRITE_RAW", Outcome::Refused, 1, Some(2))]);
}

#[test]
fn a_raw_read_is_answered_by_a_block_even_an_empty_one() {
    for len in [0, 30_000] {
        let mut bench = Bench::new();
        bench.asks(&request(9, 0x1a, &[7, 0, 0, 30_000, 0, 0, 0, 0]));
        assert!(!bench.smb1.expects_raw(CLIENT));
        bench.block(SERVER, len);
        assert!(!bench.smb1.expects_raw(SERVER));
        assert_eq!(bench.rows(), [row("READ_RAW", Outcome::Succeeded, 1, Some(2))]);
        assert_eq!(bench.output.sink[0].payload_bytes, Some(len as u64));
    }
}

#[test]
fn a_lost_block_is_not_waited_for() {
    let mut bench = Bench::new();
    bench.asks(&request(9, 0x1a, &[7, 0, 0, 30_000, 0, 0, 0, 0]));
    bench.asks(&request(10, command::CLOSE, CLOSE));
    assert!(!bench.smb1.expects_raw(SERVER), "the client would not have gone on without it");
    bench.end();
    assert_eq!(bench.rows().len(), 2);
    assert_eq!(bench.output.tally.others().requests_waiting, 2);
}

#[test]
fn a_logon_of_one_step_has_the_session_of_its_response() {
    let session = |status| {
        let mut bench = Bench::new();
        let mut setup = request(6, command::SESSION_SETUP_ANDX, &[0; 13]);
        setup[28..30].fill(0);
        bench.asks(&setup);
        bench.says(&response(6, status, command::SESSION_SETUP_ANDX, &[0; 3]));
        bench.output.sink.iter().map(|row| row.session).collect::<Vec<_>>()
    };
    assert_eq!((session(OK), session(DENIED)), (vec![Some(100)], vec![None]));
}

#[test]
fn commands_of_a_chain_are_rows_and_an_error_ends_them() {
    let lock: &[u16] = &[0, 0, 7, 0, 0, 0, 0, 1];
    let read: &[u16] = &[0, 0, 7, 0, 0, 100, 0, 0, 0, 0];
    let chain = build(0, OK, 6, &[(0x24, lock, &[0; 10]), (0x2e, read, &[]), (0x04, CLOSE, &[])]);
    let mut bench = Bench::new();
    bench.asks(&chain);
    let answer = build(
        0x80,
        OK,
        6,
        &[(0x24, &[0, 0], &[]), (0x2e, &[0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0], b"abc"), (0x04, &[], &[])],
    );
    bench.says(&answer);
    let names = ["LOCKING_ANDX", "READ_ANDX", "CLOSE"];
    assert_eq!(bench.rows(), names.map(|name| row(name, Outcome::Succeeded, 1, Some(2))));
    let rows = &bench.output.sink;
    assert_eq!(rows.iter().map(|row| row.compound_position).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert_eq!(rows.iter().filter_map(|row| row.request_bytes).sum::<u64>(), chain.len() as u64);
    assert_eq!(rows.iter().map(|row| row.response_bytes.unwrap_or(0)).sum::<u64>(), answer.len() as u64);
    assert_eq!(rows[1].payload_bytes, Some(3));

    let mut bench = Bench::new();
    bench.asks(&chain);
    bench.says(&build(0x80, DENIED, 6, &[(0x24, &[0, 0], &[]), (0x2e, &[], &[])]));
    let expected = [
        row("LOCKING_ANDX", Outcome::Succeeded, 1, Some(2)),
        row("READ_ANDX", Outcome::Refused, 1, Some(2)),
        row("CLOSE", Outcome::Failed, 1, None),
    ];
    assert_eq!(bench.rows(), expected);
    assert_eq!((bench.output.tally.paired, bench.count(Anomaly::RequestUnanswered)), (2, 0));
}

/// TRANSACTION2 QUERY_PATH_INFORMATION with 10 of 20 bytes of parameters.
fn primary() -> Vec<u8> {
    build(0, OK, 8, &[(0x32, &[20, 0, 10, 40, 0, 0, 0, 0, 0, 10, 66, 0, 0, 1, 5], &[0; 10])])
}

fn secondary() -> Vec<u8> {
    build(0, OK, 8, &[(0x33, &[20, 0, 10, 53, 10, 0, 0, 0, 0], &[0; 10])])
}

/// A part of its answer: 4 bytes of data at a displacement, of 8.
fn part(at: u16) -> Vec<u8> {
    build(0x80, OK, 8, &[(0x32, &[0, 8, 0, 0, 0, 0, 4, 56, at, 0], &[0; 4])])
}

#[test]
fn a_transaction_ends_with_its_last_part_both_ways() {
    let mut bench = Bench::new();
    bench.asks(&primary());
    bench.says(&response(8, OK, 0x32, &[]));
    assert!(bench.rows().is_empty(), "the interim answer ends nothing");
    bench.asks(&secondary());
    bench.says(&part(0));
    assert!(bench.rows().is_empty());
    bench.says(&part(4));
    assert_eq!(bench.rows(), [row("TRANSACTION2 QUERY_PATH_INFORMATION", Outcome::Succeeded, 3, Some(5))]);
    let row = &bench.output.sink[0];
    assert_eq!(row.frames.request_first.map(u64::from), Some(1));
    assert_eq!(row.frames.response_first.map(u64::from), Some(4));
    assert_eq!((row.request_packets, row.response_packets), (2, Some(2)));
    assert_eq!(row.request_bytes, Some((primary().len() + secondary().len()) as u64));
    assert_eq!(row.response_bytes, Some(2 * part(0).len() as u64));
}

#[test]
fn a_transaction_whose_last_parts_were_lost_has_no_end() {
    let mut bench = Bench::new();
    bench.asks(&primary());
    bench.says(&part(0));
    bench.end();
    let row = &bench.output.sink[0];
    assert_eq!((row.frames.request_last, row.frames.response_last), (None, None));
    assert_eq!(bench.count(Anomaly::RequestEndMissing), 1);
    assert_eq!(bench.count(Anomaly::ResponseEndMissing), 1);
}

#[test]
fn messages_that_nobody_answers_are_one_way() {
    let mut bench = Bench::new();
    bench.asks(&request(5, command::CLOSE, CLOSE));
    bench.asks(&request(5, command::NT_CANCEL, &[]));
    let release: &[u16] = &[0xff, 0, 7, 2, 0, 0, 0, 0];
    bench.asks(&request(6, command::LOCKING_ANDX, release));
    let mut notice = request(0xffff, command::LOCKING_ANDX, release);
    notice[26..28].copy_from_slice(&[0xff, 0xff]);
    bench.says(&notice);
    bench.says(&response(5, 0xc000_0120, command::CLOSE, &[]));
    bench.end();
    assert_eq!(bench.output.one_way, 3);
    assert_eq!(bench.rows(), [row("CLOSE", Outcome::Cancelled, 1, Some(5))]);
}

/// Samba refuses the acknowledgement of a client that has closed the file.
#[test]
fn an_acknowledgement_that_the_server_refuses_is_an_operation() {
    let release: &[u16] = &[0xff, 0, 7, 2, 0, 0, 0, 0];
    let mut bench = Bench::new();
    bench.asks(&request(6, command::LOCKING_ANDX, release));
    bench.says(&response(6, DENIED, command::LOCKING_ANDX, &[]));
    assert_eq!(bench.rows(), [row("LOCKING_ANDX", Outcome::Refused, 1, Some(2))]);
    assert_eq!((bench.count(Anomaly::ResponseWithoutRequest), bench.output.one_way), (0, 0));
    bench.says(&response(6, DENIED, command::LOCKING_ANDX, &[]));
    assert_eq!(bench.count(Anomaly::ResponseWithoutRequest), 1, "it is answered once");
    // Another request takes the id of an acknowledgement without a response.
    let mut bench = Bench::new();
    bench.asks(&request(6, command::LOCKING_ANDX, release));
    let unlock: &[u16] = &[0xff, 0, 7, 0, 0, 0, 1, 0];
    (0..2).for_each(|_| {
        bench.asks(&request(6, command::LOCKING_ANDX, unlock));
        bench.says(&response(6, OK, command::LOCKING_ANDX, &[]));
    });
    bench.says(&response(6, OK, command::LOCKING_ANDX, &[]));
    assert_eq!((bench.rows().len(), bench.count(Anomaly::ResponseWithoutRequest), bench.output.one_way), (2, 1, 1));
}

#[test]
fn the_first_of_several_echoes_is_the_pair() {
    let mut bench = Bench::new();
    bench.asks(&request(5, command::ECHO, &[3]));
    (1..=3).for_each(|number| bench.says(&response(5, OK, command::ECHO, &[number])));
    assert_eq!(bench.rows(), [row("ECHO", Outcome::Succeeded, 1, Some(2))]);
    assert_eq!((bench.output.one_way, bench.count(Anomaly::ResponseWithoutRequest)), (2, 0));
}

#[test]
fn a_negotiation_without_a_dialect_is_refused() {
    let mut bench = Bench::new();
    for (id, dialect) in [(5, 0_u16), (6, 0xffff)] {
        bench.asks(&request(id, command::NEGOTIATE, &[]));
        bench.says(&response(id, OK, command::NEGOTIATE, &[dialect]));
    }
    let outcomes: Vec<Outcome> = bench.rows().iter().map(|row| row.1).collect();
    assert_eq!(outcomes, [Outcome::Succeeded, Outcome::Refused]);
}

#[test]
fn of_several_negotiations_the_first_one_is_answered() {
    let mut bench = Bench::new();
    (0..2).for_each(|_| bench.asks(&request(0, command::NEGOTIATE, &[])));
    bench.says(&response(0, OK, command::NEGOTIATE, &[0]));
    let expected = [row("NEGOTIATE", Outcome::Unanswered, 2, None), row("NEGOTIATE", Outcome::Succeeded, 1, Some(3))];
    assert_eq!((bench.rows(), bench.count(Anomaly::IdReused)), (expected.to_vec(), 1));
}

#[test]
fn a_negotiation_answered_in_smb2_is_a_pair() {
    let mut bench = Bench::new();
    bench.asks(&request(5, command::NEGOTIATE, &[]));
    let mut answer = vec![0; 64];
    answer[..6].copy_from_slice(b"\xfeSMB\x40\0");
    answer[16] = 1;
    let message = whole(&answer, Stamp { time_ns: 0, frame: 2 });
    assert!(bench.smb1.is_negotiated_in_smb2(&message, SERVER, &bench.context, &mut bench.output));
    assert!(!bench.smb1.is_negotiated_in_smb2(&message, SERVER, &bench.context, &mut bench.output));
    bench.end();
    assert_eq!((bench.rows().len(), bench.output.one_way), (1, 0));
}

#[test]
fn a_cut_header_is_counted_and_no_cut_panics() {
    let chain = build(0, OK, 6, &[(0x24, &[0, 0, 7, 0, 0, 0, 0, 1], &[0; 10]), (0x04, CLOSE, &[])]);
    for whole in [chain, primary(), secondary(), part(0)] {
        for cut in 4..whole.len() {
            let mut bench = Bench::new();
            bench.asks(&whole[..cut]);
            bench.says(&whole[..cut]);
            bench.end();
            assert_eq!(bench.count(Anomaly::HeaderCutShort), if cut < 32 { 2 } else { 0 }, "cut at {cut}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken(messages in proptest::collection::vec((any::<bool>(), any::<bool>(), proptest::collection::vec(any::<u8>(), 0..120)), 0..12)) {
        let mut bench = Bench::new();
        for (from_server, raw, mut bytes) in messages {
            if !raw {
                bytes.splice(..bytes.len().min(4), *b"\xffSMB");
            }
            bench.message(usize::from(from_server), &bytes, raw, 0);
        }
        bench.end();
    }
}

/// A client with one outstanding request may use the same id for all requests.
#[test]
fn after_losses_both_ways_an_answer_is_believed_if_its_packet_acknowledges_nothing_behind_the_request() {
    let mut bench = Bench::new();
    bench.asks(&request(0, command::CLOSE, CLOSE));
    bench.context.holes = [1, 1];
    bench.says(&response(0, OK, command::CLOSE, &[]));
    assert_eq!(bench.rows(), [row("CLOSE", Outcome::Succeeded, 1, Some(2))]);
    assert_eq!((bench.count(Anomaly::PairAmbiguous), bench.count(Anomaly::RequestUnanswered)), (0, 0));
}
