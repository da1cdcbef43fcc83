//! Every misbehaviour of a table, in answer to every operation: each operation ends once, as the table says, and each call has one row
//! that is counted.

use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::{Arrived, Client, FileKey, Operation, Reply, Tag};
use plimsoll_testkit::nfs4::SLOTS;
use plimsoll_wire::nfs::status_name;

use super::play::Play;
use super::table::{End, Misbehaviour, OF_SESSIONS, last, table};
use crate::nfs::script::{REJECTIONS, rejection};

/// Operations whose first call is misanswered: those of all versions, and those of 4.2.
fn operations<'a>(minor: u32, file: FileKey, content: &'a Arc<Content>) -> Vec<Operation<'a>> {
    let added = [
        Operation::Copy { from: file, to: file, length: 1_000 },
        Operation::Clone { from: file, to: file, length: 0 },
        Operation::Allocate { file, offset: 0, length: 1 << 40 },
        Operation::Deallocate { file, offset: 1_000, length: 9 },
        Operation::SeekData { file, offset: 0 },
        Operation::SeekHole { file, offset: 7 },
        Operation::ReadPlus { file, offset: 0, length: 1_000, keep: false },
        Operation::ReadPlus { file, offset: 3, length: 10_000, keep: true },
    ];
    let added = if minor == 2 { &added[..] } else { &[] };
    [operations_of_all(file, content), added.to_vec()].concat()
}

fn operations_of_all<'a>(file: FileKey, content: &'a Arc<Content>) -> Vec<Operation<'a>> {
    let (access, caching) = (Access::Write, Caching::None);
    let open = |path, disposition| Operation::Open { path, access, disposition, caching };
    vec![
        Operation::GetattrOpen { file },
        Operation::Getattr { path: "other" },
        Operation::Read { file, offset: 0, length: 1_000, keep: false },
        Operation::Read { file, offset: 0, length: 1_000, keep: true },
        Operation::Read { file, offset: 7, length: 0, keep: false },
        Operation::Write { file, offset: 0, length: 1_000, content, key: 1 },
        Operation::Write { file, offset: 7, length: 0, content, key: 1 },
        Operation::Flush { file },
        Operation::Truncate { file, size: 5 },
        Operation::Lock { file, offset: 0, length: 9, exclusive: true, wait: false },
        Operation::Close { file },
        open("new", Disposition::Create),
        open("emptied", Disposition::Overwrite),
        Operation::Mkdir { path: "folder" },
        Operation::Remove { path: "gone" },
        Operation::Rename { from: "from", to: "to" },
        Operation::Symlink { path: "link", text: "text" },
        Operation::List { path: "" },
        Operation::Access { path: "" },
        Operation::Fsinfo,
    ]
}

/// What a server writes is counted once, not what it was asked to write again and again.
#[test]
fn a_write_counts_the_bytes_that_the_server_wrote() {
    let content = Arc::new(Content::new(1));
    for minor in [0, 1] {
        let mut play = Play::connected_in(minor);
        let file = play.open();
        play.begin(9, &Operation::Write { file, offset: 0, length: 1_000, content: &content, key: 1 });
        for count in [600, 400_u32] {
            let call = play.calls.remove(0);
            let mut results = call.fine();
            // The count is before `committed` and the verifier.
            let place = results.len() - 16;
            results[place..][..4].copy_from_slice(&count.to_be_bytes());
            play.answer(&call, &results);
        }
        assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Written { bytes: 1_000 })));
        let rows = play.seen.rows.iter().filter(|row| row.counted);
        let payload: Vec<u64> = rows.filter_map(|row| row.payload_bytes).collect();
        assert_eq!(payload, [600, 400], "version 4.{minor}");
    }
}

#[test]
fn every_misbehaviour_in_answer_to_every_operation_is_counted_as_what_it_is() {
    let cases: usize = table().iter().map(|misbehaviour| misbehaves(2, misbehaviour)).sum();
    assert!(cases >= 200, "{cases}");
}

#[test]
fn every_misbehaviour_without_sessions_is_counted_as_what_it_is() {
    let (all, mut table) = (table().len(), table());
    table.retain(|(name, ..)| !OF_SESSIONS.contains(name));
    assert_eq!(all - table.len(), OF_SESSIONS.len(), "each name is in the table");
    let cases: usize = table.iter().map(|misbehaviour| misbehaves(0, misbehaviour)).sum();
    assert!(cases >= 200, "{cases}");
}

/// A misbehaviour in answer to every operation in a minor version. Returns the number of operations.
fn misbehaves(minor: u32, (name, misbehave, expected): &Misbehaviour) -> usize {
    let content = Arc::new(Content::new(1));
    let count = operations(minor, FileKey(0), &content).len();
    for number in 0..count {
        let mut play = Play::connected_in(minor);
        let file = play.open();
        let operation = operations(minor, file, &content).swap_remove(number);
        let what = format!("{name} in 4.{minor}: {operation:?}");
        play.begin(9, &operation);
        let call = play.calls.remove(0);
        misbehave(&mut play, &call);
        if play.client.over().is_none() {
            // Further calls of the operation are answered as they should be.
            play.serve();
        }
        let end = match (play.done(Tag(9)), play.client.over()) {
            (Some(Ok(_)), None) => End::Fine,
            (Some(Err(failure)), None) => End::Failed(failure.cause, failure.status),
            (Some(Err(failure)), Some(over)) if failure.cause == over => End::Over(over),
            (done, over) => panic!("{what}: {done:?}, {over:?}"),
        };
        assert_eq!(end, *expected, "{what}");
        assert_eq!(play.client.outstanding(), 0, "{what}");
        play.check_rows(&what);
    }
    count
}

/// Statuses after which the request is repeated later: DELAY, GRACE; also DENIED for a waiting lock, which is not tested here.
const LATER: [u32; 2] = [10_008, 10_013];
/// Statuses after which session or state are made good again, and the operation succeeds.
const MADE_GOOD: [u32; 10] = [10_011, 10_022, 10_052, 10_053, 10_055, 10_063, 10_068, 10_076, 10_077, 10_078];
/// In 4.0: DELAY, GRACE and OLD_STATEID; EXPIRED, STALE_CLIENTID and STALE_STATEID.
const WITHOUT_SESSIONS: ([u32; 3], [u32; 3]) = ([10_008, 10_013, 10_024], [10_011, 10_022, 10_023]);

/// Every status of the protocol, at every operation of a compound, in answer to every operation of a user; the test states the expected
/// results independently. Some 90 statuses in three or more places make more than 200 cases.
#[test]
fn every_status_in_every_place_has_its_outcome() {
    statuses(2, &LATER, &MADE_GOOD);
}

#[test]
fn every_status_in_every_place_has_its_outcome_without_sessions() {
    let (later, made_good) = WITHOUT_SESSIONS;
    statuses(0, &later, &made_good);
}

fn statuses(minor: u32, later: &[u32], made_good: &[u32]) {
    let content = Arc::new(Content::new(1));
    let statuses: Vec<u32> = (1..100).chain(10_001..10_100).filter(|&it| status_name(4, it).is_some()).collect();
    let (mut misbehaviours, mut cases) = (0, 0);
    for &status in &statuses {
        let mut longest = 0;
        for number in 0..operations(minor, FileKey(0), &content).len() {
            for place in 0..5 {
                let mut play = Play::connected_in(minor);
                let file = play.open();
                play.begin(9, &operations(minor, file, &content).swap_remove(number));
                let call = play.calls.remove(0);
                if place >= call.operations.len() {
                    break;
                }
                let what = format!("status {status} of {:?} at {place}", call.operations);
                play.answer(&call, &call.failing(place, status));
                let before = play.done(Tag(9));
                let expected = match status {
                    status if later.contains(&status) => {
                        assert!(before.is_none() && play.calls.is_empty(), "{what}");
                        play.wake();
                        None
                    }
                    status if made_good.contains(&status) => None,
                    status => Some(status),
                };
                play.serve();
                match (play.done(Tag(9)), expected) {
                    (Some(Ok(_)), None) => {}
                    (Some(Err(failure)), Some(status)) => {
                        assert_eq!((failure.cause, failure.status), (Cause::Status, Some(status)), "{what}");
                    }
                    other => panic!("{what}: {other:?}"),
                }
                assert_eq!((play.client.over(), play.client.outstanding()), (None, 0), "{what}");
                play.check_rows(&what);
                (longest, cases) = (longest.max(place + 1), cases + 1);
            }
        }
        misbehaviours += longest;
    }
    assert!(misbehaviours >= 200 && cases > 2_000, "{misbehaviours} in {cases} cases");
}

/// A server that repeats one answer forever, whatever the request: every operation ends, at the latest after its timeout.
#[test]
fn a_server_that_always_says_the_same_ends_every_operation() {
    [0, 2].into_iter().for_each(always_the_same);
}

fn always_the_same(minor: u32) {
    let content = Arc::new(Content::new(1));
    for status in (1..100).chain(10_001..10_100).filter(|&it| status_name(4, it).is_some()) {
        for place in [0, 1, usize::MAX] {
            let mut play = Play::connected_in(minor);
            let file = play.open();
            for (tag, operation) in (100..).zip(operations(minor, file, &content)) {
                play.begin(tag, &operation);
            }
            let all = 100..100 + operations(minor, file, &content).len() as u64;
            let begun = play.now;
            let mut answers = 0;
            while play.client.over().is_none() && all.clone().any(|tag| play.done(Tag(tag)).is_none()) {
                answers += 1;
                assert!(answers < 20_000, "status {status} at {place}: it asks for ever");
                match play.calls.pop() {
                    Some(call) => {
                        let last = call.operations.len().saturating_sub(1);
                        play.answer(&call, &call.failing(place.min(last), status));
                    }
                    None if play.client.wakes_at() < begun + 60_000_000_000 => play.wake(),
                    None => play.time_out(),
                }
                if play.now > begun + 40_000_000_000 {
                    play.time_out();
                }
            }
            assert!(all.clone().all(|tag| play.done(Tag(tag)).is_some()), "status {status} at {place}");
        }
    }
}

/// A transfer of nothing has one request, which is repeated like any other.
#[test]
fn an_empty_transfer_is_repeated() {
    for loses in [false, true] {
        let mut play = Play::connected();
        let file = play.open();
        play.begin(9, &Operation::Read { file, offset: 7, length: 0, keep: false });
        let call = play.calls.remove(0);
        if loses {
            assert!(play.lose());
            play.rejoin();
            play.serve_last();
            assert_eq!(play.calls[0].arguments, call.arguments);
        } else {
            play.answer(&call, &call.failing(last(&call), 10_008));
            assert!(play.done(Tag(9)).is_none());
            play.wake();
            assert_eq!(play.calls[0].operations, call.operations);
        }
        play.serve();
        assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Read { bytes: 0 })), "{loses}");
        play.check_rows("nothing");
    }
}

/// A server that calls the client again and again: if it does not read the replies, they must not fill the memory.
#[test]
fn replies_to_a_flood_of_calls_are_bounded() {
    // The record mark; xid, CALL, RPC version, program, version, CB_NULL; AUTH_NONE twice.
    let call = [0x8000_0028, 1, 0, 2, 0x4000_0000, 1, 0, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
    for reads in [true, false] {
        let mut play = Play::connected();
        for number in 1..=100_000 {
            let (head, length, at) = (call.as_slice(), call.len() as u64, play.now);
            let arrived = Arrived { head, length, first: at, last: at, channel: 0 };
            play.client.message(arrived, &mut play.out, &mut play.seen);
            if reads && number % 10_000 == 0 {
                play.receive();
            }
        }
        assert!(play.out.end() - play.out.sent() < 2 << 20, "{reads}");
        assert_eq!(play.client.over(), (!reads).then_some(Cause::Malformed));
        assert_eq!(play.replies.len(), if reads { 100_000 } else { 0 });
    }
}

#[test]
fn what_rpc_rejects_is_no_loss_of_the_session() {
    for kind in 0..REJECTIONS {
        let mut play = Play::connected();
        let file = play.open();
        play.begin(9, &Operation::GetattrOpen { file });
        let call = play.calls.remove(0);
        play.feed(&rejection(call.xid, kind));
        let failure = play.done(Tag(9)).unwrap().unwrap_err();
        assert!(matches!(failure.cause, Cause::CallRejected | Cause::Unsupported), "{failure:?}");
        // The server has not counted it: its number is used again.
        play.begin(10, &Operation::GetattrOpen { file });
        assert_eq!(play.calls[0].slot, call.slot);
        play.serve();
        assert!(matches!(play.done(Tag(10)), Some(Ok(_))));
        play.check_rows("rejected");
    }
}

#[test]
fn where_no_slot_is_left_the_connection_is_over() {
    let mut play = Play::connected();
    let file = play.open();
    for tag in 10..10 + 2 * u64::from(SLOTS) {
        play.begin(tag, &Operation::GetattrOpen { file });
    }
    assert_eq!(play.calls.len() as u32, SLOTS, "more wait");
    assert_eq!(play.client.outstanding() as u32, 2 * SLOTS);
    play.time_out();
    for tag in 10..10 + 2 * u64::from(SLOTS) {
        assert_eq!(play.done(Tag(tag)).unwrap().unwrap_err().cause, Cause::TimedOut);
    }
    assert_eq!((play.client.over(), play.client.outstanding()), (Some(Cause::TimedOut), 0));
    play.check_rows("no slot");
}

#[test]
fn a_lease_is_renewed_when_nothing_else_does() {
    let mut play = Play::connected();
    let before = play.now;
    play.wake();
    assert!(play.now - before > 59_000_000_000 && play.now - before <= 60_000_000_000, "two thirds of 90 s");
    let call = play.calls.remove(0);
    assert_eq!(call.operations, [53], "SEQUENCE alone");
    let ended = play.seen.done.len();
    play.answer(&call, &call.fine());
    assert_eq!(play.seen.done.len(), ended, "nobody asked for it");
    let again = play.client.wakes_at();
    play.begin(9, &Operation::Fsinfo);
    play.serve();
    assert!(play.client.wakes_at() >= again, "a request renews it as well");
    play.check_rows("renewal");
}

#[test]
fn leaving_gives_everything_back_whatever_the_server_says() {
    for status in [0, 10_074, 10_008, 10_011] {
        let mut play = Play::connected();
        play.open();
        play.client.leave(play.now, &mut play.out, &mut play.seen);
        play.receive();
        let mut left: Vec<u32> = Vec::new();
        while !play.calls.is_empty() {
            let call = play.calls.remove(0);
            left.extend(call.operations.last());
            let results = if status == 0 { call.fine() } else { call.failing(last(&call), status) };
            play.answer(&call, &results);
        }
        if status == 10_008 {
            // It would wait for ever: the caller's deadline ends it.
            play.time_out();
            assert!(play.done(Tag::LEAVE).is_some());
            continue;
        }
        assert_eq!(left, [4, 44, 57], "CLOSE, DESTROY_SESSION, DESTROY_CLIENTID");
        assert!(matches!(play.done(Tag::LEAVE), Some(Ok(Reply::Nothing))));
    }
}
