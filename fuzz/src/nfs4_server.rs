//! An NFSv4 client and a server that does what a script says.
//!
//! For every behaviour of the server: an operation ends once; a call has one row that is counted; a slot has one outstanding request, and its
//! sequence IDs follow each other. When the server behaves again, every operation ends without a timeout, unless the client has given the
//! connection up.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, LazyLock};

use plimsoll_client::calls::Identity;
use plimsoll_client::content::Content;
use plimsoll_client::nfs4::{Nfs4Client, Nfs4Options};
use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::{
    Arrived, Client, Done, Events, FileKey, Framing, Operation, OperationKind, Outbox, Reply, Tag, Ticket,
};
use plimsoll_model::{Endpoint, Outcome, Symbol, Transaction};
use plimsoll_testkit::nfs4::{self, Asked};
use plimsoll_testkit::rpc::{record, record_in_fragments, reply, words};
use plimsoll_wire::rpc::Caller;

/// Timeout of an operation, ns.
const TIMEOUT: i64 = 40_000_000_000;
/// Answers and wake-ups within which every operation ends once the server behaves.
const PATIENCE: usize = 20_000;
/// Operations at the same time, at most.
const OPEN_MAX: usize = 24;
/// Statuses that decide what the client does, the most usual first: GRACE, DELAY, BADSESSION, DEADSESSION, STALE_CLIENTID, EXPIRED,
/// BADSLOT, SEQ_MISORDERED, CONN_NOT_BOUND_TO_SESSION, RETRY_UNCACHED_REP, SEQ_FALSE_RETRY, DENIED, STALE, NO_GRACE, BAD_STATEID,
/// STALE_STATEID, OLD_STATEID, BAD_SEQID, NOENT, EXIST, RECLAIM_BAD, MINOR_VERS_MISMATCH.
const STATUSES: [u32; 22] = [
    10_013, 10_008, 10_052, 10_078, 10_022, 10_011, 10_053, 10_063, 10_055, 10_068, 10_076, 10_010, 70, 10_033, 10_025,
    10_023, 10_024, 10_026, 2, 17, 10_034, 10_021,
];

static CONTENT: LazyLock<Arc<Content>> = LazyLock::new(|| Arc::new(Content::new(1)));

/// What the client reported.
#[derive(Default)]
struct Seen {
    rows: usize,
    /// Operations that have not ended.
    open: HashSet<Tag>,
    files: Vec<FileKey>,
    /// It has been connected, so operations may begin; or it could not connect, and the connection is closed.
    connected: bool,
    refused: bool,
}

impl Events for Seen {
    fn transaction(&mut self, _: Option<Tag>, row: &mut Transaction) {
        self.rows += usize::from(row.counted);
        let line = &row.timeline;
        assert!(row.outcome != Outcome::Succeeded || line.response_last.is_some(), "{row:?}");
        assert!(line.response_first.is_none() || line.request_first.is_some(), "{row:?}");
    }

    fn done(&mut self, done: Done) {
        assert!(self.open.remove(&done.tag), "{done:?} ended before, or was never begun");
        if done.tag == Tag::CONNECT {
            self.connected |= done.result.is_ok();
            self.refused |= done.result.is_err();
        }
        if let Ok(Reply::Opened { file, .. }) = done.result {
            self.files.push(file);
        }
    }

    fn data(&mut self, _: Tag, _: u64, _: &[u8]) {}

    fn entry(&mut self, _: Tag, _: &str) {}
}

/// The last request of a slot: its sequence ID, its connection, and whether the server has used the ID: unknown before the answer.
type InSlot = (u32, u32, Option<bool>);

/// A client and its server.
pub struct Nfs4Server {
    client: Nfs4Client,
    out: Outbox,
    seen: Seen,
    now: i64,
    calls: Vec<Asked>,
    sent: usize,
    connection: u32,
    suspended: bool,
    leaving: bool,
    tags: u64,
    sessions: u16,
    slots: HashMap<([u8; 16], u32), InSlot>,
}

fn identity() -> Identity {
    let nowhere = Endpoint { ip: Ipv4Addr::LOCALHOST.into(), port: 1 };
    Identity { client: nowhere, server: nowhere, connection: 0, share: Symbol::NONE, user: Symbol::NONE }
}

impl Nfs4Server {
    /// A client of this minor version that begins to connect.
    #[must_use]
    pub fn new(minor: u32) -> Self {
        let options = Nfs4Options::new("/export", minor, &Caller::Nobody).expect("it is a path");
        let client = Nfs4Client::new(Arc::new(options), identity(), Some("one"));
        let (out, seen, slots) = (Outbox::new(), Seen::default(), HashMap::new());
        let mut server = Self {
            client,
            out,
            seen,
            now: 1,
            calls: Vec::new(),
            sent: 0,
            connection: 0,
            suspended: false,
            leaving: false,
            tags: 0,
            sessions: 0,
            slots,
        };
        server.seen.open.insert(Tag::CONNECT);
        server.client.connect(server.now, &mut server.out, &mut server.seen);
        server.receive();
        server
    }

    /// Answers as it should until nothing is asked.
    pub fn serve(&mut self) {
        while !self.calls.is_empty() {
            self.answer_fine(0);
        }
    }

    /// A step of the script. False if the script is over.
    pub fn step(&mut self, rest: &mut &[u8]) -> bool {
        let [code, argument, tail @ ..] = *rest else { return false };
        *rest = tail;
        let at = usize::from(*argument) % self.calls.len().max(1);
        match code % 16 {
            0 | 1 => self.begin(*argument),
            2..=4 => self.answer_fine(at),
            5 => self.refuse(at, rest),
            6..=8 => self.damage(code % 16, at, rest),
            9 => self.call_back(*argument, rest),
            10 => self.lose(),
            11 => self.rejoin(),
            12 => self.wake(),
            13 => self.time_out(),
            14 => self.answer_twice(at),
            _ => self.other(*argument, rest),
        }
        self.client.over().is_none() && !self.seen.refused
    }

    /// The server behaves, and the connection ends.
    pub fn finish(mut self) {
        self.rejoin();
        let begun = self.now;
        let mut patience = PATIENCE;
        while self.client.over().is_none() && !self.seen.refused && !self.seen.open.is_empty() {
            patience -= 1;
            assert!(patience > 0, "{:?} never end", self.seen.open);
            match self.calls.is_empty() {
                false => self.answer_fine(0),
                true => self.wake(),
            }
            assert!(self.now < begun + 8 * TIMEOUT, "{:?} wait forever", self.seen.open);
        }
        if self.client.over().is_none() && !self.seen.refused {
            assert!(self.seen.open.is_empty());
            self.serve();
            self.time_out();
            assert_eq!(self.client.outstanding(), 0);
        }
        self.client.broken(self.now, Cause::ConnectionReset, &mut self.seen);
        assert!(self.seen.open.is_empty());
        assert_eq!(self.seen.rows, self.sent, "rows and calls");
    }

    fn begin(&mut self, which: u8) {
        if self.leaving || !self.seen.connected || self.seen.open.len() >= OPEN_MAX {
            return;
        }
        self.tags += 1;
        let tag = Tag(self.tags);
        let file = self.seen.files.get(usize::from(which >> 5) % self.seen.files.len().max(1)).copied();
        let Some(operation) = operation(which & 31, file) else { return };
        self.seen.open.insert(tag);
        let ticket = Ticket { tag, intended: None, path: Symbol::NONE };
        self.client.begin(&operation, ticket, self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    /// The server receives what the client has sent.
    fn receive(&mut self) {
        self.now += 10;
        let mut bytes = Vec::new();
        while !self.out.is_empty() {
            let mut slices = Vec::new();
            self.out.slices(1_024, &mut slices);
            let piece: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
            self.out.consume(piece.len());
            bytes.extend(piece);
        }
        self.client.sent(0, self.out.sent(), self.now);
        let (calls, _) = nfs4::sent(&bytes);
        self.sent += calls.len();
        for call in calls {
            self.check_slot(&call);
            self.calls.push(call);
        }
    }

    fn check_slot(&mut self, call: &Asked) {
        let (Some((slot, sequence)), Some(session)) = (call.slot, call.session) else { return };
        let before = self.slots.insert((session, slot), (sequence, self.connection, None));
        match before {
            None => {}
            Some((last, connection, None)) => {
                assert!(connection != self.connection, "slot {slot} has two requests");
                assert_eq!(sequence, last, "slot {slot}: another request with another number");
            }
            Some((last, _, Some(true))) => assert_eq!(sequence, last.wrapping_add(1), "slot {slot}"),
            Some((last, _, Some(false))) => {
                assert!(sequence == last || sequence == last.wrapping_add(1), "slot {slot}: {sequence} after {last}");
            }
        }
    }

    /// Takes a call that is to be answered. `counted`: SEQUENCE succeeds; false: it fails, or that is unknown.
    fn take(&mut self, at: usize, counted: bool) -> Option<Asked> {
        let call = (at < self.calls.len()).then(|| self.calls.remove(at))?;
        if let (Some((slot, sequence)), Some(session)) = (call.slot, call.session)
            && let Some(last) = self.slots.get_mut(&(session, slot))
            && last.0 == sequence
        {
            last.2 = Some(counted);
        }
        if call.operations == [43] {
            // In another session numbers begin again, also if a damaged answer gives it an earlier ID.
            self.slots.clear();
        }
        Some(call)
    }

    fn results(&mut self, call: &Asked) -> Vec<u8> {
        let mut results = call.fine();
        if call.operations == [43] {
            self.sessions += 1;
            results[34..36].copy_from_slice(&self.sessions.to_be_bytes());
        }
        results
    }

    fn answer_fine(&mut self, at: usize) {
        let Some(call) = self.take(at, true) else { return };
        let results = self.results(&call);
        self.feed(&record(&reply(call.xid, &results)));
    }

    fn answer_twice(&mut self, at: usize) {
        let Some(call) = self.take(at, true) else { return };
        let results = self.results(&call);
        let answer = record(&reply(call.xid, &results));
        self.feed(&answer);
        self.feed(&answer);
    }

    fn refuse(&mut self, at: usize, rest: &mut &[u8]) {
        let [place, status, tail @ ..] = *rest else { return };
        *rest = tail;
        let most = self.calls.get(at).map_or(1, |call| call.operations.len()).max(1);
        let place = usize::from(*place) % most;
        let Some(call) = self.take(at, place > 0) else { return };
        let status = STATUSES[usize::from(*status) % STATUSES.len()];
        self.feed(&record(&reply(call.xid, &call.failing(place, status))));
    }

    /// Answers with one byte changed, without the last bytes, or with any bytes.
    fn damage(&mut self, how: u8, at: usize, rest: &mut &[u8]) {
        let [low, value, tail @ ..] = *rest else { return };
        *rest = tail;
        let Some(call) = self.take(at, false) else { return };
        let mut results = self.results(&call);
        match how {
            6 => {
                let place = usize::from(*low) % results.len().max(1);
                results.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= value);
            }
            7 => results.truncate(usize::from(*low)),
            _ => results = take_bytes(*value, rest),
        }
        self.feed(&record(&reply(call.xid, &results)));
    }

    /// The server calls the client: a recall, also with a changed byte, or a call of any bytes.
    fn call_back(&mut self, how: u8, rest: &mut &[u8]) {
        let mut call = nfs4::recall(how.into());
        if how & 1 == 1 {
            let [at, value, tail @ ..] = *rest else { return };
            *rest = tail;
            let at = 4 + usize::from(*at) % (call.len() - 4);
            call[at] ^= value;
        }
        if how & 2 == 2 {
            let body = take_bytes(how, rest);
            call = record(&[words(&[how.into(), 0]), body].concat());
        }
        self.feed(&call);
    }

    /// Gives the client a record, which may be none.
    fn feed(&mut self, record: &[u8]) {
        if self.suspended || self.client.over().is_some() {
            return;
        }
        self.now += 10;
        match self.client.framing(0, record) {
            Framing::Message { length, keep } if length as usize == record.len() => {
                let arrived =
                    Arrived { head: &record[..keep], length, first: self.now, last: self.now + 1, channel: 0 };
                self.client.message(arrived, &mut self.out, &mut self.seen);
                self.receive();
            }
            _ => self.client.broken(self.now, Cause::Malformed, &mut self.seen),
        }
    }

    fn lose(&mut self) {
        if self.suspended {
            return;
        }
        self.calls.clear();
        self.now += 10;
        self.suspended = self.client.suspend(self.now, &mut self.seen);
        match self.suspended {
            // Its connecting is over with the connection.
            true => _ = self.seen.open.remove(&Tag::CONNECT),
            false => self.client.broken(self.now, Cause::ConnectionReset, &mut self.seen),
        }
    }

    fn rejoin(&mut self) {
        if !std::mem::take(&mut self.suspended) {
            return;
        }
        (self.now, self.out, self.connection) = (self.now + 10_000_000, Outbox::new(), self.connection + 1);
        self.seen.open.insert(Tag::CONNECT);
        let local = Endpoint { port: 2, ..identity().client };
        self.client.resume(local, self.connection, self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    fn wake(&mut self) {
        let at = self.client.wakes_at();
        if self.suspended || at == i64::MAX {
            self.now += 1_000_000_000;
            return;
        }
        self.now = at.max(self.now + 1);
        self.client.wake(self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    fn time_out(&mut self) {
        self.now += TIMEOUT;
        self.client.overdue(self.now - TIMEOUT + 1, self.now, &mut self.seen);
        if !self.suspended {
            self.receive();
        }
    }

    fn other(&mut self, how: u8, rest: &mut &[u8]) {
        match how % 4 {
            0 if self.seen.open.is_empty() && !self.suspended && !self.leaving => {
                self.leaving = true;
                self.seen.open.insert(Tag::LEAVE);
                self.client.leave(self.now, &mut self.out, &mut self.seen);
                self.receive();
            }
            1 => {
                // RPC rejects the call, in one way or another.
                let Some(call) = self.take(usize::from(how >> 4) % self.calls.len().max(1), false) else { return };
                let verdict = [[0, 0, 0, 1], [0, 0, 0, 3], [0, 0, 0, 5], [1, 1, 5, 0]][usize::from(how >> 2) % 4];
                self.feed(&record(&[words(&[call.xid, 1]), words(&verdict)].concat()));
            }
            2 => {
                let Some(call) = self.take(usize::from(how >> 2) % self.calls.len().max(1), true) else { return };
                let results = self.results(&call);
                self.feed(&record_in_fragments(&reply(call.xid, &results), 60));
            }
            _ => {
                let bytes = take_bytes(how, rest);
                self.feed(&bytes);
            }
        }
    }
}

/// Takes bytes off the script.
fn take_bytes(count: u8, rest: &mut &[u8]) -> Vec<u8> {
    let (bytes, tail) = rest.split_at(usize::from(count).min(rest.len()));
    *rest = tail;
    bytes.to_vec()
}

/// An operation, if it has the file that it needs.
fn operation<'a>(which: u8, file: Option<FileKey>) -> Option<Operation<'a>> {
    let (access, caching, content) = (Access::ReadWrite, Caching::None, &*CONTENT);
    Some(match which {
        0 => Operation::Open { path: "d/file", access, disposition: Disposition::Open, caching },
        1 => Operation::Open { path: "new", access, disposition: Disposition::Create, caching },
        2 => Operation::Open { path: "emptied", access, disposition: Disposition::Overwrite, caching },
        3 => {
            Operation::Open { path: "d/file", access, disposition: Disposition::Open, caching: Caching::Handle }
        }
        4 => Operation::Read { file: file?, offset: 0, length: 200_000, keep: false },
        5 => Operation::Read { file: file?, offset: 7, length: 1_000, keep: true },
        6 => Operation::Write { file: file?, offset: 0, length: 100_000, content, key: 1 },
        7 => Operation::WriteThrough { file: file?, offset: 0, length: 10, content, key: 1 },
        8 => Operation::Truncate { file: file?, size: 5 },
        9 => Operation::Lock { file: file?, offset: 0, length: 9, exclusive: true, wait: false },
        10 => Operation::Lock { file: file?, offset: 20, length: 9, exclusive: false, wait: true },
        11 => Operation::Unlock { file: file?, offset: 0, length: 9 },
        12 => Operation::Rename { from: "from", to: "d/to" },
        13 => Operation::Link { from: "from", to: "to" },
        14 => Operation::Symlink { path: "link", text: "text" },
        // In place of kinds that SMB alone has.
        17 => Operation::Copy { from: file?, to: file?, length: 1 << 20 },
        18 => Operation::ReadPlus { file: file?, offset: 7, length: 100_000, keep: true },
        19 => Operation::SeekData { file: file?, offset: 7 },
        20 => Operation::Allocate { file: file?, offset: 0, length: 1 << 40 },
        _ => {
            let kind = OperationKind::ALL[usize::from(which - 15) % OperationKind::ALL.len()];
            return kind.on("d/some", file);
        }
    })
}
