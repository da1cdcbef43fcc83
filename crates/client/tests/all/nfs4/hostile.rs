//! Every misbehaviour of a table, in answer to every operation: each operation ends once, as the table says, and each call has one row
//! that is counted.

use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::nfs4::{Nfs4Client, Nfs4Options};
use plimsoll_client::operation::{Access, Caching, Cause, Disposition, Failure, Ticket};
use plimsoll_client::{Arrived, Client, Done, Events, FileKey, Framing, Operation, Outbox, Reply, Tag};
use plimsoll_model::{Outcome, Symbol, Transaction};
use plimsoll_wire::rpc::Caller;

use super::script::{Asked, SLOTS, recall, taken};
use crate::nfs::script::{REJECTIONS, identity, record, rejection};

/// The timeout of an operation, ns.
const TIMEOUT: i64 = 40_000_000_000;

#[derive(Default)]
struct Seen {
    rows: Vec<Transaction>,
    done: Vec<Done>,
}

impl Events for Seen {
    fn transaction(&mut self, _: Option<Tag>, transaction: &Transaction) {
        self.rows.push(transaction.clone());
    }

    fn done(&mut self, done: Done) {
        self.done.push(done);
    }

    fn data(&mut self, _: Tag, _: u64, _: &[u8]) {}

    fn entry(&mut self, _: Tag, _: &str) {}
}

struct Play {
    client: Nfs4Client,
    out: Outbox,
    seen: Seen,
    now: i64,
    calls: Vec<Asked>,
    /// Calls that came in all.
    asked: usize,
    /// Answers to calls of the server.
    replies: Vec<Vec<u8>>,
}

impl Play {
    /// A client with a session.
    fn connected() -> Self {
        let options = Arc::new(Nfs4Options::new("/", 1, &Caller::Nobody).unwrap());
        let client = Nfs4Client::new(options, identity(), Some("one"));
        let (calls, replies) = (Vec::new(), Vec::new());
        let mut play = Self { client, out: Outbox::new(), seen: Seen::default(), now: 1, calls, asked: 0, replies };
        play.client.connect(1, &mut play.out, &mut play.seen);
        play.serve();
        assert!(matches!(play.done(Tag::CONNECT), Some(Ok(Reply::Nothing))));
        play
    }

    /// What became of an operation; it ended at most once.
    fn done(&self, tag: Tag) -> Option<Result<Reply, Failure>> {
        let mut ends = self.seen.done.iter().filter(|done| done.tag == tag);
        let end = ends.next();
        assert!(ends.next().is_none(), "{tag:?} ended twice");
        end.map(|done| done.result.clone())
    }

    fn begin(&mut self, tag: u64, operation: &Operation<'_>) {
        let ticket = Ticket { tag: Tag(tag), intended: None, path: Symbol::NONE };
        self.client.begin(operation, ticket, self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    /// What the client has sent comes to the server.
    fn receive(&mut self) {
        self.now += 10;
        let (calls, replies) = taken(&mut self.out);
        self.client.sent(self.out.sent(), self.now);
        self.asked += calls.len();
        self.calls.extend(calls);
        self.replies.extend(replies);
    }

    /// Gives the client a record; false where it does not take it for one.
    fn feed(&mut self, record: &[u8]) -> bool {
        self.now += 10;
        match self.client.framing(record) {
            Framing::Message { length, keep } if length as usize == record.len() => {
                let arrived = Arrived { head: &record[..keep], length, first: self.now, last: self.now + 1 };
                self.client.message(arrived, &mut self.out, &mut self.seen);
                self.receive();
                true
            }
            _ => {
                self.client.broken(self.now, Cause::Malformed, &mut self.seen);
                false
            }
        }
    }

    fn answer(&mut self, call: &Asked, results: &[u8]) {
        self.feed(&record(call.xid, results));
    }

    /// Answers everything as it should be, until nothing is asked any more.
    fn serve(&mut self) {
        self.receive();
        while let Some(call) = (!self.calls.is_empty()).then(|| self.calls.remove(0)) {
            let results = call.fine();
            self.answer(&call, &results);
        }
    }

    /// Time passes until the client wakes by itself.
    fn wake(&mut self) {
        self.now = self.client.wakes_at();
        self.client.wake(self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    /// Time passes until everything that has no answer is overdue.
    fn time_out(&mut self) {
        self.now += TIMEOUT;
        self.client.overdue(self.now - TIMEOUT + 1, self.now, &mut self.seen);
        self.receive();
    }

    fn open(&mut self) -> FileKey {
        let (access, caching) = (Access::ReadWrite, Caching::None);
        let open = Operation::Open { path: "file", access, disposition: Disposition::OpenExisting, caching };
        self.begin(1, &open);
        self.serve();
        match self.done(Tag(1)) {
            Some(Ok(Reply::Opened { file, size: Some(1_000) })) => file,
            other => panic!("{other:?}"),
        }
    }
}

/// Operations whose first call is misanswered.
fn operations<'a>(file: FileKey, content: &'a Arc<Content>) -> Vec<Operation<'a>> {
    let (access, caching) = (Access::Write, Caching::None);
    let open = |path, disposition| Operation::Open { path, access, disposition, caching };
    vec![
        Operation::GetattrOpen { file },
        Operation::Getattr { path: "other" },
        Operation::Read { file, offset: 0, length: 1_000, keep: false },
        Operation::Read { file, offset: 0, length: 1_000, keep: true },
        Operation::Write { file, offset: 0, length: 1_000, content, key: 1 },
        Operation::Flush { file },
        Operation::Truncate { file, size: 5 },
        Operation::Lock { file, offset: 0, length: 9, exclusive: true, wait: false },
        Operation::Close { file },
        open("new", Disposition::CreateNew),
        open("emptied", Disposition::Truncate),
        Operation::Mkdir { path: "folder" },
        Operation::Remove { path: "gone" },
        Operation::Rename { from: "from", to: "to" },
        Operation::Symlink { path: "link", text: "text" },
        Operation::List { path: "" },
        Operation::Access { path: "" },
        Operation::Fsinfo,
    ]
}

/// How an operation ends, and whether the connection is over with it.
#[derive(Debug, PartialEq)]
enum End {
    Fine,
    Failed(Cause, Option<u32>),
    Over(Cause),
}

type Misbehaviour = (&'static str, fn(&mut Play, &Asked), End);

/// The place of SEQUENCE, of PUTFH, and of the last operation.
const FIRST: usize = 0;
const HANDLE: usize = 1;

fn last(call: &Asked) -> usize {
    call.operations.len() - 1
}

/// Answers as it should be, but for a word of the results.
fn with_word(play: &mut Play, call: &Asked, at: usize, word: u32) {
    let mut results = call.fine();
    results[at..at + 4].copy_from_slice(&word.to_be_bytes());
    play.answer(call, &results);
}

/// Refuses once, and then sees the same again: with the slot and the number of before, or the next number.
fn refuses_once(play: &mut Play, call: &Asked, place: usize, status: u32, counted: u32) {
    play.answer(call, &call.failing(place, status));
    assert!(play.calls.is_empty(), "it asks again at once");
    play.wake();
    let again = play.calls.remove(0);
    assert_eq!(again.operations, call.operations);
    let (slot, sequence) = call.slot.unwrap();
    assert_eq!(again.slot, Some((slot, sequence + counted)));
    let results = again.fine();
    play.answer(&again, &results);
}

// Places in the results: status, length of the tag, number of results; SEQUENCE: number, status, session, sequence id, slot.
const STATUS: usize = 0;
const TAG: usize = 4;
const COUNT: usize = 8;
const OPERATION: usize = 12;
const OWN_STATUS: usize = 16;
const SESSION_ID: usize = 20;
const SEQUENCE_ID: usize = 36;
const SLOT: usize = 40;

const SENSELESS: End = End::Over(Cause::Malformed);

fn table() -> Vec<Misbehaviour> {
    vec![
        ("nothing wrong", |play, call| play.answer(call, &call.fine()), End::Fine),
        ("BADSESSION", |play, call| play.answer(call, &call.failing(FIRST, 10_052)), End::Over(Cause::SessionLost)),
        ("DEADSESSION", |play, call| play.answer(call, &call.failing(FIRST, 10_078)), End::Over(Cause::SessionLost)),
        ("BADSLOT", |play, call| play.answer(call, &call.failing(FIRST, 10_053)), End::Over(Cause::SessionLost)),
        ("SEQ_MISORDERED", |play, call| play.answer(call, &call.failing(FIRST, 10_063)), End::Over(Cause::SessionLost)),
        (
            "SEQ_FALSE_RETRY",
            |play, call| play.answer(call, &call.failing(FIRST, 10_076)),
            End::Over(Cause::SessionLost),
        ),
        ("not bound", |play, call| play.answer(call, &call.failing(FIRST, 10_055)), End::Over(Cause::SessionLost)),
        ("expired", |play, call| play.answer(call, &call.failing(last(call), 10_011)), End::Over(Cause::SessionLost)),
        (
            "request too big",
            |play, call| play.answer(call, &call.failing(FIRST, 10_065)),
            End::Failed(Cause::Status, Some(10_065)),
        ),
        ("SEQUENCE delayed", |play, call| refuses_once(play, call, FIRST, 10_008, 0), End::Fine),
        ("delayed", |play, call| refuses_once(play, call, last(call), 10_008, 1), End::Fine),
        ("grace", |play, call| refuses_once(play, call, HANDLE, 10_013, 1), End::Fine),
        (
            "delayed for ever",
            |play, call| {
                play.answer(call, &call.failing(HANDLE, 10_008));
                for pause in [100, 200, 400] {
                    let before = play.now;
                    play.wake();
                    assert!((play.now - before - pause * 1_000_000).abs() < 1_000, "it waits twice as long each time");
                    let again = play.calls.remove(0);
                    play.answer(&again, &again.failing(HANDLE, 10_008));
                }
                play.time_out();
            },
            End::Failed(Cause::Status, Some(10_008)),
        ),
        ("stale", |play, call| play.answer(call, &call.failing(HANDLE, 70)), End::Failed(Cause::Status, Some(70))),
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
        ("another session", |play, call| with_word(play, call, SESSION_ID, 0), SENSELESS),
        ("another sequence", |play, call| with_word(play, call, SEQUENCE_ID, 99), SENSELESS),
        ("another slot", |play, call| with_word(play, call, SLOT, 3), SENSELESS),
        ("another operation", |play, call| with_word(play, call, OPERATION, 22), SENSELESS),
        ("a tag that is longer than the message", |play, call| with_word(play, call, TAG, 1 << 30), SENSELESS),
        ("a failed whole of parts that succeeded", |play, call| with_word(play, call, STATUS, 5), SENSELESS),
        ("a part that failed with others behind it", |play, call| with_word(play, call, OWN_STATUS, 5), SENSELESS),
        ("fewer results than there are", |play, call| with_word(play, call, COUNT, 1), SENSELESS),
        ("four billion results", |play, call| with_word(play, call, COUNT, u32::MAX), SENSELESS),
        (
            "a compound that ends early",
            |play, call| {
                let mut results = call.failing(HANDLE, 0);
                results[COUNT..COUNT + 4].copy_from_slice(&2u32.to_be_bytes());
                play.answer(call, &results[..OPERATION + 44 + 8]);
            },
            SENSELESS,
        ),
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
        (
            "the connection is reset",
            |play, _| play.client.broken(play.now, Cause::ConnectionReset, &mut play.seen),
            End::Over(Cause::ConnectionReset),
        ),
    ]
}

impl Play {
    /// Answers the call that came last as it should be.
    fn serve_last(&mut self) {
        let call = self.calls.pop().unwrap();
        self.answer(&call, &call.fine());
    }

    /// Each call has one row that is counted, an operation that succeeded its time.
    fn check_rows(&self, what: &str) {
        let counted = self.seen.rows.iter().filter(|row| row.counted).count();
        assert_eq!(counted, self.asked, "{what}: rows and calls");
        for row in &self.seen.rows {
            let line = &row.timeline;
            assert!(row.outcome != Outcome::Succeeded || line.response_last.is_some(), "{what}: {row:?}");
            assert!(line.response_first.is_none() || line.request_first.is_some(), "{what}: {row:?}");
        }
    }
}

#[test]
fn every_misbehaviour_in_answer_to_every_operation_is_counted_as_what_it_is() {
    let content = Arc::new(Content::new(1));
    let mut cases = 0;
    for (name, misbehave, expected) in table() {
        let count = operations(FileKey(0), &content).len();
        for number in 0..count {
            let mut play = Play::connected();
            let file = play.open();
            let operation = operations(file, &content).swap_remove(number);
            let what = format!("{name}: {operation:?}");
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
            assert_eq!(end, expected, "{what}");
            assert_eq!(play.client.outstanding(), 0, "{what}");
            play.check_rows(&what);
            cases += 1;
        }
    }
    assert!(cases >= 200, "{cases}");
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
    for status in [0, 10_074, 10_008] {
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
