//! Operations of 4.2: their requests, and answers that only a broken or hostile server gives.

use plimsoll_client::operation::{Cause, Failure};
use plimsoll_client::{Client, FileKey, Operation, Reply, Tag};
use plimsoll_model::Outcome;
use plimsoll_testkit::nfs4::Asked;
use plimsoll_wire::xdr::Emit;

use super::play::Play;
use super::table::last;

/// Results as they should be up to the last operation, which succeeds with this result.
fn results(call: &Asked, result: &[u8]) -> Vec<u8> {
    let mut results = call.failing(last(call), 1);
    let end = results.len() - 4;
    [0, end].iter().for_each(|&at| results[at..at + 4].fill(0));
    results.extend(result);
    results
}

/// A result of COPY.
fn copied(ids: u32, count: u64, committed: u32, verifier: u64, requirements: [u32; 2]) -> Vec<u8> {
    let mut result = Vec::new();
    result.put_u32(ids);
    (0..ids.min(2)).for_each(|_| result.put_fixed(&[3; 16]));
    result.put_u64(count);
    result.put_u32(committed);
    result.put_u64(verifier);
    requirements.iter().for_each(|&word| result.put_u32(word));
    result
}

/// A segment of READ_PLUS: offset, and bytes or the length of a hole.
type Segment<'a> = (u64, Result<&'a [u8], u64>);

fn contents(eof: u32, count: u32, segments: &[Segment<'_>]) -> Vec<u8> {
    let mut result = Vec::new();
    [eof, count].iter().for_each(|&word| result.put_u32(word));
    for (offset, content) in segments {
        result.put_u32(u32::from(content.is_err()));
        result.put_u64(*offset);
        match content {
            Ok(bytes) => result.put_opaque(bytes),
            Err(length) => result.put_u64(*length),
        }
    }
    result
}

type Begin = fn(FileKey) -> Operation<'static>;

fn opened(play: &Play) -> FileKey {
    match play.done(Tag(1)) {
        Some(Ok(Reply::Opened { file, .. })) => file,
        other => panic!("{other:?}"),
    }
}

/// Begins an operation in a session of 4.2, and answers its first call with a result.
fn answered(operation: Begin, result: &[u8]) -> Play {
    let mut play = Play::connected_in(2);
    let file = play.open();
    play.begin(9, &operation(file));
    let call = play.calls.remove(0);
    let results = results(&call, result);
    play.answer(&call, &results);
    play
}

fn copy(file: FileKey) -> Operation<'static> {
    Operation::Copy { from: file, to: file, length: 1_000 }
}

fn read(file: FileKey) -> Operation<'static> {
    Operation::ReadPlus { file, offset: 100, length: 50, keep: true }
}

fn seek_data(file: FileKey) -> Operation<'static> {
    Operation::SeekData { file, offset: 100 }
}

fn seek_hole(file: FileKey) -> Operation<'static> {
    Operation::SeekHole { file, offset: 100 }
}

#[test]
fn answers_that_violate_the_specification_end_in_a_failure() {
    let (whole, hole) = (Ok(&[1; 50][..]), Err(50));
    let read_of = |count: u32, segments: &[Segment<'_>]| (read as Begin, contents(0, count, segments));
    let cases: Vec<(&str, (Begin, Vec<u8>))> = vec![
        ("more is copied than was asked for", (copy, copied(0, 1_001, 2, 1, [1, 1]))),
        ("all bytes that there are", (copy, copied(0, u64::MAX, 2, 1, [1, 1]))),
        ("a copy that goes on", (copy, copied(1, 1_000, 2, 1, [1, 0]))),
        ("the ID of a copy that is complete", (copy, copied(1, 1_000, 2, 1, [1, 1]))),
        ("four billion IDs", (copy, copied(u32::MAX, 1_000, 2, 1, [1, 1]))),
        ("a copy that is not complete", (copy, copied(0, 1_000, 2, 1, [1, 0]))),
        ("a part that is not the first one", (copy, copied(0, 999, 2, 1, [0, 1]))),
        ("a copy of no known durability", (copy, copied(0, 1_000, 3, 1, [1, 1]))),
        ("a copy that is cut", (copy, copied(0, 1_000, 2, 1, [1, 1])[..28].to_vec())),
        ("bytes behind a copy", (copy, [copied(0, 1_000, 2, 1, [1, 1]), vec![0; 4]].concat())),
        ("more data than was asked for", read_of(1, &[(100, Ok(&[1; 51]))])),
        ("data before the range", read_of(1, &[(99, whole)])),
        ("data behind a gap", read_of(1, &[(101, Ok(&[1; 4]))])),
        ("data twice", read_of(2, &[(100, Ok(&[1; 10])), (100, Ok(&[1; 10]))])),
        ("data behind a hole that fills the range", read_of(2, &[(100, hole), (150, Ok(&[1]))])),
        ("a hole before the range", read_of(1, &[(0, Err(99))])),
        ("a hole behind a gap", read_of(1, &[(101, hole)])),
        ("a hole without end", read_of(1, &[(100, Err(u64::MAX))])),
        ("more segments than there are", read_of(2, &[(100, whole)])),
        ("four billion segments", read_of(u32::MAX, &[(100, whole)])),
        ("fewer segments than there are", read_of(1, &[(100, Ok(&[1; 4])), (104, Ok(&[1; 4]))])),
        ("a segment of no kind", (read, [contents(0, 1, &[]), vec![0, 0, 0, 2], vec![0; 12]].concat())),
        ("contents that are cut", (read, contents(0, 1, &[(100, whole)])[..40].to_vec())),
        ("an end that is neither", (read, contents(2, 0, &[]))),
        ("data before the search", (seek_data, [vec![0; 11], vec![99]].concat())),
        ("a hole before the search", (seek_hole, [vec![0; 11], vec![99]].concat())),
        ("an end of a search that is neither", (seek_hole, [vec![0, 0, 0, 7], vec![0; 8]].concat())),
        ("a search without result", (seek_data, vec![])),
    ];
    for (what, (operation, result)) in cases {
        let play = answered(operation, &result);
        let failure = play.done(Tag(9)).unwrap_or_else(|| panic!("{what}: it goes on")).unwrap_err();
        assert_eq!((failure.cause, failure.outcome), (Cause::Malformed, Outcome::Failed), "{what}");
        assert_eq!((play.client.over(), play.client.outstanding()), (Some(Cause::Malformed), 0), "{what}");
        assert!(play.seen.data.is_empty(), "{what}: nothing of it is passed on");
        play.check_rows(what);
    }
}

#[test]
fn a_short_copy_goes_on() {
    let mut play = Play::connected_in(2);
    let file = play.open();
    play.begin(9, &copy(file));
    for (asked, count) in [(1_000, 400), (600, 599), (1, 1)] {
        let call = play.calls.remove(0);
        assert_eq!(call.operations, [53, 22, 32, 22, 60]);
        let row = &call.arguments[call.arguments.len() - 36..];
        let numbers: Vec<u64> =
            row.chunks(8).take(3).map(|number| u64::from_be_bytes(number.try_into().unwrap())).collect();
        assert_eq!(numbers, [1_000 - asked, 1_000 - asked, asked], "source, destination, bytes");
        assert_eq!(row[24..], [1, 1, 0].map(u32::to_be_bytes).concat(), "in order, complete, on this server");
        // For all of the rest, the order does not matter.
        let results = results(&call, &copied(0, count, 2, 1, [u32::from(count < asked), 1]));
        play.answer(&call, &results);
    }
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Written { bytes: 1_000 })));
    // At the end of the source.
    play.begin(10, &copy(file));
    for count in [400, 0] {
        let call = play.calls.remove(0);
        let results = results(&call, &copied(0, count, 2, 1, [1, 1]));
        play.answer(&call, &results);
    }
    assert_eq!(play.done(Tag(10)), Some(Ok(Reply::Written { bytes: 400 })));
    // A length of 0 would mean the rest of the source.
    play.begin(11, &Operation::Copy { from: file, to: file, length: 0 });
    assert!(play.calls.is_empty());
    assert_eq!(play.done(Tag(11)), Some(Ok(Reply::Written { bytes: 0 })));
    play.check_rows("copies");
}

/// The server may have made the copy, so it must see the slot and the number of before, and the same range.
#[test]
fn a_copy_whose_answer_is_lost_is_asked_for_again_with_its_slot() {
    let mut play = Play::connected_in(2);
    let file = play.open();
    play.begin(9, &copy(file));
    let call = play.calls.remove(0);
    let half = results(&call, &copied(0, 400, 2, 1, [1, 1]));
    play.answer(&call, &half);
    let lost = play.calls.remove(0);
    assert!(play.lose());
    play.rejoin();
    let bind = play.calls.remove(0);
    assert_eq!(bind.operations, [41]);
    play.answer(&bind, &bind.fine());
    let again = play.calls.remove(0);
    let range = |call: &Asked| call.arguments[call.arguments.len() - 36..].to_vec();
    assert_eq!((again.slot, &again.operations, range(&again)), (lost.slot, &lost.operations, range(&lost)));
    let rest = results(&again, &copied(0, 600, 2, 1, [1, 1]));
    play.answer(&again, &rest);
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Written { bytes: 1_000 })));
    play.check_rows("a lost answer");
}

#[test]
fn a_copy_that_the_server_loses_is_found_by_the_flush() {
    let mut play = answered(copy, &copied(0, 1_000, 0, 1, [1, 1]));
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Written { bytes: 1_000 })));
    let file = opened(&play);
    play.begin(10, &Operation::Flush { file });
    let call = play.calls.remove(0);
    let results = results(&call, &2_u64.to_be_bytes());
    play.answer(&call, &results);
    assert_eq!(play.done(Tag(10)).unwrap().unwrap_err().cause, Cause::LostWrites);
    play.check_rows("lost");
}

#[test]
fn a_copy_that_is_refused_fails_with_its_status() {
    for status in [10_004, 10_091, 10_094, 22, 28] {
        let mut play = Play::connected_in(2);
        let file = play.open();
        play.begin(9, &copy(file));
        let call = play.calls.remove(0);
        play.answer(&call, &call.failing(last(&call), status));
        let Failure { status: found, outcome, cause, procedure } = play.done(Tag(9)).unwrap().unwrap_err();
        assert_eq!((found, outcome, cause), (Some(status), Outcome::Refused, Cause::Status));
        assert_eq!(procedure.unwrap().name(), "COPY");
        assert_eq!(play.client.over(), None);
        play.check_rows("refused");
    }
}

#[test]
fn holes_count_as_bytes_and_come_as_zeros() {
    let mut play = answered(read, &contents(0, 3, &[(100, Ok(&[1; 5])), (105, Err(10)), (115, Ok(&[2; 3]))]));
    // Less than was asked for is no end; a hole may begin before the range and be longer.
    let call = play.calls.remove(0);
    let results = results(&call, &contents(1, 1, &[(0, Err(5_000))]));
    play.answer(&call, &results);
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Read { bytes: 50 })));
    let mut bytes: Vec<u8> = Vec::new();
    for (offset, piece) in &play.seen.data {
        assert_eq!(*offset, 100 + bytes.len() as u64);
        bytes.extend(piece);
    }
    assert_eq!(bytes, [vec![1; 5], vec![0; 10], vec![2; 3], vec![0; 32]].concat());
    let payloads: Vec<_> =
        play.seen.rows.iter().filter(|row| row.counted && row.procedure.name() == "READ_PLUS").collect();
    assert_eq!(payloads.iter().map(|row| row.payload_bytes).collect::<Vec<_>>(), [Some(8), Some(0)], "without holes");
    play.check_rows("holes");
}

#[test]
fn a_hole_up_to_the_end_of_the_file_does_not_end_a_read_of_several_requests() {
    let mut play = Play::connected_in(2);
    let file = play.open();
    let (length, mut calls) = (5_u32 << 20, 0);
    play.begin(9, &Operation::ReadPlus { file, offset: 0, length, keep: true });
    while play.done(Tag(9)).is_none() {
        // The whole file is one hole, and so the hole in each answer is longer than what was asked for.
        let call = play.calls.remove(0);
        let results = results(&call, &contents(1, 1, &[(0, Err(length.into()))]));
        play.answer(&call, &results);
        calls += 1;
    }
    assert!(calls >= 5, "{calls}");
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Read { bytes: length })));
    play.check_rows("a hole");
}

#[test]
fn a_search_ends_at_data_at_a_hole_or_at_the_end() {
    let found = |eof: u32, offset: u64| [eof.to_be_bytes().to_vec(), offset.to_be_bytes().to_vec()].concat();
    let end = |operation: Begin, result: Vec<u8>| {
        let play = answered(operation, &result);
        play.check_rows("search");
        play.done(Tag(9)).unwrap().unwrap()
    };
    assert_eq!(end(seek_data, found(0, 100)), Reply::Found { offset: Some(100) });
    assert_eq!(end(seek_hole, found(0, 700)), Reply::Found { offset: Some(700) });
    assert_eq!(end(seek_hole, found(1, 1_000)), Reply::Found { offset: Some(1_000) }, "the end is a hole");
    assert_eq!(end(seek_data, found(1, 0)), Reply::Found { offset: None });
}

#[test]
fn older_versions_do_not_have_them() {
    for minor in [0, 1] {
        let mut play = Play::connected_in(minor);
        let file = play.open();
        let operations = [
            copy(file),
            read(file),
            seek_data(file),
            seek_hole(file),
            Operation::Clone { from: file, to: file, length: 0 },
            Operation::Allocate { file, offset: 0, length: 1 },
            Operation::Deallocate { file, offset: 0, length: 1 },
        ];
        for (tag, operation) in (9..).zip(&operations) {
            play.begin(tag, operation);
            let failure = play.done(Tag(tag)).unwrap().unwrap_err();
            assert_eq!((failure.cause, failure.outcome), (Cause::Unsupported, Outcome::NeverSent), "{operation:?}");
        }
        assert!(play.calls.is_empty());
    }
}
