//! NFSv4.0: sequence IDs of owners, lost connections, and a server that restarts.

use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::{Client, Failure, FileKey, Operation, Reply, Tag};
use plimsoll_model::Outcome;

use plimsoll_testkit::nfs4::Asked;

use super::play::Play;
use super::recovery::refused_recoveries;
use crate::nfs::script::record;

const STALE_CLIENTID: u32 = 10_022;
const STALE_STATEID: u32 = 10_023;
const BAD_SEQID: u32 = 10_026;
const RESOURCE: u32 = 10_018;
const NO_GRACE: u32 = 10_033;
const EXPIRED: u32 = 10_011;

/// OPEN_CONFIRM, OPEN, CLOSE, LOCK and LOCKU.
const CONFIRM: u32 = 20;
const OPEN: u32 = 18;
const CLOSE: u32 = 4;
const LOCK: u32 = 12;
const UNLOCK: u32 = 14;

/// The sequence IDs of a request, by their places in RFC 7530 16: behind PUTFH of a handle of 8 bytes; of a first lock both.
fn sequences(call: &Asked) -> Vec<u32> {
    let word = |at: usize| u32::from_be_bytes(call.arguments[at..][..4].try_into().unwrap());
    // Tag, minor version, number of operations; PUTFH; the number of the operation.
    let at = 12 + 16 + 4;
    match call.operations[1] {
        OPEN | CLOSE => vec![word(at)],
        CONFIRM => vec![word(at + 16)],
        UNLOCK => vec![word(at + 4)],
        // Kind, reclaim, offset, length, whether the owner is new.
        LOCK if word(at + 24) == 1 => vec![word(at + 28), word(at + 48)],
        LOCK => vec![word(at + 44)],
        other => panic!("operation {other}"),
    }
}

/// The open-owner of an OPEN.
fn owner(call: &Asked) -> Vec<u8> {
    let at = 12 + 16 + 4 + 20;
    call.arguments[at..][..8].to_vec()
}

fn lock(file: FileKey) -> Operation<'static> {
    Operation::Lock { file, offset: 0, length: 9, exclusive: true, wait: false }
}

fn open_of(path: &str) -> Operation<'_> {
    let (access, caching) = (Access::ReadWrite, Caching::None);
    Operation::Open { path, access, disposition: Disposition::Open, caching }
}

/// Answers everything as it should be, and returns operation and sequence IDs of the owners' requests.
fn served(play: &mut Play) -> Vec<(u32, Vec<u32>)> {
    let mut seen = Vec::new();
    while let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
        if call.operations.len() > 1 && [OPEN, CONFIRM, CLOSE, LOCK, UNLOCK].contains(&call.operations[1]) {
            seen.push((call.operations[1], sequences(&call)));
        }
        play.answer(&call, &call.fine());
    }
    seen
}

#[test]
fn an_owner_has_one_request_at_a_time_with_the_next_sequence_id() {
    let mut play = Play::connected_in(0);
    play.begin(1, &open_of("file"));
    assert_eq!(served(&mut play), [(OPEN, vec![0]), (CONFIRM, vec![1])]);
    let Some(Ok(Reply::Opened { file, .. })) = play.done(Tag(1)) else { panic!("it is open") };
    // Three locks at once: each waits for the one before.
    (2..5).for_each(|tag| play.begin(tag, &lock(file)));
    assert_eq!((play.calls.len(), play.client.outstanding()), (1, 3));
    // What needs no owner does not wait.
    play.begin(5, &Operation::GetattrOpen { file });
    assert_eq!(play.calls.len(), 2);
    play.begin(6, &Operation::Close { file });
    assert_eq!(play.calls.len(), 2, "a close waits as well");
    let seen = served(&mut play);
    // The file was closed before the others were sent, so they have no state to lock with.
    assert_eq!(seen, [(LOCK, vec![2, 0]), (CLOSE, vec![3])]);
    assert!(play.done(Tag(2)).unwrap().is_ok() && play.done(Tag(6)).unwrap().is_ok());
    for tag in [3, 4] {
        assert_eq!(play.done(Tag(tag)).unwrap().unwrap_err().outcome, Outcome::NeverSent);
    }
    // Its owner opens the next file, and goes on counting.
    play.begin(7, &open_of("other"));
    assert_eq!(served(&mut play), [(OPEN, vec![4]), (CONFIRM, vec![5])]);
    let Some(Ok(Reply::Opened { file, .. })) = play.done(Tag(7)) else { panic!("it is open") };
    (8..10).for_each(|tag| play.begin(tag, &lock(file)));
    assert_eq!(served(&mut play), [(LOCK, vec![6, 1]), (LOCK, vec![2])]);
    play.begin(10, &Operation::Unlock { file, offset: 0, length: 9 });
    assert_eq!(served(&mut play), [(UNLOCK, vec![3])]);
    assert_eq!(play.client.outstanding(), 0);
    play.check_rows("sequence IDs");
}

#[test]
fn a_refusal_counts_unless_the_specification_says_otherwise() {
    for (status, next) in [(13, 1), (RESOURCE, 0), (10_008, 1)] {
        let mut play = Play::connected_in(0);
        play.begin(1, &open_of("file"));
        let call = play.calls.remove(0);
        play.answer(&call, &call.failing(1, status));
        if play.done(Tag(1)).is_some() {
            play.begin(2, &open_of("file"));
        } else {
            play.wake();
        }
        assert_eq!(sequences(&play.calls[0]), [next], "{status}");
        assert_eq!(owner(&play.calls[0]), owner(&call));
    }
    // PUTFH was refused, so the server did not get to the OPEN.
    let mut play = Play::connected_in(0);
    play.begin(1, &open_of("file"));
    let call = play.calls.remove(0);
    play.answer(&call, &call.failing(0, 70));
    play.begin(2, &open_of("file"));
    assert_eq!(sequences(&play.calls[0]), [0]);
}

#[test]
fn an_owner_that_is_out_of_step_is_not_used_again() {
    for times_out in [false, true] {
        let mut play = Play::connected_in(0);
        play.begin(1, &open_of("file"));
        let call = play.calls.remove(0);
        match times_out {
            true => play.time_out(),
            false => play.answer(&call, &call.failing(1, BAD_SEQID)),
        }
        let failure = play.done(Tag(1)).unwrap().unwrap_err();
        let expected = if times_out { (Cause::TimedOut, None) } else { (Cause::Status, Some(BAD_SEQID)) };
        assert_eq!((failure.cause, failure.status), expected);
        play.begin(2, &open_of("file"));
        assert_eq!(sequences(&play.calls[0]), [0]);
        assert_ne!(owner(&play.calls[0]), owner(&call));
        play.serve();
        assert!(play.done(Tag(2)).unwrap().is_ok());
        play.check_rows("out of step");
    }
}

/// A server repeats its response to whatever has the same sequence ID: the CLOSE must not get that of a LOCK without a response.
#[test]
fn a_request_without_a_response_leaves_its_sequence_id_to_no_other() {
    for (parted, first) in [(false, true), (true, true), (false, false), (true, false)] {
        let what = format!("{parted} {first}");
        let (mut play, file) = if first { opener() } else { holder() };
        play.begin(9, &lock(file));
        let sent = sequences(&play.calls[0]);
        if parted {
            assert!(play.lose());
        }
        play.time_out();
        assert_eq!(play.done(Tag(9)).unwrap().unwrap_err().cause, Cause::TimedOut, "{what}");
        play.calls.clear();
        if parted {
            play.rejoin();
            play.serve();
        }
        for (tag, operation) in [(10, lock(file)), (11, Operation::Unlock { file, offset: 0, length: 9 })] {
            play.begin(tag, &operation);
            let failure = play.done(Tag(tag)).unwrap().unwrap_err();
            assert_eq!((failure.cause, failure.outcome), (Cause::LocksUnknown, Outcome::NeverSent), "{what}");
        }
        play.begin(12, &Operation::Close { file });
        let close = play.calls.remove(0);
        // A further lock has only the ID of the lock-owner.
        assert_eq!(sequences(&close), [if first { sent[0] + 1 } else { 3 }], "{what}");
        play.answer(&close, &close.failing(1, BAD_SEQID));
        if first {
            // The server has not executed the LOCK, so its ID is left for the CLOSE. It is tried once.
            let again = play.calls.remove(0);
            assert_eq!((again.operations[1], sequences(&again)), (CLOSE, vec![sent[0]]), "{what}");
            play.answer(&again, &again.failing(1, BAD_SEQID));
        }
        assert_eq!(play.done(Tag(12)).unwrap().unwrap_err().status, Some(BAD_SEQID), "{what}");
        play.begin(13, &open_of("other"));
        assert_eq!(sequences(&play.calls[0]), [0], "another owner, {what}");
        play.serve();
        play.check_rows(&what);
    }
}

/// Otherwise the file stays open until the lease ends.
#[test]
fn a_file_is_closed_although_the_server_never_executed_its_first_lock() {
    for leaves in [false, true] {
        let (mut play, file) = opener();
        play.begin(9, &lock(file));
        let sent = sequences(&play.calls.remove(0));
        play.time_out();
        if leaves {
            play.client.leave(play.now, &mut play.out, &mut play.seen);
            play.receive();
        } else {
            play.begin(10, &Operation::Close { file });
        }
        let close = play.calls.remove(0);
        assert_eq!((close.operations[1], sequences(&close)), (CLOSE, vec![sent[0] + 1]));
        play.answer(&close, &close.failing(1, BAD_SEQID));
        assert_eq!(served(&mut play), [(CLOSE, vec![sent[0]])], "leaves: {leaves}");
        let ended = play.done(if leaves { Tag::LEAVE } else { Tag(10) });
        assert!(matches!(ended, Some(Ok(Reply::Nothing))), "leaves: {leaves}, {ended:?}");
        assert_eq!(play.client.outstanding(), 0);
        play.check_rows("closed with the ID of the lock");
    }
}

/// A LOCK without a response may have changed the state ID of the locks, so that a READ with the old one would be refused.
#[test]
fn a_file_with_unknown_locks_is_read_in_its_open() {
    let (mut play, file) = opener();
    play.begin(9, &lock(file));
    let call = play.calls.remove(0);
    let mut results = call.fine();
    let state = results.len() - 16;
    results[state..].copy_from_slice(&[5; 16]);
    play.answer(&call, &results);
    for (tag, expected) in [(10, [5; 16]), (11, [9; 16])] {
        play.begin(tag, &Operation::Read { file, offset: 0, length: 5, keep: false });
        assert_eq!(play.calls[0].arguments[32..48], expected);
        play.serve();
        assert!(play.done(Tag(tag)).unwrap().is_ok());
        play.begin(tag + 10, &lock(file));
        play.time_out();
        play.calls.clear();
    }
    play.check_rows("unknown locks");
}

/// A file is closed while the connection is away, and its LOCK has no response.
#[test]
fn a_close_does_not_overtake_a_lock_that_is_sent_again() {
    let mut play = Play::connected_in(0);
    let file = play.open();
    play.begin(9, &lock(file));
    assert!(play.lose());
    play.begin(10, &Operation::Close { file });
    play.rejoin();
    let renewal = play.calls.remove(0);
    play.answer(&renewal, &renewal.fine());
    // The file is closed, so the lock cannot be sent again. The server may have granted it.
    let failure = play.done(Tag(9)).unwrap().unwrap_err();
    assert_eq!((failure.cause, failure.outcome), (Cause::LocksUnknown, Outcome::Unanswered));
    assert_eq!(served(&mut play), [(CLOSE, vec![3])]);
    assert!(play.done(Tag(10)).unwrap().is_ok());
    assert_eq!(play.client.outstanding(), 0);
    play.check_rows("closed meanwhile");
}

#[test]
fn an_unlock_without_a_lock_is_no_operation_that_the_protocol_lacks() {
    for minor in [0, 1] {
        let mut play = Play::connected_in(minor);
        let file = play.open();
        play.begin(9, &lock(file));
        let call = play.calls.remove(0);
        play.answer(&call, &call.failing(call.operations.len() - 1, 10_010));
        assert_eq!(play.done(Tag(9)).unwrap().unwrap_err().status, Some(10_010), "NFS4ERR_DENIED");
        play.begin(10, &Operation::Unlock { file, offset: 0, length: 9 });
        let failure = play.done(Tag(10)).unwrap().unwrap_err();
        assert_eq!((failure.cause, failure.outcome), (Cause::NoLock, Outcome::NeverSent));
        play.begin(11, &Operation::Close { file });
        play.serve();
        play.begin(12, &Operation::Unlock { file, offset: 0, length: 9 });
        assert_eq!(play.done(Tag(12)).unwrap().unwrap_err().cause, Cause::Unsupported, "it is not open");
    }
}

#[test]
fn a_lease_is_renewed_by_a_request_of_its_own() {
    let mut play = Play::connected_in(0);
    let before = play.now;
    play.begin(2, &Operation::Fsinfo);
    play.serve();
    play.wake();
    assert!(play.now - before <= 60_000_000_000, "two thirds of 90 s, also among other requests");
    let call = play.calls.remove(0);
    assert_eq!(call.operations, [30], "RENEW");
    let again = play.client.wakes_at();
    play.answer(&call, &call.failing(0, STALE_CLIENTID));
    let next = play.calls.remove(0);
    assert_eq!(next.operations, [35], "the client gets another ID");
    play.answer(&next, &next.fine());
    play.serve();
    assert!(play.client.over().is_none() && again > before);
    play.check_rows("lease");
}

#[test]
fn leaving_closes_what_is_open() {
    let mut play = Play::connected_in(0);
    play.open();
    play.client.leave(play.now, &mut play.out, &mut play.seen);
    play.receive();
    assert_eq!(served(&mut play), [(CLOSE, vec![2])]);
    assert!(matches!(play.done(Tag::LEAVE), Some(Ok(Reply::Nothing))));
}

#[test]
fn a_lost_connection_repeats_requests_with_their_sequence_ids() {
    let mut play = Play::connected_in(0);
    let file = play.open();
    play.begin(9, &lock(file));
    play.begin(10, &Operation::Remove { path: "gone" });
    let sent = sequences(&play.calls[0]);
    let xids = [play.calls[0].xid, play.calls[1].xid];
    assert!(play.lose());
    play.rejoin();
    let renewal = play.calls.remove(0);
    assert_eq!((renewal.operations.as_slice(), play.calls.len()), (&[30][..], 0), "RENEW, and all else waits");
    play.answer(&renewal, &renewal.fine());
    assert!(!xids.contains(&renewal.xid), "it was not asked before");
    assert_eq!(play.calls.len(), 2);
    assert_eq!(sequences(&play.calls[0]), sent);
    assert_eq!([play.calls[0].xid, play.calls[1].xid], xids, "RFC 7530 3.1.1");
    let removal = play.calls.remove(1);
    // The server had removed it.
    play.answer(&removal, &removal.failing(1, 2));
    play.serve();
    assert!(play.done(Tag(9)).unwrap().is_ok() && play.done(Tag(10)).unwrap().is_ok());
    assert_eq!((play.connected_again(), play.client.outstanding()), (1, 0));
    play.check_rows("lost connection");
}

/// The outstanding requests: xid, operations and arguments of each.
fn said(play: &Play) -> Vec<(u32, Vec<u32>, Vec<u8>)> {
    let mut said: Vec<_> =
        play.calls.iter().map(|call| (call.xid, call.operations.clone(), call.arguments.clone())).collect();
    said.sort();
    said
}

/// The connection is lost again and again, with each request of some operations outstanding: each is sent again as it was, with its xid.
#[test]
fn requests_are_sent_again_with_the_same_xid_as_often_as_the_connection_is_lost() {
    let mut play = Play::connected_in(0);
    let file = play.open();
    for (tag, operation) in (20..).zip([
        Operation::Read { file, offset: 0, length: 5, keep: false },
        Operation::Rename { from: "a/b", to: "a/c" },
        Operation::Mkdir { path: "d" },
        open_of("other"),
        lock(file),
    ]) {
        play.begin(tag, &operation);
        let (mut requests, mut seen) = (0, Vec::new());
        while play.done(Tag(tag)).is_none() {
            let before = said(&play);
            assert!(before.iter().all(|(xid, ..)| !seen.contains(xid)), "{operation:?}: a new request has a new xid");
            for _ in 0..3 {
                assert!(play.lose());
                play.rejoin();
                let renewal = play.calls.remove(0);
                assert!(!seen.contains(&renewal.xid) && before.iter().all(|(xid, ..)| *xid != renewal.xid));
                play.answer(&renewal, &renewal.fine());
                assert_eq!(said(&play), before, "{operation:?}");
                // The number that the first one has in the client's list was not sent.
                let (unmatched, outstanding) = (play.client.unmatched_responses(), play.client.outstanding());
                play.feed(&record(renewal.xid.wrapping_add(1), &[]));
                assert_eq!(play.client.unmatched_responses(), unmatched + 1);
                assert_eq!(play.client.outstanding(), outstanding);
            }
            let (call, unmatched) = (play.calls.remove(0), play.client.unmatched_responses());
            seen.push(call.xid);
            play.answer(&call, &call.fine());
            assert_eq!(play.client.unmatched_responses(), unmatched);
            requests += 1;
        }
        assert!(play.done(Tag(tag)).unwrap().is_ok() && requests > 0, "{operation:?}: {:?}", play.done(Tag(tag)));
    }
    let rows = &play.seen.rows;
    let sent_again = |row: &&plimsoll_model::Transaction| row.counted && row.outcome == Outcome::Unanswered;
    assert!(rows.iter().filter(sent_again).all(|row| {
        rows.iter()
            .any(|other| other.id == row.id && other.connection != row.connection && other.procedure == row.procedure)
    }));
    play.check_rows("the same xid");
}

/// A server that has restarted has forgotten what it answered, and state IDs are others: these are other requests.
#[test]
fn after_a_restart_a_request_has_another_xid() {
    let (mut play, file) = holder();
    play.begin(9, &Operation::Unlock { file, offset: 0, length: 9 });
    let xid = play.calls[0].xid;
    assert!(play.lose());
    play.rejoin();
    let mut server = Server::restarted(true);
    while play.calls.iter().all(|call| call.operations != [22, UNLOCK]) {
        server.serve(&mut play, 1);
    }
    assert_ne!(play.calls[0].xid, xid);
    play.serve();
    assert!(play.done(Tag(9)).unwrap().is_ok());
}

/// An operation that ends without being sent again leaves its xid to no other.
#[test]
fn a_request_that_timed_out_leaves_its_xid_to_no_other() {
    let mut play = Play::connected_in(0);
    play.begin(9, &Operation::Remove { path: "gone" });
    let xid = play.calls[0].xid;
    assert!(play.lose());
    play.time_out();
    assert_eq!(play.done(Tag(9)).unwrap().unwrap_err().cause, Cause::TimedOut);
    play.rejoin();
    let renewal = play.calls.remove(0);
    play.answer(&renewal, &renewal.fine());
    play.begin(10, &Operation::Remove { path: "gone" });
    assert_eq!(play.calls.len(), 1);
    assert_ne!(play.calls[0].xid, xid);
    play.serve();
    assert!(play.done(Tag(10)).unwrap().is_ok());
}

/// A server that has restarted, and knows no client.
struct Server {
    /// The life of the server for which the client has an ID.
    known: bool,
    grace: bool,
    log: Vec<&'static str>,
}

impl Server {
    fn restarted(grace: bool) -> Self {
        Self { known: false, grace, log: Vec::new() }
    }

    fn results(&mut self, call: &Asked) -> Vec<u8> {
        // OPEN ends with CLAIM_PREVIOUS and a word, before GETATTR with a mask of two words.
        let claims = || call.arguments[call.arguments.len() - 24..][..8] == [0, 0, 0, 1, 0, 0, 0, 0];
        let (what, results) = match call.operations.as_slice() {
            [30] if !self.known => ("unknown", call.failing(0, STALE_CLIENTID)),
            [35] => {
                let mut results = call.fine();
                // Another client ID than before.
                results[20..28].copy_from_slice(&[6; 8]);
                ("identified", results)
            }
            [36] => {
                assert_eq!(call.arguments[16..24], [6; 8], "its ID is confirmed");
                self.known = true;
                ("confirmed", call.fine())
            }
            _ if !self.known => ("stale", call.failing(call.operations.len() - 1, STALE_STATEID)),
            [22, OPEN, 9] if claims() && self.grace => ("reclaimed", call.fine()),
            [22, OPEN, 9] => ("not reclaimed", call.failing(1, NO_GRACE)),
            [22, OPEN, ..] => ("opened", call.fine()),
            [22, CONFIRM] => ("confirmed open", call.fine()),
            [22, LOCK] => ("locked", call.fine()),
            _ => ("done", call.fine()),
        };
        self.log.push(what);
        results
    }

    fn serve(&mut self, play: &mut Play, most: usize) {
        for _ in 0..most {
            let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) else { return };
            let results = self.results(&call);
            play.answer(&call, &results);
        }
    }
}

/// A client with an open file.
fn opener() -> (Play, FileKey) {
    let mut play = Play::connected_in(0);
    let file = play.open();
    (play, file)
}

/// The same with a lock on it.
fn holder() -> (Play, FileKey) {
    let (mut play, file) = opener();
    play.begin(2, &lock(file));
    play.serve();
    assert!(play.done(Tag(2)).unwrap().is_ok());
    (play, file)
}

#[test]
fn after_a_restart_opens_and_locks_are_reclaimed_or_made_anew() {
    let again = ["identified", "confirmed"];
    for (grace, claims) in [
        (true, &["reclaimed", "confirmed open", "locked"][..]),
        (false, &["not reclaimed", "opened", "confirmed open", "locked"]),
    ] {
        for loses_connection in [true, false] {
            let (mut play, file) = holder();
            let mut server = Server::restarted(grace);
            play.begin(9, &Operation::Unlock { file, offset: 0, length: 9 });
            let first = if loses_connection { "unknown" } else { "stale" };
            if loses_connection {
                assert!(play.lose());
                play.rejoin();
            }
            server.serve(&mut play, usize::MAX);
            assert_eq!(server.log, [&[first][..], &again, claims, &["done"]].concat(), "{grace} {loses_connection}");
            assert!(play.done(Tag(9)).unwrap().is_ok());
            assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
            play.check_rows("restart");
        }
    }
}

#[test]
fn a_file_that_is_closed_after_a_restart_is_closed() {
    let (mut play, file) = holder();
    let mut server = Server::restarted(true);
    play.begin(9, &Operation::Close { file });
    server.serve(&mut play, 3);
    assert_eq!(server.log, ["stale", "identified", "confirmed"]);
    // Its state is unknown to the server, which says so.
    let call = play.calls.remove(0);
    assert_eq!(call.operations[1], CLOSE);
    play.answer(&call, &call.failing(1, STALE_STATEID));
    assert!(play.done(Tag(9)).unwrap().is_ok());
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
    play.check_rows("closed");
}

/// The connection breaks again after each answer of the recovery.
#[test]
fn a_recovery_that_is_interrupted_anywhere_begins_again() {
    for (breaks, restarts_again, grace) in
        (0..9).flat_map(|n| [(n, false, true), (n, true, true), (n, false, false), (n, true, false)])
    {
        let what = format!("after {breaks} answers, {restarts_again}, {grace}");
        let (mut play, file) = holder();
        play.begin(9, &Operation::Read { file, offset: 0, length: 5, keep: false });
        play.begin(10, &Operation::Unlock { file, offset: 0, length: 9 });
        assert!(play.lose());
        let mut server = Server::restarted(grace);
        play.rejoin();
        server.serve(&mut play, breaks);
        assert!(play.lose(), "{what}");
        if restarts_again {
            server = Server::restarted(grace);
        }
        play.rejoin();
        server.serve(&mut play, usize::MAX);
        assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Read { bytes: 5 })), "{what}");
        assert!(play.done(Tag(10)).is_some_and(|done| done.is_ok()), "{what}");
        assert_eq!((play.client.over(), play.client.outstanding()), (None, 0), "{what}");
        play.check_rows(&what);
    }
}

/// Every status in answer to every request of a recovery, at every place of its compound: the operations that wait for it end.
#[test]
fn every_status_in_answer_to_every_request_of_a_recovery_ends_it() {
    let cases = refused_recoveries(holder, Server::restarted, Server::serve, |play, ends, what| {
        // A lost lock cannot be unlocked; no other operation may fail.
        let fits = |end: &Result<Reply, Failure>| match end {
            Ok(_) => true,
            Err(failure) => matches!(failure.cause, Cause::Status | Cause::SessionLost),
        };
        assert!(ends.iter().all(fits), "{what}: {ends:?}");
        assert!(matches!(play.client.over(), None | Some(Cause::SessionLost)), "{what}: {:?}", play.client.over());
    });
    assert!(cases > 1_000, "{cases}");
}

/// A lease that ends takes the state along, although the server still knows the client ID.
#[test]
fn what_has_expired_is_claimed_although_the_client_id_is_the_same() {
    let (mut play, file) = holder();
    play.begin(9, &Operation::Read { file, offset: 0, length: 5, keep: false });
    let call = play.calls.remove(0);
    play.answer(&call, &call.failing(1, EXPIRED));
    let mut names = Vec::new();
    while let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
        names.push(*call.operations.last().unwrap());
        play.answer(&call, &call.fine());
    }
    // SETCLIENTID, SETCLIENTID_CONFIRM, OPEN with GETATTR, OPEN_CONFIRM, LOCK, READ.
    assert_eq!(names, [35, 36, 9, CONFIRM, LOCK, 25]);
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Read { bytes: 5 })));
    play.check_rows("expired");
}
