//! A server that restarts and loses its state: opens are reclaimed, and outstanding operations are performed once, wherever the
//! connection breaks.

use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::nfs4::{Nfs4Options, Recoveries};
use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::{Client, Failure, FileKey, Operation, Reply, Tag};
use plimsoll_model::Outcome;
use plimsoll_testkit::nfs4::{Asked, SESSION};
use plimsoll_wire::nfs::status_name;
use plimsoll_wire::rpc::Caller;

use super::play::Play;

const BADSESSION: u32 = 10_052;
const STALE_CLIENTID: u32 = 10_022;
const NO_GRACE: u32 = 10_033;
pub(super) const GRACE: u32 = 10_013;

/// What a server remembers, and whether it gives out what was there before its restart.
pub(super) struct Server {
    /// The session that it knows, by the number of its making.
    pub(super) session: Option<[u8; 16]>,
    pub(super) knows_client: bool,
    pub(super) grace: bool,
    /// What it adds to the ids of its sessions.
    pub(super) life: u8,
    /// What it did, in order.
    pub(super) log: Vec<&'static str>,
}

impl Server {
    pub(super) fn restarted(grace: bool) -> Self {
        Self { session: None, knows_client: false, grace, life: 0, log: Vec::new() }
    }

    /// Its answer to a call.
    pub(super) fn results(&mut self, call: &Asked) -> Vec<u8> {
        match (call.operations.as_slice(), call.session) {
            ([41], _) if self.session.is_some_and(|known| call.arguments[16..32] == known) => self.says("bound", call),
            ([41], _) => call.failing(0, BADSESSION),
            ([42], _) => {
                self.knows_client = true;
                self.says("identified", call)
            }
            ([43], _) if !self.knows_client => call.failing(0, STALE_CLIENTID),
            ([43], _) => {
                let session = [SESSION[0] + call.arguments[27] - 1 + self.life; 16];
                self.session = Some(session);
                let mut results = self.says("created", call);
                results[20..36].copy_from_slice(&session);
                results
            }
            (_, session) if session != self.session => call.failing(0, BADSESSION),
            ([.., 58], _) => {
                self.grace = false;
                self.says("complete", call)
            }
            ([53, 22, 18, 9], _) => match (claim(call), self.grace) {
                (1, true) => self.says("reclaimed", call),
                (1, false) => call.failing(2, NO_GRACE),
                (_, true) => call.failing(2, GRACE),
                (_, false) => self.says("opened anew", call),
            },
            ([53, 22, 12], _) => match (is_reclaim(call), self.grace) {
                (true, true) => self.says("lock reclaimed", call),
                (true, false) => call.failing(2, NO_GRACE),
                (false, true) => call.failing(2, GRACE),
                (false, false) => self.says("locked", call),
            },
            _ => self.says("done", call),
        }
    }

    fn says(&mut self, what: &'static str, call: &Asked) -> Vec<u8> {
        self.log.push(what);
        call.fine()
    }

    /// Answers until nothing is asked any more, but at most so many calls.
    pub(super) fn serve(&mut self, play: &mut Play, most: usize) -> usize {
        for answered in 0..most {
            if play.calls.is_empty() {
                return answered;
            }
            let call = play.calls.remove(0);
            let results = self.results(&call);
            play.answer(&call, &results);
        }
        most
    }
}

/// The claim of an OPEN, which is the last thing that it says: before GETATTR with a mask of two words.
pub(super) fn claim(call: &Asked) -> u32 {
    let end = call.arguments.len() - 16;
    let last = |at: usize| u32::from_be_bytes(call.arguments[end - at..][..4].try_into().unwrap());
    // CLAIM_FH (4) is the last word; CLAIM_PREVIOUS is followed by one more word, 0.
    if last(4) == 4 { 4 } else { last(8) }
}

/// Whether a LOCK is of before a restart: SEQUENCE, PUTFH of 8 bytes, then the kind of the lock.
fn is_reclaim(call: &Asked) -> bool {
    let at = 12 + 36 + 4 + 4 + 8 + 4 + 4;
    u32::from_be_bytes(call.arguments[at..][..4].try_into().unwrap()) == 1
}

/// A client with an open file and a lock on it.
fn holder() -> (Play, FileKey) {
    let mut play = Play::connected();
    let file = play.open();
    play.begin(2, &Operation::Lock { file, offset: 0, length: 9, exclusive: true, wait: false });
    play.serve();
    assert!(play.done(Tag(2)).unwrap().is_ok());
    (play, file)
}

#[test]
fn after_a_restart_opens_and_locks_are_reclaimed_in_the_grace_period() {
    let (mut play, file) = holder();
    play.begin(9, &Operation::GetattrOpen { file });
    assert!(play.lose());
    // New operations wait meanwhile.
    play.begin(10, &Operation::Read { file, offset: 0, length: 5, keep: false });
    assert!(play.calls.is_empty());
    let mut server = Server::restarted(true);
    play.rejoin();
    server.serve(&mut play, usize::MAX);
    assert_eq!(
        server.log,
        ["identified", "created", "reclaimed", "lock reclaimed", "complete", "done", "done"],
        "nothing else in the grace period"
    );
    assert!(matches!(play.done(Tag(9)), Some(Ok(Reply::Attributes { .. }))));
    assert_eq!(play.done(Tag(10)), Some(Ok(Reply::Read { bytes: 5 })));
    assert_eq!(play.connected_again(), 1);
    let unanswered = play.seen.rows.iter().filter(|row| row.counted && row.outcome == Outcome::Unanswered).count();
    assert_eq!(unanswered, 1, "the sending without a response has a row of its own");
    play.check_rows("restart");
}

#[test]
fn without_a_grace_period_everything_is_opened_anew() {
    let (mut play, file) = holder();
    assert!(play.lose());
    let mut server = Server::restarted(false);
    play.rejoin();
    server.serve(&mut play, usize::MAX);
    assert_eq!(server.log, ["identified", "created", "complete", "opened anew", "locked"]);
    play.begin(9, &Operation::Unlock { file, offset: 0, length: 9 });
    play.serve();
    assert!(play.done(Tag(9)).unwrap().is_ok());
    play.check_rows("no grace");
}

/// The connection breaks again at each request of the recovery, before and after its answer; and the server restarts again.
#[test]
fn a_recovery_that_is_interrupted_anywhere_begins_again() {
    let content = Arc::new(Content::new(1));
    for (breaks, restarts_again, grace) in
        (0..12).flat_map(|n| [(n, false, true), (n, true, true), (n, false, false), (n, true, false)])
    {
        let what = format!("after {breaks} answers, {restarts_again}, {grace}");
        let (mut play, file) = holder();
        play.begin(9, &Operation::Write { file, offset: 0, length: 1_000, content: &content, key: 1 });
        play.begin(10, &Operation::GetattrOpen { file });
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
        assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Written { bytes: 1_000 })), "{what}");
        assert!(play.done(Tag(10)).is_some_and(|done| done.is_ok()), "{what}");
        let expected = if grace { "reclaimed" } else { "opened anew" };
        assert!(server.log.contains(&expected) || !restarts_again, "{what}: {:?}", server.log);
        // Its state is the server's: what follows succeeds at once.
        play.begin(11, &Operation::Unlock { file, offset: 0, length: 9 });
        server.serve(&mut play, 1);
        assert!(play.done(Tag(11)).is_some_and(|done| done.is_ok()), "{what}");
        play.check_rows(&what);
    }
}

/// Every status in answer to every request of a recovery, at every place of its compound: the operation that waits for it ends, with
/// success unless the connection is given up for it or the operation itself is refused.
#[test]
fn every_status_in_answer_to_every_request_of_a_recovery_ends_it() {
    let serve = |server: &mut Server, play: &mut Play, most: usize| {
        server.serve(play, most);
    };
    let cases = refused_recoveries(holder, Server::restarted, serve, |play, ends, what| {
        let refused = |end: &Result<Reply, Failure>| matches!(end, Err(failure) if failure.cause == Cause::Status);
        match play.client.over() {
            Some(over) => assert!(matches!(over, Cause::SessionLost), "{what}: {over:?}"),
            // A lost lock cannot be unlocked; no other operation may fail.
            None => assert!(ends.iter().all(|end| end.is_ok() || refused(end) || unsent(end)), "{what}: {ends:?}"),
        }
    });
    assert!(cases > 2_000, "{cases}");
}

/// Recoveries in which a request gets each status, at each place of its compound, while two operations wait: both end, and `check` judges
/// how. The number of recoveries.
pub(super) fn refused_recoveries<S>(
    holder: fn() -> (Play, FileKey),
    restarted: fn(bool) -> S,
    serve: impl Fn(&mut S, &mut Play, usize),
    check: impl Fn(&Play, &[Result<Reply, Failure>; 2], &str),
) -> u32 {
    let mut cases = 0;
    for status in (1..100).chain(10_001..10_100).filter(|&it| status_name(4, it).is_some()) {
        for (step, place, grace) in
            (0..8).flat_map(|step| (0..3).flat_map(move |at| [(step, at, true), (step, at, false)]))
        {
            let what = format!("status {status} at {place} of request {step}, {grace}");
            let (mut play, file) = holder();
            play.begin(9, &Operation::Getattr { path: "other" });
            play.begin(10, &Operation::Unlock { file, offset: 0, length: 9 });
            assert!(play.lose());
            let mut server = restarted(grace);
            play.rejoin();
            serve(&mut server, &mut play, step);
            let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) else { continue };
            if place >= call.operations.len() {
                continue;
            }
            play.answer(&call, &call.failing(place, status));
            for _ in 0..200 {
                serve(&mut server, &mut play, 1_000);
                let ended = play.done(Tag(9)).is_some() && play.done(Tag(10)).is_some();
                if ended || play.client.over().is_some() {
                    break;
                }
                play.wake();
            }
            let ends = [9, 10].map(|tag| play.done(Tag(tag)).unwrap_or_else(|| panic!("{what}: {tag} never ends")));
            check(&play, &ends, &what);
            assert_eq!(play.client.outstanding(), 0, "{what}");
            play.check_rows(&what);
            cases += 1;
        }
    }
    cases
}

/// What the server has lost for good is not read and written without an open, as if nothing had happened.
#[test]
fn a_file_whose_open_is_lost_is_neither_read_nor_written() {
    let content = Arc::new(Content::new(1));
    let (mut play, file) = holder();
    play.begin(9, &Operation::Read { file, offset: 0, length: 5, keep: false });
    assert!(play.lose());
    let mut server = Server::restarted(false);
    play.rejoin();
    while let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
        let results = match call.operations.as_slice() {
            // NFS4ERR_SHARE_DENIED: another client has it meanwhile.
            [53, 22, 18, 9] if claim(&call) != 1 => call.failing(2, 10_015),
            _ => server.results(&call),
        };
        play.answer(&call, &results);
    }
    assert!(unsent(&play.done(Tag(9)).unwrap()), "{:?}", server.log);
    for (tag, operation) in (10..).zip([
        Operation::Read { file, offset: 0, length: 5, keep: false },
        Operation::Write { file, offset: 0, length: 5, content: &content, key: 1 },
        Operation::Flush { file },
        Operation::Truncate { file, size: 0 },
        Operation::Lock { file, offset: 0, length: 9, exclusive: true, wait: false },
        Operation::Unlock { file, offset: 0, length: 9 },
    ]) {
        play.begin(tag, &operation);
        assert!(unsent(&play.done(Tag(tag)).unwrap()), "{operation:?}");
    }
    play.begin(20, &Operation::Close { file });
    assert!(play.calls.is_empty() && play.done(Tag(20)).unwrap().is_ok(), "nothing is left to be closed");
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
    play.check_rows("lost");
}

/// It was not sent: its file has no state any more.
fn unsent(end: &Result<Reply, Failure>) -> bool {
    matches!(end, Err(failure) if (failure.outcome, failure.cause) == (Outcome::NeverSent, Cause::SessionLost))
}

/// It is unknown whether the first call was executed: a refusal that only the first call explains does not count.
#[test]
fn what_was_done_before_the_restart_is_no_failure() {
    let (access, caching) = (Access::Write, Caching::None);
    let create = Operation::Open { path: "new", access, disposition: Disposition::Create, caching };
    let cases: [(Operation<'_>, u32); 6] = [
        (Operation::Mkdir { path: "made" }, 17),
        (Operation::Symlink { path: "link", text: "text" }, 17),
        (Operation::Remove { path: "gone" }, 2),
        (Operation::Rename { from: "from", to: "to" }, 2),
        (Operation::Link { from: "from", to: "to" }, 17),
        (create, 17),
    ];
    for (operation, status) in cases {
        for lost in [true, false] {
            let mut play = Play::connected();
            play.begin(9, &operation);
            // The way there is no matter of this.
            while play.calls[0].operations.contains(&15) {
                play.serve_last();
            }
            if lost {
                assert!(play.lose());
                play.rejoin();
                Server::restarted(true).serve(&mut play, 5);
            }
            let call = play.calls.remove(0);
            let last = call.operations.iter().position(|code| [6, 11, 18, 28, 29].contains(code)).unwrap();
            play.answer(&call, &call.failing(last, status));
            play.serve();
            assert_eq!(play.done(Tag(9)).unwrap().is_ok(), lost, "{operation:?}");
            play.check_rows("done before");
        }
    }
}

/// A request is sent again in its session, which turns out to be lost: the server may have executed the first sending.
#[test]
fn what_was_done_in_a_session_that_is_lost_afterwards_is_no_failure() {
    const NOTSUPP: u32 = 10_004;
    for binds in [true, false] {
        let options = Arc::new(Nfs4Options::new("/", 1, &Caller::Nobody).unwrap());
        let mut play = Play::connected_with(options.clone());
        play.begin(9, &Operation::Remove { path: "gone" });
        assert!(play.lose());
        play.rejoin();
        let bind = play.calls.remove(0);
        play.answer(&bind, &if binds { bind.fine() } else { bind.failing(0, NOTSUPP) });
        let again = play.calls.remove(0);
        play.answer(&again, &again.failing(0, BADSESSION));
        let create = play.calls.remove(0);
        assert_eq!(create.operations, [43]);
        play.answer(&create, &create.fine());
        let anew = play.calls.remove(0);
        play.answer(&anew, &anew.failing(2, 2));
        assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Nothing)), "NFS4ERR_NOENT, {binds}");
        play.check_rows("done in a lost session");
        drop(play);
        let Recoveries { resent, asked_anew, done_before, .. } = *options.recoveries.lock().unwrap();
        assert_eq!((resent, asked_anew, done_before), (1, 1, 1));
    }
}

/// The server got past SEQUENCE, so this response is that of the only execution.
#[test]
fn a_refusal_in_the_same_slot_is_a_failure() {
    let mut play = Play::connected();
    play.begin(9, &Operation::Remove { path: "gone" });
    assert!(play.lose());
    play.rejoin();
    play.serve_last();
    let again = play.calls.remove(0);
    play.answer(&again, &again.failing(2, 10_008));
    play.wake();
    let later = play.calls.remove(0);
    play.answer(&later, &later.failing(2, 2));
    assert_eq!(play.done(Tag(9)).unwrap().unwrap_err().status, Some(2));
    play.check_rows("refused");
}

/// No connection follows: sent operations have no answer, waiting ones were never sent.
#[test]
fn what_never_gets_another_connection_says_whether_it_was_sent() {
    let (mut play, file) = holder();
    play.begin(9, &Operation::GetattrOpen { file });
    assert!(play.lose());
    play.begin(10, &Operation::GetattrOpen { file });
    play.client.broken(play.now, Cause::ConnectionRefused, &mut play.seen);
    let ends = [9, 10].map(|tag| play.done(Tag(tag)).unwrap().unwrap_err());
    assert_eq!(ends.each_ref().map(|end| end.outcome), [Outcome::Unanswered, Outcome::NeverSent]);
    assert!(ends.iter().all(|end| end.cause == Cause::ConnectionRefused));
    assert_eq!(play.client.outstanding(), 0);
    play.check_rows("no connection");
}

/// Closed while the connection is away, or at any point of the recovery: it may be forgotten, or claimed already.
#[test]
fn a_file_that_is_closed_during_a_recovery_is_closed() {
    for begins in 0..7 {
        let (mut play, file) = holder();
        assert!(play.lose());
        let mut server = Server::restarted(true);
        play.rejoin();
        server.serve(&mut play, begins);
        play.begin(9, &Operation::Close { file });
        while let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
            let claimed = server.log.contains(&"reclaimed");
            let results = match call.operations.contains(&4) && !claimed {
                true => call.failing(2, 10_023),
                false => server.results(&call),
            };
            play.answer(&call, &results);
        }
        assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Nothing)), "after {begins} answers: {:?}", server.log);
        assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
        play.check_rows("closed meanwhile");
    }
}

#[test]
fn a_file_that_was_being_closed_is_closed() {
    let (mut play, file) = holder();
    play.begin(9, &Operation::Close { file });
    assert!(play.lose());
    let mut server = Server::restarted(true);
    play.rejoin();
    server.serve(&mut play, 5);
    assert_eq!(server.log, ["identified", "created", "complete"], "it is not claimed again");
    let close = play.calls.remove(0);
    play.answer(&close, &close.failing(2, 10_025));
    assert!(play.done(Tag(9)).unwrap().is_ok(), "NFS4ERR_BAD_STATEID");
    play.check_rows("closed");
}

/// Requests that were given up before the connection was lost: whether the server has counted them is found out slot by slot.
#[test]
fn slots_of_requests_that_were_given_up_are_asked_about() {
    let answers: [fn(&Asked, &Asked) -> Vec<u8>; 5] = [
        |_, probe| probe.fine(),
        |_, probe| probe.failing(0, 10_068),
        |_, probe| probe.failing(0, 10_076),
        // The server has kept its response to the request, which succeeded or failed.
        |lost, _| lost.fine(),
        |lost, _| lost.failing(2, 70),
    ];
    for answer in answers {
        let (mut play, file) = holder();
        play.begin(9, &Operation::GetattrOpen { file });
        let lost = play.calls.remove(0);
        play.time_out();
        assert!(play.lose());
        play.rejoin();
        let bind = play.calls.remove(0);
        play.answer(&bind, &bind.fine());
        let probe = play.calls.remove(0);
        assert_eq!((probe.slot, probe.operations.as_slice()), (lost.slot, &[53][..]));
        play.answer(&probe, &answer(&lost, &probe));
        assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
        play.begin(10, &Operation::GetattrOpen { file });
        let (slot, sequence) = lost.slot.unwrap();
        assert_eq!(play.calls[0].slot, Some((slot, sequence + 1)));
        play.serve();
        assert!(play.done(Tag(10)).unwrap().is_ok());
        play.check_rows("given up");
    }
}

/// An answer to WRITE or COMMIT with the verifier of a server's life.
fn answer_in(play: &mut Play, life: u64) {
    let call = play.calls.remove(0);
    let mut results = call.fine();
    let verifier = results.len() - 8;
    assert!(matches!(call.operations.last(), Some(5 | 38)), "{:?}", call.operations);
    results[verifier..].copy_from_slice(&life.to_be_bytes());
    play.answer(&call, &results);
}

#[test]
fn what_was_not_committed_before_a_restart_is_written_again() {
    let content = Arc::new(Content::new(1));
    let mut play = Play::connected();
    let file = play.open();
    let mut written = Vec::new();
    for (tag, offset) in [(10, 0), (11, 700)] {
        play.begin(tag, &Operation::Write { file, offset, length: 700, content: &content, key: 3 });
        written.push(play.calls[0].arguments[play.calls[0].arguments.len() - 720..].to_vec());
        answer_in(&mut play, 1);
    }
    play.begin(12, &Operation::Flush { file });
    answer_in(&mut play, 2);
    for original in &written {
        let again = &play.calls[0].arguments;
        assert_eq!(&again[again.len() - 720..], original, "offset, length and data are those of before");
        answer_in(&mut play, 2);
    }
    assert!(play.done(Tag(12)).is_none());
    answer_in(&mut play, 2);
    assert_eq!(play.done(Tag(12)), Some(Ok(Reply::Nothing)));
    // Nothing is left that could be lost.
    play.begin(13, &Operation::Flush { file });
    answer_in(&mut play, 9);
    assert_eq!(play.done(Tag(13)), Some(Ok(Reply::Nothing)));
    play.check_rows("rewritten");
}

#[test]
fn what_is_lost_again_and_again_is_lost() {
    let content = Arc::new(Content::new(1));
    let mut play = Play::connected();
    let file = play.open();
    play.begin(10, &Operation::Write { file, offset: 0, length: 700, content: &content, key: 3 });
    answer_in(&mut play, 1);
    play.begin(11, &Operation::Flush { file });
    let mut answers = 0;
    while play.done(Tag(11)).is_none() {
        answers += 1;
        assert!(answers < 20, "it goes on for ever");
        answer_in(&mut play, 100 + answers);
    }
    assert_eq!((play.done(Tag(11)).unwrap().unwrap_err().cause, answers), (Cause::LostWrites, 7));
    play.check_rows("lost");
}
