//! Server faults, and the expected end of the operation.

use plimsoll_client::Client;
use plimsoll_client::operation::{Cause, Operation};

use plimsoll_testkit::nfs4::{Asked, recall};

use super::play::Play;
use crate::nfs::script::record;

/// How an operation ends, and whether the connection is over with it.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    Fine,
    Failed(Cause, Option<u32>),
    Over(Cause),
}

/// Name, the server's handling of a call, and the end of the operation.
pub(crate) type Misbehaviour = (&'static str, fn(&mut Play, &Asked), End);

/// Misbehaviours with sessions and slots, or with calls of the server over the client's connection: 4.0 has neither. All others end in 4.0
/// as in later versions.
pub(crate) const OF_SESSIONS: [&str; 23] = [
    "BADSESSION",
    "DEADSESSION",
    "BADSLOT",
    "BAD_HIGH_SLOT",
    "SEQ_MISORDERED",
    "SEQ_FALSE_RETRY",
    "RETRY_UNCACHED_REP",
    "not bound",
    "the session has outlived a restart, again and again",
    "no session lives longer than a request",
    "no session is given out any more",
    "a new session is never answered",
    "request too big",
    "SEQUENCE delayed",
    "another session",
    "another sequence",
    "another slot",
    "no answer",
    "a storm of recalls",
    "the connection is reset, and another one goes on",
    "the connection is reset, and the server still executes the request",
    "the connection is reset, and the answer that was kept is gone",
    "the connection is reset, and its session is lost",
];

/// The place of SEQUENCE (in 4.0 of PUTFH), of PUTFH, and of the last operation.
const FIRST: usize = 0;

fn handle(call: &Asked) -> usize {
    usize::from(call.slot.is_some())
}

pub(crate) fn last(call: &Asked) -> usize {
    call.operations.len() - 1
}

/// Answers as it should be, but for a word of the results.
fn with_word(play: &mut Play, call: &Asked, at: usize, word: u32) {
    let mut results = call.fine();
    results[at..at + 4].copy_from_slice(&word.to_be_bytes());
    play.answer(call, &results);
}

/// Refuses once, and then sees the same again: with the slot and the number of before, or the next number; in 4.0 without.
fn refuses_once(play: &mut Play, call: &Asked, place: usize, status: u32, counted: u32) {
    play.answer(call, &call.failing(place, status));
    assert!(play.calls.is_empty(), "it asks again at once");
    play.wake();
    let again = play.calls.remove(0);
    assert_eq!(again.operations, call.operations);
    assert_eq!(again.slot, call.slot.map(|(slot, sequence)| (slot, sequence + counted)));
    let results = again.fine();
    play.answer(&again, &results);
}

// Places in the results: status, length of the tag, number of results; SEQUENCE: number, status, session, sequence id, slot, two more, flags.
const STATUS: usize = 0;
const TAG: usize = 4;
const COUNT: usize = 8;
const OPERATION: usize = 12;
const OWN_STATUS: usize = 16;
const SESSION_ID: usize = 20;
const SEQUENCE_ID: usize = 36;
const SLOT: usize = 40;
const FLAGS: usize = 52;

const SENSELESS: End = End::Over(Cause::Malformed);

/// All faults.
pub(crate) fn table() -> Vec<Misbehaviour> {
    [sessions_lost(), refusals(), nonsense(), others(), lost_connections()].into_iter().flatten().collect()
}

/// The session is lost, or nothing is wrong.
fn sessions_lost() -> Vec<Misbehaviour> {
    vec![
        ("nothing wrong", |play, call| play.answer(call, &call.fine()), End::Fine),
        ("BADSESSION", |play, call| play.answer(call, &call.failing(FIRST, 10_052)), End::Fine),
        ("DEADSESSION", |play, call| play.answer(call, &call.failing(FIRST, 10_078)), End::Fine),
        ("STALE_CLIENTID", |play, call| play.answer(call, &call.failing(FIRST, 10_022)), End::Fine),
        ("BADSLOT", |play, call| play.answer(call, &call.failing(FIRST, 10_053)), End::Fine),
        ("BAD_HIGH_SLOT", |play, call| play.answer(call, &call.failing(FIRST, 10_077)), End::Fine),
        ("SEQ_MISORDERED", |play, call| play.answer(call, &call.failing(FIRST, 10_063)), End::Fine),
        ("SEQ_FALSE_RETRY", |play, call| play.answer(call, &call.failing(FIRST, 10_076)), End::Fine),
        ("RETRY_UNCACHED_REP", |play, call| play.answer(call, &call.failing(FIRST, 10_068)), End::Fine),
        ("not bound", |play, call| play.answer(call, &call.failing(FIRST, 10_055)), End::Fine),
        ("expired", |play, call| play.answer(call, &call.failing(last(call), 10_011)), End::Fine),
        (
            "the session has outlived a restart, again and again",
            |play, call| {
                with_word(play, call, FLAGS, 0x100);
                let (mut claims, mut answers) = (0, 0);
                while let Some(next) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
                    claims += u32::from(next.operations.contains(&58));
                    answers += 1;
                    with_word(play, &next, FLAGS, 0x100);
                }
                assert_eq!((claims, answers < 10), (1, true), "state is reclaimed once");
            },
            End::Fine,
        ),
        (
            "no session lives longer than a request",
            |play, call| {
                play.answer(call, &call.failing(FIRST, 10_052));
                while let Some(next) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
                    let results = match next.slot {
                        Some(_) => next.failing(FIRST, 10_052),
                        None => next.fine(),
                    };
                    play.answer(&next, &results);
                }
            },
            End::Over(Cause::SessionLost),
        ),
        (
            "no session is given out any more",
            |play, call| {
                play.answer(call, &call.failing(FIRST, 10_052));
                while let Some(next) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
                    play.answer(&next, &next.failing(FIRST, 10_022));
                }
            },
            End::Over(Cause::SessionLost),
        ),
        (
            "a new session is never answered",
            |play, call| {
                play.answer(call, &call.failing(FIRST, 10_052));
                play.time_out();
            },
            End::Over(Cause::TimedOut),
        ),
    ]
}

/// The server refuses, once or for ever.
fn refusals() -> Vec<Misbehaviour> {
    vec![
        (
            "request too big",
            |play, call| play.answer(call, &call.failing(FIRST, 10_065)),
            End::Failed(Cause::Status, Some(10_065)),
        ),
        ("SEQUENCE delayed", |play, call| refuses_once(play, call, FIRST, 10_008, 0), End::Fine),
        ("delayed", |play, call| refuses_once(play, call, last(call), 10_008, 1), End::Fine),
        ("grace", |play, call| refuses_once(play, call, handle(call), 10_013, 1), End::Fine),
        (
            "delayed for ever",
            |play, call| {
                play.answer(call, &call.failing(handle(call), 10_008));
                for pause in [100, 200, 400] {
                    let before = play.now;
                    play.wake();
                    assert!((play.now - before - pause * 1_000_000).abs() < 1_000, "it waits twice as long each time");
                    let again = play.calls.remove(0);
                    play.answer(&again, &again.failing(handle(&again), 10_008));
                }
                play.time_out();
            },
            End::Failed(Cause::Status, Some(10_008)),
        ),
        (
            "stale",
            |play, call| play.answer(call, &call.failing(handle(call), 70)),
            End::Failed(Cause::Status, Some(70)),
        ),
        (
            "no space",
            |play, call| play.answer(call, &call.failing(last(call), 28)),
            End::Failed(Cause::Status, Some(28)),
        ),
        (
            "a status of no name",
            |play, call| play.answer(call, &call.failing(last(call), 4_711)),
            End::Failed(Cause::Status, Some(4_711)),
        ),
    ]
}

/// The answer makes no sense.
fn nonsense() -> Vec<Misbehaviour> {
    vec![
        ("another session", |play, call| with_word(play, call, SESSION_ID, 0), SENSELESS),
        ("another sequence", |play, call| with_word(play, call, SEQUENCE_ID, 99), SENSELESS),
        ("another slot", |play, call| with_word(play, call, SLOT, 3), SENSELESS),
        // RESTOREFH, with which no compound of the client begins.
        ("another operation", |play, call| with_word(play, call, OPERATION, 31), SENSELESS),
        ("a tag that is longer than the message", |play, call| with_word(play, call, TAG, 1 << 30), SENSELESS),
        ("a failed whole of parts that succeeded", |play, call| with_word(play, call, STATUS, 5), SENSELESS),
        ("a part that failed with others behind it", |play, call| with_word(play, call, OWN_STATUS, 5), SENSELESS),
        ("fewer results than there are", |play, call| with_word(play, call, COUNT, 1), SENSELESS),
        ("four billion results", |play, call| with_word(play, call, COUNT, u32::MAX), SENSELESS),
        // With success, and without the results behind PUTFH.
        ("a compound that ends early", |play, call| play.answer(call, &call.failing(handle(call), 0)), SENSELESS),
        (
            "cut",
            |play, call| {
                let results = call.fine();
                play.answer(call, &results[..results.len() - 4]);
            },
            SENSELESS,
        ),
        ("bytes behind the results", |play, call| play.answer(call, &[call.fine(), vec![0; 4]].concat()), SENSELESS),
        ("no results", |play, call| play.answer(call, &[]), SENSELESS),
        (
            "a record without end",
            |play, _| {
                assert!(!play.feed(&[0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]));
            },
            SENSELESS,
        ),
    ]
}

/// Answers that do not come, come twice, or are to nothing.
fn others() -> Vec<Misbehaviour> {
    vec![
        (
            "no answer",
            |play, call| {
                play.time_out();
                // Its slot is not used again until its answer comes, late.
                let slot = call.slot.unwrap().0;
                play.begin(50, &Operation::Fsinfo);
                assert_ne!(play.calls.last().unwrap().slot.unwrap().0, slot);
                play.serve_last();
                play.answer(call, &call.fine());
                assert_eq!(play.client.unmatched_responses(), 1);
                play.begin(51, &Operation::Fsinfo);
                let again = play.calls.last().unwrap().slot.unwrap();
                assert_eq!(again, (slot, call.slot.unwrap().1 + 1));
                play.serve_last();
            },
            End::Failed(Cause::TimedOut, None),
        ),
        (
            "an answer twice",
            |play, call| {
                play.answer(call, &call.fine());
                play.answer(call, &call.fine());
                assert_eq!(play.client.unmatched_responses(), 1);
            },
            End::Fine,
        ),
        (
            "an answer to what was never asked",
            |play, call| {
                play.feed(&record(call.xid ^ 0x55, &call.fine()));
                play.answer(call, &call.fine());
                assert_eq!(play.client.unmatched_responses(), 1);
            },
            End::Fine,
        ),
        (
            "a storm of recalls",
            |play, call| {
                for xid in 0..200 {
                    play.feed(&recall(xid));
                }
                assert_eq!(play.replies.len(), 200);
                // Accepted; NFS4ERR_BADHANDLE, no tag, two results.
                let expected = [0, 0, 0, 0, 0, 10_001, 0, 2].map(u32::to_be_bytes).concat();
                assert!(play.replies.iter().all(|reply| reply[8..8 + expected.len() - 4] == expected[4..]));
                play.answer(call, &call.fine());
            },
            End::Fine,
        ),
    ]
}

/// The repeat on another connection is refused, because the server still executes the request.
fn still_executed(play: &mut Play, call: &Asked) {
    assert!(play.lose());
    play.rejoin();
    play.serve_last();
    let again = play.calls.remove(0);
    play.answer(&again, &again.failing(FIRST, 10_008));
    assert!(play.calls.is_empty(), "it waits");
    play.begin(50, &Operation::Fsinfo);
    assert_ne!(play.calls[0].slot.unwrap().0, call.slot.unwrap().0, "the slot is not free");
    play.serve_last();
    play.wake();
    let again = play.calls.remove(0);
    assert_eq!((again.slot, &again.arguments), (call.slot, &call.arguments));
    play.answer(&again, &again.fine());
}

/// The connection is lost with a request on its way.
fn lost_connections() -> Vec<Misbehaviour> {
    vec![
        (
            "the connection is reset, and another one goes on",
            |play, call| {
                assert!(play.lose());
                play.rejoin();
                let bind = play.calls.remove(0);
                assert_eq!(bind.operations, [41]);
                play.answer(&bind, &bind.fine());
                let again = play.calls.remove(0);
                assert_eq!(again.arguments, call.arguments, "the same, slot and number included");
                play.answer(&again, &again.fine());
            },
            End::Fine,
        ),
        ("the connection is reset, and the server still executes the request", still_executed, End::Fine),
        (
            "the connection is reset, and the answer that was kept is gone",
            |play, call| {
                assert!(play.lose());
                play.rejoin();
                let bind = play.calls.remove(0);
                play.answer(&bind, &bind.fine());
                let again = play.calls.remove(0);
                play.answer(&again, &again.failing(FIRST, 10_068));
                let anew = play.calls.remove(0);
                let (slot, sequence) = call.slot.unwrap();
                assert_eq!((anew.slot, &anew.operations), (Some((slot, sequence + 1)), &call.operations));
                play.answer(&anew, &anew.fine());
            },
            End::Fine,
        ),
        (
            "the connection is reset, and its session is lost",
            |play, call| {
                assert!(play.lose());
                play.rejoin();
                let bind = play.calls.remove(0);
                play.answer(&bind, &bind.failing(FIRST, 10_052));
                let create = play.calls.remove(0);
                assert_eq!(create.operations, [43]);
                play.answer(&create, &create.fine());
                let anew = play.calls.remove(0);
                assert_eq!((anew.slot, &anew.operations), (Some((0, 1)), &call.operations));
                assert_ne!(anew.session, call.session);
                play.answer(&anew, &anew.fine());
            },
            End::Fine,
        ),
        (
            "the connection is reset, and none follows in time",
            |play, _| {
                assert!(play.lose());
                play.time_out();
                play.rejoin();
            },
            End::Failed(Cause::TimedOut, None),
        ),
        (
            "the connection is reset, and none follows at all",
            |play, _| play.client.broken(play.now, Cause::ConnectionReset, &mut play.seen),
            End::Over(Cause::ConnectionReset),
        ),
    ]
}
