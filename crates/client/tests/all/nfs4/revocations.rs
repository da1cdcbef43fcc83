//! Delegations that the server revokes: it sets a flag in the results of SEQUENCE until the client has freed all of them.
//!
//! Spec: RFC 8881 18.46.3

use plimsoll_client::{Client, Operation};
use plimsoll_testkit::nfs4::Asked;

use super::delegations::{CLOSE, FREE, NONE, OPEN, RETURN, TEST, about, asks, counts, leave, served, statuses};
use super::play::Play;
use super::recall_any::{holder_of, to_read};

/// SEQ4_STATUS_RECALLABLE_STATE_REVOKED.
const REVOKED: u32 = 0x40;
/// Results of TEST_STATEID and DELEGRETURN: EXPIRED, ADMIN_REVOKED, DELEG_REVOKED, and BAD_STATEID.
const EXPIRED: u32 = 10_011;
const ADMIN_REVOKED: u32 = 10_047;
const DELEG_REVOKED: u32 = 10_087;
const BAD_STATEID: u32 = 10_025;
const SECOND: i64 = 1_000_000_000;

/// Results with these flags (`sr_status_flags`).
fn flagged(mut results: Vec<u8>, flags: u32) -> Vec<u8> {
    results[52..56].copy_from_slice(&flags.to_be_bytes());
    results
}

/// The server answers a request with the flag.
fn reports(play: &mut Play, tag: u64) {
    play.begin(tag, &Operation::Fsinfo);
    let call = play.calls.pop().unwrap();
    play.answer(&call, &flagged(call.fine(), REVOKED));
}

/// The last bytes of the delegations in a TEST_STATEID, which are the numbers of their files.
fn tested(call: &Asked) -> Vec<u16> {
    assert_eq!(about(call), TEST, "{call:?}");
    call.arguments[56..].chunks(16).map(|state| u16::from_be_bytes(*state.last_chunk().unwrap())).collect()
}

/// Answers a TEST_STATEID with a status of each delegation.
fn judged(play: &mut Play, call: &Asked, flags: u32, status_of: impl Fn(u16) -> u32) {
    let mut results = flagged(call.fine(), flags);
    let files = tested(call);
    let at = results.len() - 4 * files.len();
    for (file, place) in files.iter().zip(results[at..].chunks_mut(4)) {
        place.copy_from_slice(&status_of(*file).to_be_bytes());
    }
    play.answer(call, &results);
}

#[test]
fn revoked_delegations_are_found_and_freed_and_the_others_stay() {
    let (mut play, options, files) = holder_of(4);
    assert_eq!(asks(&mut play, 10, &Operation::Close { file: files[2] }), NONE);
    reports(&mut play, 11);
    let test = play.calls.remove(0);
    assert_eq!((tested(&test), play.calls.len()), (vec![0, 1, 2, 3], 0));
    judged(&mut play, &test, REVOKED, |file| [0, DELEG_REVOKED, DELEG_REVOKED, BAD_STATEID][usize::from(file)]);
    // Freed; the one whose file is closed has an open that is not used any more.
    let mut seen = served(&mut play);
    seen.sort_unstable();
    assert_eq!(seen, [CLOSE, FREE, FREE]);
    for (tag, path, expected) in [(20, "file0", &NONE[..]), (21, "file1", &[OPEN]), (22, "file3", &[OPEN])] {
        assert_eq!(asks(&mut play, tag, &to_read(path)), expected, "{path}");
    }
    play.check_rows("revoked");
    assert_eq!(counts(play, &options).revoked, 3);
}

#[test]
fn another_revocation_is_noticed_while_the_flag_stays_set() {
    let (mut play, options, _) = holder_of(2);
    reports(&mut play, 10);
    let test = play.calls.remove(0);
    judged(&mut play, &test, REVOKED, |_| 0);
    // At most one test per second, however often the server sets the flag.
    let begun = play.now;
    for tag in 100..200 {
        reports(&mut play, tag);
        assert!(play.calls.is_empty() && play.now < begun + SECOND, "{tag}");
    }
    play.now += SECOND;
    reports(&mut play, 11);
    let test = play.calls.remove(0);
    // The next test waits for the response to this one.
    play.now += SECOND;
    reports(&mut play, 12);
    assert!(play.calls.is_empty());
    judged(&mut play, &test, 0, |file| [DELEG_REVOKED, 0][usize::from(file)]);
    assert_eq!(served(&mut play), [FREE]);
    play.now += SECOND;
    assert_eq!(asks(&mut play, 13, &Operation::Fsinfo).len(), 1, "the server has not set the flag");
    assert_eq!(asks(&mut play, 14, &to_read("file1")), NONE);
    assert_eq!(counts(play, &options).revoked, 1);
}

#[test]
fn a_delegation_that_is_recalled_meanwhile_is_returned_once() {
    let (mut play, options, _) = holder_of(1);
    reports(&mut play, 10);
    let test = play.calls.remove(0);
    play.feed(&plimsoll_testkit::nfs4::recall_any(1, &[0, 1, 1]));
    assert_eq!(statuses(&play), [0]);
    judged(&mut play, &test, 0, |_| BAD_STATEID);
    assert_eq!(served(&mut play), [RETURN]);
    let counts = counts(play, &options);
    assert_eq!((counts.returned, counts.revoked), (1, 0));
}

/// Whatever the server answers to TEST_STATEID and about the delegation: each delegation is counted once, and the client does not hang.
#[test]
fn every_status_in_answer_to_a_test_is_an_outcome() {
    for status in (1..100).chain(10_001..10_100) {
        for of_call in [false, true] {
            let (mut play, options, _) = holder_of(1);
            reports(&mut play, 10);
            let test = play.calls.remove(0);
            match of_call {
                true => play.answer(&test, &test.failing(1, status)),
                false => judged(&mut play, &test, REVOKED, |_| status),
            }
            let (mut answers, mut freed) = (0, false);
            let begun = play.now;
            while play.client.over().is_none() && (play.client.outstanding() > 0 || !play.calls.is_empty()) {
                answers += 1;
                assert!(answers < 1_000, "{status}: it asks for ever");
                if play.now > begun + 40 * SECOND {
                    play.time_out();
                }
                freed |= play.calls.iter().any(|call| about(call) == FREE);
                match play.calls.pop() {
                    Some(call) if of_call && about(&call) == TEST => play.answer(&call, &call.failing(1, status)),
                    Some(call) => play.answer(&call, &call.fine()),
                    None => play.wake(),
                }
            }
            if play.client.over().is_none() && !of_call {
                // These are kept by the server until they are freed (RFC 8881 8.4.2, 18.38).
                let revoked = [EXPIRED, ADMIN_REVOKED, DELEG_REVOKED].contains(&status);
                assert_eq!(freed, revoked, "{status}");
                let ends = revoked || [10_023, BAD_STATEID].contains(&status);
                let expected: &[u32] = if ends { &[OPEN] } else { &NONE };
                assert_eq!(asks(&mut play, 11, &to_read("file0")), expected, "{status}");
            }
            let over = play.client.over().is_some();
            let last = if over { Vec::new() } else { leave(&mut play) };
            assert!(over || last.ends_with(&[44, 57]), "{status}: {last:?}");
            let counts = counts(play, &options);
            let ended = counts.returned + counts.revoked + counts.lost + counts.unreturned;
            assert_eq!(counts.granted, ended, "{status} {of_call}: {counts:?}");
        }
    }
}

#[test]
fn a_server_that_cannot_test_gets_all_delegations_back() {
    for revoked in [ADMIN_REVOKED, DELEG_REVOKED] {
        let (mut play, options, _) = holder_of(2);
        reports(&mut play, 10);
        let test = play.calls.remove(0);
        // NOTSUPP.
        play.answer(&test, &test.failing(1, 10_004));
        let (first, second) = (play.calls.remove(0), play.calls.remove(0));
        assert_eq!([about(&first), about(&second)], [RETURN, RETURN]);
        play.answer(&first, &first.failing(2, revoked));
        play.answer(&second, &second.fine());
        assert_eq!(served(&mut play), [FREE], "{revoked}");
        let counts = counts(play, &options);
        assert_eq!((counts.returned, counts.revoked), (1, 1));
    }
}

/// DELAY, GRACE: whether the server can test delegations is unknown, so the client keeps them and tests them again.
#[test]
fn a_test_that_the_server_puts_off_for_too_long_returns_nothing() {
    for later in [10_008, 10_013] {
        let (mut play, options, _) = holder_of(2);
        reports(&mut play, 10);
        for _ in 0..3 {
            let test = play.calls.remove(0);
            play.answer(&test, &test.failing(1, later));
            assert!(play.calls.is_empty());
            play.wake();
        }
        let test = play.calls.remove(0);
        play.answer(&test, &test.failing(1, later));
        assert_eq!(play.client.outstanding(), 1);
        play.time_out();
        assert_eq!(play.client.outstanding(), 0);
        // A return would follow at the next response.
        reports(&mut play, 11);
        let test = play.calls.remove(0);
        assert!(play.calls.is_empty(), "{later}");
        judged(&mut play, &test, 0, |_| 0);
        assert_eq!(asks(&mut play, 12, &to_read("file1")), NONE, "{later}");
        assert_eq!(counts(play, &options).revoked, 0);
    }
}

#[test]
fn many_delegations_are_tested_in_turn_and_a_test_without_an_answer_is_not_the_last() {
    let (mut play, options, _) = holder_of(300);
    reports(&mut play, 1_000);
    assert_eq!(tested(&play.calls.remove(0)), (0..256).collect::<Vec<_>>());
    play.time_out();
    assert!(play.client.over().is_none());
    for (tag, expected) in [(1_001, (256..300).chain(0..212)), (1_002, (212..300).chain(0..168))] {
        play.now += SECOND;
        reports(&mut play, tag);
        let test = play.calls.remove(0);
        assert_eq!(tested(&test), expected.collect::<Vec<_>>());
        judged(&mut play, &test, REVOKED, |_| 0);
    }
    assert_eq!(counts(play, &options).revoked, 0);
}
