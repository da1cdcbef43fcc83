//! Walking over compounds: every operation is got past, and nothing is guessed.

use super::v4_vectors::{
    Vector, arguments_40, arguments_41, arguments_42, callback_arguments, callback_results, results_40, results_41,
    results_42,
};
use crate::nfs::v4::{CompoundCall, CompoundReply, Operation, Operations, Stop};
use crate::nfs::{Facts, Lock, Slot};
use crate::xdr::builder::{Xdr, damage};
use proptest::prelude::*;

/// COMPOUND's arguments: tag, minor version, operations (RFC 7530 16.2.2).
fn call(minor: u32, operations: &[Vector]) -> Vec<u8> {
    body(Xdr::new().opaque("tag").u32(minor), operations)
}

/// COMPOUND's results: status, tag, results (RFC 7530 16.2.3).
fn reply(status: u32, operations: &[Vector]) -> Vec<u8> {
    body(Xdr::new().u32(status).opaque("tag"), operations)
}

/// CB_COMPOUND's arguments have `callback_ident` too (RFC 7530 17.2.2).
fn callback(operations: &[Vector]) -> Vec<u8> {
    body(Xdr::new().opaque("tag").words(&[1, 99]), operations)
}

fn body(head: Xdr, operations: &[Vector]) -> Vec<u8> {
    operations.iter().fold(head.u32(operations.len() as u32), |xdr, (code, rest)| xdr.u32(*code).then(rest.clone())).0
}

fn walked(mut operations: Operations<'_>) -> (Vec<Operation<'_>>, Option<Stop>) {
    let list = operations.by_ref().collect();
    (list, operations.stopped())
}

fn all_arguments() -> Vec<Vector> {
    [arguments_40(), arguments_41(), arguments_42()].concat()
}

fn all_results() -> Vec<Vector> {
    [results_40(), results_41(), results_42()].concat()
}

/// Each vector is placed between two others: the walk must stop exactly at its end.
fn assert_passed(vectors: &[Vector], mark: &Vector, walk: impl Fn(&[Vector]) -> (Vec<u32>, Option<Stop>)) {
    for vector in vectors {
        let (codes, stop) = walk(&[mark.clone(), vector.clone(), mark.clone()]);
        assert_eq!((codes, stop), (vec![mark.0, vector.0, mark.0], None), "operation {}", vector.0);
    }
}

fn codes(operations: Operations<'_>) -> (Vec<u32>, Option<Stop>) {
    let (list, stop) = walked(operations);
    (list.iter().map(|operation| operation.code).collect(), stop)
}

/// RFC 7531: OPEN contains the kind of creation, the new size, and the access mode.
#[test]
fn opens_say_how_a_file_is_opened() {
    let arguments = arguments_40();
    let opens: Vec<_> = arguments.iter().filter(|(code, _)| *code == 18).cloned().collect();
    let bytes = call(0, &opens);
    let (list, _) = walked(CompoundCall::new(&bytes).operations());
    let how: Vec<_> = list.iter().map(|it| (it.facts.disposition(), it.facts.size, it.facts.access)).collect();
    // Not created (which has no attributes), and created in each way with a size of 4096 where it has attributes.
    assert!(how.iter().all(|(disposition, _, access)| disposition.is_some() && *access == Some(1)), "{how:?}");
    for expected in [(Some(1), None), (Some(3), Some(4096)), (Some(2), Some(4096)), (Some(2), None)] {
        assert!(how.iter().any(|(disposition, size, _)| (*disposition, *size) == expected), "{expected:?} in {how:?}");
    }
    let empty = Xdr::new().words(&[0, 2, 0]).u64(1).opaque("o").words(&[1, 0, 2, 0x10, 0]).opaque([0; 8]);
    let bytes = call(0, &[(18, empty.words(&[0]).opaque("file"))]);
    let (list, stopped) = walked(CompoundCall::new(&bytes).operations());
    assert_eq!((list[0].facts.disposition(), list[0].facts.access, stopped), (Some(5), Some(2), None));
}

#[test]
fn every_operation_is_got_past() {
    // A marker operation that detects a walk that is off by a few bytes: the operation after it checks its length.
    let argument = (22, Xdr::new().opaque(b"mark"));
    let result = (10, Xdr::new().u32(0).opaque(b"mark"));
    assert_passed(&all_arguments(), &argument, |list| codes(CompoundCall::new(&call(2, list)).operations()));
    assert_passed(&all_results(), &result, |list| codes(CompoundReply::new(&reply(0, list)).operations()));
    let recall_slot = (10, Xdr::new().u32(0x5107));
    let status = (10, Xdr::new().u32(0));
    assert_passed(&callback_arguments(), &recall_slot, |list| {
        codes(CompoundCall::callback(&callback(list)).operations())
    });
    assert_passed(&callback_results(), &status, |list| codes(CompoundReply::callback(&reply(0, list)).operations()));
}

#[test]
fn the_vectors_leave_no_operation_out() {
    for (vectors, last) in
        [(all_arguments(), 75), (all_results(), 75), (callback_arguments(), 15), (callback_results(), 15)]
    {
        for code in 3..=last {
            assert!(vectors.iter().any(|(vector, _)| *vector == code), "operation {code}");
        }
    }
}

#[test]
fn tables_are_in_the_order_of_their_numbers() {
    use crate::nfs::v4::layouts_in_order;
    assert!(layouts_in_order());
}

#[test]
fn one_compound_with_everything_in_it() {
    let vectors = all_arguments();
    let bytes = call(2, &vectors);
    let compound = CompoundCall::new(&bytes);
    assert_eq!((compound.tag, compound.minor_version), (Some(&b"tag"[..]), Some(2)));
    assert_eq!(compound.announced, Some(vectors.len() as u32));
    let (operations, stop) = walked(compound.operations());
    assert_eq!((operations.len(), stop), (vectors.len(), None));
    assert!(operations.iter().enumerate().all(|(at, operation)| operation.position as usize == at));
}

/// The facts of the first vector with this number.
fn facts_of(code: u32, vectors: &[Vector], check: impl Fn(Facts<'_>)) {
    let vector = vectors.iter().find(|(vector, _)| *vector == code).unwrap().clone();
    let bytes = call(0, &[vector]);
    check(walked(CompoundCall::new(&bytes).operations()).0[0].facts);
}

#[test]
fn arguments_say_what_is_done_to_what() {
    let vectors = all_arguments();
    facts_of(22, &vectors, |facts| assert_eq!(facts.handle, Some(&[7; 28][..])));
    for code in [15, 18, 28, 33] {
        facts_of(code, &vectors, |facts| assert_eq!(facts.name, Some(&b"file"[..]), "{code}"));
    }
    facts_of(6, &vectors, |facts| assert_eq!(facts.name, Some(&b"dir"[..])));
    facts_of(29, &vectors, |facts| {
        assert_eq!((facts.name, facts.to_name), (Some(&b"old"[..]), Some(&b"new"[..])));
    });
    for code in [5, 25, 59, 60, 68, 71] {
        facts_of(code, &vectors, |facts| assert_eq!((facts.offset, facts.count), (Some(4096), Some(8192)), "{code}"));
    }
    facts_of(38, &vectors, |facts| {
        assert_eq!((facts.offset, facts.stable, facts.payload), (Some(4096), Some(2), Some(13)));
    });
    facts_of(53, &vectors, |facts| {
        assert_eq!(facts.slot, Some(Slot { session: &[0xA5; 16], sequence: 77, slot: 3 }));
    });
    facts_of(41, &vectors, |facts| assert_eq!(facts.session, Some(&[0xA5; 16][..])));
    facts_of(12, &vectors, |facts| assert!(facts.lock.is_some_and(Lock::waits)));
    facts_of(14, &vectors, |facts| assert_eq!((facts.lock.map(Lock::waits), facts.offset), (Some(false), Some(10))));
}

#[test]
fn results_say_how_it_ended() {
    let bytes = reply(
        70,
        &[
            (53, Xdr::new().u32(0).fixed(16).words(&[77, 3, 5, 5, 0])),
            (10, Xdr::new().u32(0).opaque(b"handle")),
            (25, Xdr::new().words(&[0, 1]).opaque([9; 13])),
            (38, Xdr::new().words(&[0, 512, 2]).fixed(8)),
            (22, Xdr::new().u32(70)),
        ],
    );
    let compound = CompoundReply::new(&bytes);
    assert_eq!((compound.status, compound.tag, compound.announced), (Some(70), Some(&b"tag"[..]), Some(5)));
    let (list, stop) = walked(compound.operations());
    assert_eq!(stop, None);
    assert_eq!(list[0].facts.slot.map(|slot| slot.sequence), Some(77));
    assert_eq!(list[1].facts.handle, Some(&b"handle"[..]));
    assert_eq!(list[2].facts.payload, Some(13));
    assert_eq!((list[3].facts.count, list[3].facts.stable), (Some(512), Some(2)));
    assert_eq!(list[4].facts.status, Some(70));
    let channel = |slots| Xdr::new().words(&[0, 4096, 4096, 0, 8, slots, 0]);
    let created = Xdr::new().u32(0).fixed(16).words(&[1, 2]).then(channel(12)).then(channel(1));
    let bytes = reply(0, &[(43, created)]);
    let facts = walked(CompoundReply::new(&bytes).operations()).0[0].facts;
    assert_eq!((facts.session, facts.granted_slots), (Some(&[0xA5; 16][..]), Some(12)), "slots of the fore channel");
    let pieces = results_42().into_iter().find(|(code, _)| *code == 68).unwrap();
    let bytes = reply(0, &[pieces]);
    assert_eq!(walked(CompoundReply::new(&bytes).operations()).0[0].facts.payload, Some(5 + 8), "data, hole, data");
}

#[test]
fn an_unknown_operation_is_shown_and_hides_the_rest() {
    let bytes = call(3, &[(24, Xdr::new()), (76, Xdr::new().fixed(8)), (10, Xdr::new())]);
    let mut operations = CompoundCall::new(&bytes).operations();
    assert_eq!(operations.by_ref().map(|operation| operation.code).collect::<Vec<_>>(), [24, 76]);
    assert_eq!(operations.stopped(), Some(Stop::Unknown(76)));
    assert!(!operations.truncated());
    // OPEN with an undefined kind of claim.
    let open = Xdr::new().words(&[0, 1, 0]).u64(1).opaque("o").words(&[0, 7]);
    let bytes = call(1, &[(18, open), (10, Xdr::new())]);
    assert_eq!(codes(CompoundCall::new(&bytes).operations()), (vec![18], Some(Stop::Malformed(18))));
}

#[test]
fn a_write_cut_in_its_data_still_counts_it() {
    let write = Xdr::new().fixed(16).u64(4096).u32(2).opaque(vec![9; 65536]);
    let bytes = call(1, &[(22, Xdr::new().opaque(b"fh")), (38, write), (9, Xdr::new().words(&[1, 1]))]);
    let (list, stop) = walked(CompoundCall::new(&bytes[..128]).operations());
    assert_eq!((list.len(), stop), (2, Some(Stop::Truncated)));
    assert_eq!((list[1].facts.offset, list[1].facts.payload), (Some(4096), Some(65536)));
}

#[test]
fn four_billion_announced_operations_end_with_the_bytes() {
    let bytes = Xdr::new().opaque("").words(&[0, u32::MAX]).words(&[24; 1000]).0;
    let (list, stop) = walked(CompoundCall::new(&bytes).operations());
    assert_eq!((list.len(), stop), (1000, Some(Stop::Truncated)));
    // A list of four billion in one operation (TEST_STATEID), and an endless chain (READDIR) of nothing.
    let bytes = call(1, &[(55, Xdr::new().u32(u32::MAX).fixed(64))]);
    assert_eq!(codes(CompoundCall::new(&bytes).operations()).1, Some(Stop::Truncated));
    let bytes = reply(0, &[(26, Xdr::new().u32(0).fixed(8).words(&[1; 6000]))]);
    assert_eq!(codes(CompoundReply::new(&bytes).operations()).0, [26]);
}

#[test]
fn cut_heads_are_truncated_compounds() {
    let bytes = call(1, &[(24, Xdr::new())]);
    for end in 0..bytes.len() {
        let compound = CompoundCall::new(&bytes[..end]);
        let (list, stop) = walked(compound.operations());
        assert_eq!((list.len(), stop), (0, Some(Stop::Truncated)), "{end}");
    }
    assert_eq!(codes(CompoundReply::new(&[]).operations()), (vec![], Some(Stop::Truncated)));
    assert_eq!(CompoundReply::new(&[0, 0, 0x27, 0x25]).status, Some(10_021));
}

/// Walks in every way, and checks that there are no more operations than input words.
fn read_all(bytes: &[u8]) {
    let walks = [
        CompoundCall::new(bytes).operations(),
        CompoundCall::callback(bytes).operations(),
        CompoundReply::new(bytes).operations(),
        CompoundReply::callback(bytes).operations(),
    ];
    for walk in walks {
        assert!(walk.count() <= bytes.len() / 4);
    }
}

#[test]
fn damage_is_survived() {
    for vector in all_arguments() {
        damage(&call(2, &[vector, (10, Xdr::new())]), read_all);
    }
    for vector in all_results() {
        damage(&reply(0, &[vector, (22, Xdr::new().u32(0))]), read_all);
    }
    for vector in callback_arguments() {
        damage(&callback(&[vector]), read_all);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        bytes in proptest::collection::vec(prop_oneof![4 => Just(0u8), 2 => 1u8..76, 1 => any::<u8>()], 0..400),
    ) {
        read_all(&bytes);
    }

    #[test]
    fn a_cut_compound_says_nothing_else_than_the_whole(cut in 0usize..8000) {
        let bytes = call(2, &all_arguments());
        let whole = walked(CompoundCall::new(&bytes).operations()).0;
        let part = walked(CompoundCall::new(&bytes[..cut.min(bytes.len())]).operations()).0;
        prop_assert!(part.len() <= whole.len());
        for (part, whole) in part.iter().zip(&whole) {
            prop_assert_eq!(part.code, whole.code);
            prop_assert!(part.facts.name.is_none() || part.facts.name == whole.facts.name);
            prop_assert!(part.facts.handle.is_none() || part.facts.handle == whole.facts.handle);
            prop_assert!(part.facts.offset.is_none() || part.facts.offset == whole.facts.offset);
            prop_assert!(part.facts.payload.is_none() || part.facts.payload == whole.facts.payload);
        }
    }
}
