//! Read delegations: used, recalled, revoked, and lost, against a server that grants one with every OPEN that asks for it.

use std::sync::Arc;

use plimsoll_client::nfs4::{DelegationCounts, Nfs4Options};
use plimsoll_client::operation::{Access, Caching, Disposition};
use plimsoll_client::{Client, FileKey, Operation, Reply, Tag};
use plimsoll_testkit::nfs4::{Asked, DELEGATION, SLOTS, recall, recall_of};
use plimsoll_wire::rpc::Caller;

use super::play::Play;

pub(super) const OPEN: u32 = 18;
pub(super) const CLOSE: u32 = 4;
const READ: u32 = 25;
pub(super) const RETURN: u32 = 8;
pub(super) const FREE: u32 = 45;
pub(super) const TEST: u32 = 55;
/// No request.
pub(super) const NONE: [u32; 0] = [];

/// A client that asks for delegations.
pub(super) fn wanting() -> (Play, Arc<Nfs4Options>) {
    let mut options = Nfs4Options::new("/", 1, &Caller::Nobody).unwrap();
    options.delegations = true;
    let options = Arc::new(options);
    (Play::connected_with(options.clone()), options)
}

pub(super) const TO_READ: Operation<'static> =
    Operation::Open { path: "file", access: Access::Read, disposition: Disposition::Open, caching: Caching::None };

pub(super) fn opened(play: &Play, tag: u64) -> FileKey {
    match play.done(Tag(tag)) {
        Some(Ok(Reply::Opened { file, .. })) => file,
        other => panic!("{other:?}"),
    }
}

/// A client that holds a delegation, and the file that it opened.
pub(super) fn holder() -> (Play, Arc<Nfs4Options>, FileKey) {
    let (mut play, options) = wanting();
    play.begin(1, &TO_READ);
    play.serve();
    let file = opened(&play, 1);
    (play, options, file)
}

/// The main operation of a call.
pub(super) fn about(call: &Asked) -> u32 {
    let known = [OPEN, RETURN, CLOSE, READ, FREE, TEST];
    *call.operations.iter().find(|code| known.contains(code)).unwrap_or(call.operations.last().unwrap())
}

/// Answers everything as it should be; the main operations of the calls.
pub(super) fn served(play: &mut Play) -> Vec<u32> {
    let mut seen = Vec::new();
    while !play.calls.is_empty() {
        let call = play.calls.remove(0);
        seen.push(about(&call));
        play.answer(&call, &call.fine());
    }
    seen
}

/// What a request does to the server.
pub(super) fn asks(play: &mut Play, tag: u64, operation: &Operation<'_>) -> Vec<u32> {
    play.begin(tag, operation);
    let seen = served(play);
    assert!(play.done(Tag(tag)).unwrap().is_ok(), "{operation:?}: {:?}", play.done(Tag(tag)));
    seen
}

/// Statuses of the answers to the server's calls.
pub(super) fn statuses(play: &Play) -> Vec<u32> {
    let status = |reply: &Vec<u8>| u32::from_be_bytes(reply[24..28].try_into().unwrap());
    play.replies.iter().map(status).collect()
}

/// Ends the client, and gives its counts.
pub(super) fn counts(play: Play, options: &Nfs4Options) -> DelegationCounts {
    drop(play);
    *options.delegation_counts.lock().unwrap()
}

pub(super) fn leave(play: &mut Play) -> Vec<u32> {
    play.client.leave(play.now, &mut play.out, &mut play.seen);
    play.receive();
    served(play)
}

#[test]
fn a_delegated_file_is_opened_and_closed_without_a_request() {
    let (mut play, options, file) = holder();
    assert_eq!(asks(&mut play, 2, &TO_READ), NONE);
    let second = opened(&play, 2);
    assert_ne!(file, second);
    let read = |file| Operation::Read { file, offset: 0, length: 5, keep: false };
    let mut states = Vec::new();
    for (tag, file) in [(3, file), (4, second)] {
        play.begin(tag, &read(file));
        states.push(play.calls[0].arguments[play.calls[0].arguments.len() - 28..][..16].to_vec());
        assert_eq!(served(&mut play), [READ]);
    }
    assert_eq!(states, [[0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8]; 2], "that of the one open on the server");
    assert_eq!(asks(&mut play, 5, &Operation::Close { file }), NONE);
    assert_eq!(asks(&mut play, 6, &Operation::Close { file: second }), NONE);
    assert_eq!(asks(&mut play, 7, &TO_READ), NONE, "it stays open on the server");
    // Another access, and a file that may have to be made, go to the server, and ask for no delegation.
    for (tag, access) in [(8, Access::Write), (9, Access::ReadWrite)] {
        let open = Operation::Open { path: "file", access, disposition: Disposition::Open, caching: Caching::None };
        assert_eq!(asks(&mut play, tag, &open), [OPEN]);
    }
    assert_eq!(leave(&mut play), [RETURN, CLOSE, CLOSE, CLOSE, 44, 57]);
    play.check_rows("used");
    let expected = DelegationCounts { granted: 1, local_opens: 2, returned: 1, ..DelegationCounts::default() };
    assert_eq!(counts(play, &options), expected);
}

#[test]
fn a_client_that_asks_for_none_opens_every_file_on_the_server() {
    let mut play = Play::connected();
    assert_eq!(asks(&mut play, 1, &TO_READ), [OPEN]);
    assert_eq!(asks(&mut play, 2, &TO_READ), [OPEN]);
}

#[test]
fn a_recall_is_answered_and_the_delegation_returned_at_once() {
    let (mut play, options, file) = holder();
    let before = play.now;
    play.feed(&recall_of(77, DELEGATION));
    assert_eq!((statuses(&play), about(&play.calls[0])), (vec![0], RETURN));
    // Until it is returned, nothing is opened without a request, and what is open can be read.
    play.begin(2, &TO_READ);
    play.begin(3, &Operation::Read { file, offset: 0, length: 5, keep: false });
    assert_eq!(play.calls.iter().map(about).collect::<Vec<_>>(), [RETURN, OPEN, READ]);
    assert_eq!(served(&mut play), [RETURN, OPEN, READ], "the open is still shared, so it stays");
    let second = opened(&play, 2);
    assert_eq!(asks(&mut play, 4, &Operation::Read { file, offset: 0, length: 5, keep: false }), [READ]);
    assert_eq!(asks(&mut play, 5, &Operation::Close { file }), [CLOSE], "the last one that shared it");
    // The second open got the next delegation.
    assert_eq!(asks(&mut play, 6, &Operation::Close { file: second }), NONE);
    play.feed(&recall_of(78, DELEGATION));
    assert_eq!(served(&mut play), [RETURN, CLOSE], "nothing shared it any more");
    assert_eq!(asks(&mut play, 7, &TO_READ), [OPEN]);
    let now = play.now;
    play.check_rows("recalled");
    let counts = counts(play, &options);
    let DelegationCounts { granted, local_opens, recalled, returned, recall_ns: (count, sum, longest), .. } = counts;
    assert_eq!((granted, local_opens, recalled, returned, count, counts.unreturned), (3, 0, 2, 2, 2, 1));
    assert!(longest > 0 && longest <= sum && sum < 2 * (now - before) as u64);
}

#[test]
fn what_the_client_does_not_hold_it_cannot_return() {
    let (mut play, options) = wanting();
    play.feed(&recall_of(1, DELEGATION));
    play.begin(1, &TO_READ);
    // The OPEN that gets it may be the one that has no answer yet.
    play.feed(&recall_of(2, DELEGATION));
    play.serve();
    play.feed(&recall(3));
    play.feed(&recall_of(4, DELEGATION));
    assert_eq!(statuses(&play), [10_001, 10_008, 10_025, 0], "no handle, perhaps soon, another state");
    assert_eq!(served(&mut play), [RETURN]);
    let counts = counts(play, &options);
    assert_eq!((counts.recalled, counts.returned, counts.unknown_recalls), (1, 1, 2));
}

#[test]
fn a_storm_of_recalls_is_one_return() {
    let (mut play, options, _) = holder();
    for xid in 0..200 {
        play.feed(&recall_of(xid, DELEGATION));
    }
    assert_eq!((statuses(&play), served(&mut play)), (vec![0; 200], vec![RETURN]));
    for xid in 200..400 {
        play.feed(&recall_of(xid, DELEGATION));
    }
    assert!(play.calls.is_empty() && statuses(&play)[200..] == [10_001; 200]);
    let counts = counts(play, &options);
    assert_eq!((counts.recalled, counts.returned, counts.unknown_recalls), (1, 1, 200));
}

#[test]
fn a_return_takes_the_first_free_slot() {
    let (mut play, _options, file) = holder();
    for tag in 10..10 + 3 * u64::from(SLOTS) {
        play.begin(tag, &Operation::GetattrOpen { file });
    }
    assert_eq!(play.calls.len() as u32, SLOTS);
    play.feed(&recall_of(1, DELEGATION));
    let first = play.calls.remove(0);
    play.answer(&first, &first.fine());
    assert_eq!(about(play.calls.last().unwrap()), RETURN);
    served(&mut play);
    assert!((10..10 + 3 * u64::from(SLOTS)).all(|tag| play.done(Tag(tag)).unwrap().is_ok()));
}

/// Whatever the server answers to DELEGRETURN and FREE_STATEID: the client does not use the delegation again, and does not hang.
#[test]
fn every_status_in_answer_to_a_return_is_an_outcome() {
    for status in (1..100).chain(10_001..10_100) {
        for place in [0, 1, usize::MAX] {
            let (mut play, options, file) = holder();
            play.feed(&recall_of(1, DELEGATION));
            let begun = play.now;
            let (mut answers, mut freed) = (0, false);
            while play.client.over().is_none() && (play.client.outstanding() > 0 || !play.calls.is_empty()) {
                answers += 1;
                assert!(answers < 10_000, "status {status} at {place}: it asks for ever");
                if play.now > begun + 40_000_000_000 {
                    play.time_out();
                }
                match play.calls.pop() {
                    Some(call) if [RETURN, FREE].contains(&about(&call)) => {
                        freed |= about(&call) == FREE;
                        let last = call.operations.len() - 1;
                        play.answer(&call, &call.failing(place.min(last), status));
                    }
                    Some(call) => play.answer(&call, &call.fine()),
                    None => play.wake(),
                }
            }
            if play.client.over().is_none() {
                assert_eq!(asks(&mut play, 2, &TO_READ), [OPEN], "status {status} at {place}");
                assert!(asks(&mut play, 3, &Operation::Read { file, offset: 0, length: 5, keep: false }) == [READ]);
            }
            let revoked = [10_047, 10_087].contains(&status);
            assert_eq!(freed, revoked && play.client.over().is_none(), "status {status} at {place}");
            let counts = counts(play, &options);
            let DelegationCounts { granted, returned, revoked, lost, unreturned, .. } = counts;
            assert_eq!(granted, returned + revoked + lost + unreturned, "status {status} at {place}: {counts:?}");
            assert_eq!(returned, 0, "status {status} at {place}");
        }
    }
}

#[test]
fn a_return_without_an_answer_is_given_up() {
    let (mut play, options, file) = holder();
    play.feed(&recall_of(1, DELEGATION));
    play.calls.clear();
    play.time_out();
    assert_eq!(play.client.over(), None);
    assert_eq!(asks(&mut play, 2, &TO_READ), [OPEN]);
    assert_eq!(asks(&mut play, 3, &Operation::Close { file }), [CLOSE]);
    let counts = counts(play, &options);
    assert_eq!((counts.returned, counts.unreturned), (0, 2), "the second one is still held");
}

#[test]
fn a_lost_connection_returns_the_delegation_on_the_next_one() {
    for after_answer in [false, true] {
        let (mut play, options, _) = holder();
        play.feed(&recall_of(1, DELEGATION));
        assert!(play.lose());
        // Without a connection the client cannot know that it still holds the delegation.
        play.begin(2, &TO_READ);
        assert!(play.done(Tag(2)).is_none());
        play.rejoin();
        let bind = play.calls.remove(0);
        play.answer(&bind, &bind.fine());
        let back = play.calls.remove(0);
        assert_eq!(about(&back), RETURN, "in the slot that it had");
        match after_answer {
            // The server has executed it before, and has not kept its answer.
            true => {
                play.answer(&back, &back.failing(0, 10_068));
                let again = play.calls.iter().position(|call| about(call) == RETURN).unwrap();
                let again = play.calls.remove(again);
                play.answer(&again, &again.failing(2, 10_025));
            }
            false => play.answer(&back, &back.fine()),
        }
        served(&mut play);
        opened(&play, 2);
        let counts = counts(play, &options);
        assert_eq!((counts.recalled, counts.returned, counts.recall_ns.0), (1, 1, 1), "{after_answer}: {counts:?}");
    }
}

#[test]
fn a_recall_in_a_recovery_is_answered_and_the_return_follows_it() {
    let (mut play, options, _) = holder();
    assert!(play.lose());
    play.rejoin();
    play.feed(&recall_of(1, DELEGATION));
    assert_eq!((statuses(&play), play.calls.len()), (vec![0], 1));
    assert_eq!(served(&mut play), [41, RETURN]);
    assert_eq!(counts(play, &options).returned, 1);
}

#[test]
fn a_session_that_is_lost_keeps_the_delegation_and_a_restart_loses_it() {
    for restarts in [false, true] {
        let (mut play, options, file) = holder();
        play.begin(2, &Operation::GetattrOpen { file });
        let call = play.calls.remove(0);
        // BADSESSION, or STALE_CLIENTID: EXCHANGE_ID finds another client ID.
        play.answer(&call, &call.failing(0, if restarts { 10_022 } else { 10_052 }));
        while let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
            let mut results = call.fine();
            if call.operations == [42] {
                results[20..28].copy_from_slice(&6_u64.to_be_bytes());
            }
            play.answer(&call, &results);
        }
        assert!(play.done(Tag(2)).unwrap().is_ok());
        let expected: &[u32] = if restarts { &[OPEN] } else { &[] };
        assert_eq!(asks(&mut play, 3, &TO_READ), expected);
        assert_eq!(asks(&mut play, 4, &Operation::Read { file, offset: 0, length: 5, keep: false }), [READ]);
        assert_eq!(counts(play, &options).lost, u64::from(restarts));
    }
}

#[test]
fn a_lock_of_a_delegated_file_opens_it_first() {
    let (mut play, _options, file) = holder();
    let lock = Operation::Lock { file, offset: 0, length: 9, exclusive: false, wait: false };
    assert_eq!(asks(&mut play, 2, &lock), [OPEN, 12]);
    assert_eq!(asks(&mut play, 3, &Operation::Unlock { file, offset: 0, length: 9 }), [14]);
    assert_eq!(asks(&mut play, 4, &Operation::Close { file }), [CLOSE]);
    assert_eq!(asks(&mut play, 5, &TO_READ), NONE, "the delegation is still held");
}

#[test]
fn the_open_for_a_lock_of_a_file_that_was_closed_meanwhile_is_closed() {
    for lost in [false, true] {
        let (mut play, options, file) = holder();
        play.begin(2, &Operation::Lock { file, offset: 0, length: 9, exclusive: false, wait: false });
        play.begin(3, &Operation::Close { file });
        assert!(play.done(Tag(3)).unwrap().is_ok());
        if lost {
            // The server may have executed the OPEN: it is sent again, so that the open can be closed.
            assert!(play.lose());
            play.rejoin();
            let bind = play.calls.remove(0);
            play.answer(&bind, &bind.fine());
        }
        let open = play.calls.remove(0);
        assert_eq!((about(&open), play.calls.len()), (OPEN, 0), "{lost}");
        let mut results = open.fine();
        let at = results.windows(16).position(|bytes| bytes == [8; 16]).unwrap();
        results[at..at + 16].fill(3);
        play.answer(&open, &results);
        let state = [&[0; 4][..], &[3; 12]].concat();
        let close = &play.calls[0];
        assert!(about(close) == CLOSE && close.arguments.ends_with(&state), "{lost}: {close:?}");
        assert_eq!(served(&mut play), [CLOSE], "{lost}");
        assert!(play.done(Tag(2)).unwrap().is_err(), "{lost}: the file is not open");
        assert_eq!(asks(&mut play, 4, &TO_READ), NONE, "{lost}: the delegation is still held");
        assert_eq!(leave(&mut play), [RETURN, CLOSE, 44, 57], "{lost}: only the open of the delegation is left");
        play.check_rows("closed before it was locked");
        assert_eq!(counts(play, &options).returned, 1);
    }
}

/// The state ID of another delegation of the same file.
const ANOTHER: [u8; 16] = [5; 16];

/// Results in which a state ID stands for that of the delegation.
fn with_state(mut results: Vec<u8>, state: [u8; 16]) -> Vec<u8> {
    let at = results.windows(16).position(|bytes| bytes == DELEGATION).unwrap();
    results[at..at + 16].copy_from_slice(&state);
    results
}

#[test]
fn a_return_names_the_latest_state() {
    let (mut play, _options, _) = holder();
    play.feed(&recall_of(1, DELEGATION));
    let state = [&[0_u8; 4][..], &DELEGATION[4..]].concat();
    assert!(play.calls[0].arguments.ends_with(&state), "{:?}", play.calls[0]);
}

#[test]
fn a_file_whose_open_is_lost_is_closed_without_a_request() {
    let (mut play, _options, file) = holder();
    play.begin(2, &Operation::Fsinfo);
    let call = play.calls.remove(0);
    // STALE_CLIENTID.
    play.answer(&call, &call.failing(0, 10_022));
    while let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
        let mut results = call.fine();
        match call.operations.as_slice() {
            [42] => results[20..28].copy_from_slice(&6_u64.to_be_bytes()),
            // The file is gone: STALE.
            [53, 22, OPEN, 9] => results = call.failing(2, 70),
            _ => {}
        }
        play.answer(&call, &results);
    }
    assert!(play.done(Tag(2)).unwrap().is_ok());
    assert_eq!(asks(&mut play, 3, &Operation::Close { file }), NONE);
    assert_eq!(leave(&mut play), [44, 57]);
}

#[test]
fn a_request_for_a_revoked_delegation_does_not_end_the_next_one() {
    let (mut play, options, _) = holder();
    play.feed(&recall_of(1, DELEGATION));
    let back = play.calls.remove(0);
    play.answer(&back, &back.failing(2, 10_087));
    let free = play.calls.remove(0);
    assert_eq!(about(&free), FREE);
    play.begin(2, &TO_READ);
    let open = play.calls.remove(0);
    play.answer(&open, &with_state(open.fine(), ANOTHER));
    opened(&play, 2);
    play.time_out();
    assert_eq!(asks(&mut play, 3, &TO_READ), NONE, "the second delegation is still held");
    let counts = counts(play, &options);
    assert_eq!((counts.granted, counts.revoked, counts.unreturned), (2, 1, 1), "the second one, at the end");
}

#[test]
fn an_open_that_names_the_held_delegation_again_does_not_return_it() {
    let (mut play, _options, _) = holder();
    let write =
        Operation::Open { path: "file", access: Access::Write, disposition: Disposition::Open, caching: Caching::None };
    for (tag, state, expected) in [(2, DELEGATION, &NONE[..]), (3, ANOTHER, &[RETURN][..])] {
        play.begin(tag, &write);
        let open = play.calls.remove(0);
        play.answer(&open, &with_state(open.granting().fine(), state));
        assert_eq!(served(&mut play), expected);
        opened(&play, tag);
    }
    assert_eq!(asks(&mut play, 4, &TO_READ), NONE, "it is still held");
}

#[test]
fn a_client_that_holds_as_many_as_it_may_asks_for_no_more() {
    let (mut play, options) = wanting();
    for number in 0..=4_096_u64 {
        let path = format!("file{number}");
        let caching = Caching::None;
        let open = Operation::Open { path: &path, access: Access::Read, disposition: Disposition::Open, caching };
        play.begin(number, &open);
        let call = play.calls.remove(0);
        let mut results = call.fine();
        let asked = results.windows(16).any(|bytes| bytes == DELEGATION);
        assert_eq!(asked, number < 4_096, "{number}");
        let handle = results.windows(8).position(|bytes| bytes == b"a handle").unwrap();
        results[handle..handle + 8].copy_from_slice(&number.to_be_bytes());
        play.answer(&call, &results);
        assert!(play.calls.is_empty(), "{number}: {:?}", play.calls);
    }
    assert_eq!(counts(play, &options).granted, 4_096);
}

#[test]
fn a_client_that_leaves_does_not_return_a_delegation_twice() {
    for closed in [false, true] {
        let (mut play, options, file) = holder();
        if closed {
            assert_eq!(asks(&mut play, 2, &Operation::Close { file }), NONE);
        }
        play.feed(&recall_of(1, DELEGATION));
        assert_eq!(leave(&mut play), [RETURN, CLOSE, 44, 57]);
        let counts = counts(play, &options);
        assert_eq!((counts.returned, counts.recall_ns.0, counts.unreturned), (1, 1, 0), "{closed}");
    }
}

#[test]
fn a_recall_of_a_client_that_leaves_has_its_time() {
    let (mut play, options, _) = holder();
    play.client.leave(play.now, &mut play.out, &mut play.seen);
    play.receive();
    play.feed(&recall_of(1, DELEGATION));
    assert_eq!(served(&mut play), [RETURN, CLOSE, 44, 57]);
    let counts = counts(play, &options);
    assert_eq!((counts.recalled, counts.returned, counts.recall_ns.0), (1, 1, 1));
}

#[test]
fn two_locks_of_a_delegated_file_open_it_once() {
    let (mut play, _options, file) = holder();
    for (tag, offset) in [(2, 0), (3, 9)] {
        play.begin(tag, &Operation::Lock { file, offset, length: 9, exclusive: false, wait: false });
    }
    let open = play.calls.remove(0);
    assert_eq!((about(&open), play.calls.len()), (OPEN, 0));
    // The server grants a delegation that the client has not asked for.
    play.answer(&open, &with_state(open.granting().fine(), ANOTHER));
    let mut seen = served(&mut play);
    seen.sort_unstable();
    assert_eq!(seen, [RETURN, 12, 12]);
    assert!([2, 3].iter().all(|tag| play.done(Tag(*tag)).unwrap().is_ok()));
    assert_eq!(asks(&mut play, 4, &Operation::Close { file }), [CLOSE]);
    assert_eq!(leave(&mut play), [RETURN, CLOSE, 44, 57], "the open that the delegation came with");
}

#[test]
fn a_lock_that_waits_for_an_open_is_sent_after_its_timeout() {
    let (mut play, _options, file) = holder();
    let lock = |offset| Operation::Lock { file, offset, length: 9, exclusive: false, wait: false };
    play.begin(2, &lock(0));
    play.calls.clear();
    play.now += 10;
    let until = play.now;
    play.begin(3, &lock(9));
    play.client.overdue(until, play.now, &mut play.seen);
    assert!(play.done(Tag(2)).unwrap().is_err());
    play.wake();
    assert_eq!(served(&mut play), [OPEN, 12]);
    assert!(play.done(Tag(3)).unwrap().is_ok());
}
