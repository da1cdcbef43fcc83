//! A minimal protocol, its client, its server, and scenarios of it.
//!
//! A message: length (of the whole message), id, status (in requests: the requested answer), then bytes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use plimsoll_client::Outbox;
use plimsoll_client::calls::{Call, Calls, Ending, Identity};
use plimsoll_client::operation::{Cause, Done, Failure, FileKey, Operation, Reply, Tag, Ticket};
use plimsoll_client::{Arrived, Client, Events, Framing, NewChannel};
use plimsoll_drive::engine::{ConnectionInfo, ServerAccess, Setup};
use plimsoll_model::{Endpoint, Names, Outcome, Procedure, Protocol, Symbol};
use plimsoll_workload::scenario::{Scenario, ScenarioStep, Verdict};

/// Bytes of a message's head.
pub(crate) const HEAD: usize = 16;
/// The answers that a request can ask for.
pub(crate) const NOTHING: u32 = 0;
pub(crate) const HOLD: u32 = 1;
pub(crate) const LOG_ON: u32 = 2;
pub(crate) const LOG_OFF: u32 = 3;
/// Higher values: the difference is the number of data bytes.
pub(crate) const DATA: u32 = 1 << 16;

pub(crate) fn message(id: u64, word: u32, data: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + data);
    bytes.extend_from_slice(&((HEAD + data) as u32).to_le_bytes());
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.extend_from_slice(&word.to_le_bytes());
    bytes.resize(HEAD + data, b'x');
    bytes
}

/// Length, id and word of the message at the front.
pub(crate) fn head(bytes: &[u8]) -> Option<(usize, u64, u32)> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().unwrap());
    let id = u64::from_le_bytes(bytes.get(4..12)?.try_into().unwrap());
    let word = u32::from_le_bytes(bytes.get(12..16)?.try_into().unwrap());
    Some((length as usize, id, word))
}

/// The answer to a request; `None` where there is none.
pub(crate) fn answer(id: u64, word: u32) -> Option<Vec<u8>> {
    match word {
        HOLD => None,
        word if word >= DATA => Some(message(id, 0, (word - DATA) as usize)),
        _ => Some(message(id, 0, 0)),
    }
}

/// NFS4ERR_GRACE: an answer after which a client sends the request again, as NFS 4 clients do.
pub(crate) const GRACE: u32 = 10_013;
/// An answer after which a client gives up its connection, as clients do whose session is lost.
pub(crate) const GONE: u32 = 10_052;
/// Delay of requests that a client sends by itself, ns.
pub(crate) const LATER: i64 = 1_000_000;

pub(crate) struct ToyClient {
    identity: Identity,
    calls: Calls<Delivery>,
    next_id: u64,
    unmatched_responses: u64,
    /// Bytes of data from which on they are dropped rather than kept.
    log_on: bool,
    /// It keeps its operations where its connection is lost, and asks again over the next one.
    keeps: bool,
    /// It gives up its connection where a request has no answer in time.
    gives_up: bool,
    over: Option<Cause>,
    /// Further connections that it still binds; later ones are refused.
    binds: u32,
    up: bool,
    kept: Vec<(u32, Delivery, Option<i64>)>,
    /// Requests that it sends by itself, and their times.
    later: Vec<(i64, Ticket)>,
}

#[derive(Clone, Copy, Debug)]
struct Delivery {
    tag: Tag,
    bytes: Option<u32>,
    keep: bool,
}

impl ToyClient {
    pub(crate) fn new(info: &ConnectionInfo, toys: &Toys) -> Self {
        let (identity, calls) = (info.identity(Symbol::NONE, Symbol::NONE), Calls::default());
        let Toys { log_on, keeps, gives_up, binds, .. } = *toys;
        let (over, kept, later) = (None, Vec::new(), Vec::new());
        let (next_id, unmatched_responses, up) = (1, 0, false);
        Self { identity, calls, next_id, unmatched_responses, log_on, keeps, gives_up, over, binds, up, kept, later }
    }

    fn call(&mut self, word: u32, ticket: Ticket, keep: bool, out: &mut Outbox) {
        let id = self.next_id;
        self.next_id += 1;
        let begins = out.end();
        out.put(&message(id, word, 0));
        let bytes = word.checked_sub(DATA);
        self.calls.add(Call {
            id,
            procedure: Procedure::of(Protocol::Smb2, 13),
            compound_position: None,
            intended: ticket.intended,
            path: ticket.path,
            asked: Default::default(),
            session: None,
            request_bytes: HEAD as u32,
            payload_bytes: None,
            begins,
            ends: out.end(),
            sent: None,
            interim: None,
            long_lived: word == HOLD,
            context: Delivery { tag: ticket.tag, bytes, keep },
        });
    }

    fn end(&mut self, call: &Call<Delivery>, at: i64, cause: Cause, outcome: Outcome, events: &mut dyn Events) {
        let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
        events.transaction(Some(call.context.tag), &mut call.transaction(&self.identity, &ending));
        let failure = Failure { procedure: Some(call.procedure), status: None, outcome, cause };
        events.done(Done { tag: call.context.tag, at, result: Err(failure) });
    }
}

impl Client for ToyClient {
    fn connect(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let ticket = Ticket { tag: Tag::CONNECT, intended: None, path: Symbol::NONE };
        match self.log_on {
            true => self.call(LOG_ON, ticket, false, out),
            false => {
                self.up = true;
                events.done(Done { tag: Tag::CONNECT, at: now, result: Ok(Reply::Nothing) });
            }
        }
    }

    fn begin(
        &mut self,
        operation: &Operation<'_>,
        ticket: Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        if let Some(cause) = self.over {
            return events.done(Done { tag: ticket.tag, at: now, result: Err(Failure::never_sent(cause)) });
        }
        match *operation {
            Operation::Null => self.call(NOTHING, ticket, false, out),
            Operation::Read { length, keep, .. } => self.call(DATA + length, ticket, keep, out),
            Operation::Close { .. } => events.done(Done { tag: ticket.tag, at: now, result: Ok(Reply::Nothing) }),
            Operation::Watch { .. } => self.call(HOLD, ticket, false, out),
            Operation::Lookup { .. } => self.later.push((now + LATER, ticket)),
            _ => {
                let (outcome, cause) = (Outcome::NeverSent, Cause::Unsupported);
                let failure = Failure { procedure: None, status: None, outcome, cause };
                events.done(Done { tag: ticket.tag, at: now, result: Err(failure) });
            }
        }
    }

    fn over(&self) -> Option<Cause> {
        self.over
    }

    fn framing(&self, _: u32, bytes: &[u8]) -> Framing {
        match head(bytes) {
            _ if self.over.is_some() => Framing::Broken,
            None => Framing::Need(HEAD),
            Some((length, ..)) if length < HEAD => Framing::Broken,
            Some((length, id, _)) => {
                let keep = match self.calls.iter().find(|call| call.id == id) {
                    Some(call) if call.context.keep => length,
                    _ => HEAD,
                };
                Framing::Message { length: length as u64, keep }
            }
        }
    }

    fn message(&mut self, message: Arrived<'_>, _out: &mut Outbox, events: &mut dyn Events) {
        let (length, id, status) = head(message.head).unwrap();
        assert_eq!(length as u64, message.length);
        let Some(call) = self.calls.take(id) else {
            self.unmatched_responses += 1;
            return;
        };
        assert!(call.sent.is_some(), "an answer to what was not sent");
        if status == GONE {
            self.over = Some(Cause::SessionLost);
            return self.end(&call, message.last, Cause::SessionLost, Outcome::Refused, events);
        }
        let outcome = if status == 0 { Outcome::Succeeded } else { Outcome::Refused };
        let waits = status == GRACE;
        let call = if waits { Call { procedure: Procedure::of(Protocol::Nfs4, 18), ..call } } else { call };
        let ending = Ending {
            answered: Some((message.first, message.last)),
            status: Some(status),
            outcome,
            response_bytes: Some(message.length),
            payload_bytes: call.context.bytes.map(u64::from),
        };
        events.transaction(Some(call.context.tag), &mut call.transaction(&self.identity, &ending));
        if waits {
            let Delivery { tag, .. } = call.context;
            return self.later.push((message.last + LATER, Ticket { tag, intended: None, path: Symbol::NONE }));
        }
        if call.context.keep {
            assert_eq!(message.head.len() as u64, message.length);
            events.data(call.context.tag, 0, &message.head[HEAD..]);
        }
        self.up |= call.context.tag == Tag::CONNECT && status == 0;
        let result = match (status, call.context.bytes) {
            (0, Some(_)) => Ok(Reply::Read { bytes: message.length as u32 - HEAD as u32 }),
            (0, None) => Ok(Reply::Nothing),
            _ => {
                let cause = if call.context.tag == Tag::CONNECT { Cause::LogonRefused } else { Cause::Status };
                Err(Failure { procedure: Some(call.procedure), status: Some(status), outcome, cause })
            }
        };
        events.done(Done { tag: call.context.tag, at: message.last, result });
    }

    fn sent(&mut self, channel: u32, through: u64, at: i64) {
        // All calls go out on the first connection.
        if channel == 0 {
            self.calls.sent(through, at);
        }
    }

    /// The server gets a message on the new connection, which needs no response.
    fn channel_opened(&mut self, new: &NewChannel, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        out.channel(new.channel).put(&message(0, HOLD, 0));
        let refused = || Failure { outcome: Outcome::Refused, ..Failure::without_answer(Cause::LogonRefused) };
        let left = self.binds.checked_sub(1);
        self.binds = left.unwrap_or(0);
        let result = left.map(|_| Reply::Nothing).ok_or_else(refused);
        events.done(Done { tag: Tag::channel(new.channel), at: now, result });
    }

    fn channel_lost(&mut self, channel: u32, _at: i64, out: &mut Outbox, _events: &mut dyn Events) {
        out.reset(channel);
    }

    fn broken(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        for (_, what, _) in self.kept.drain(..) {
            events.done(Done { tag: what.tag, at, result: Err(Failure::without_answer(cause)) });
        }
        for call in self.calls.take_where(|_| true) {
            self.end(&call, at, cause, Outcome::Failed, events);
        }
        for (_, ticket) in self.later.drain(..) {
            events.done(Done { tag: ticket.tag, at, result: Err(Failure::without_answer(cause)) });
        }
    }

    fn suspend(&mut self, _at: i64, events: &mut dyn Events) -> bool {
        let keeps = self.keeps && self.up;
        for call in self.calls.take_where(|_| keeps) {
            let outcome = Outcome::Unanswered;
            let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
            events.transaction(Some(call.context.tag), &mut call.transaction(&self.identity, &ending));
            let word = if call.long_lived { HOLD } else { call.context.bytes.map_or(NOTHING, |bytes| DATA + bytes) };
            self.kept.push((word, call.context, call.intended));
        }
        keeps
    }

    fn resume(&mut self, local: Endpoint, connection: u32, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        (self.identity.client, self.identity.connection) = (local, connection);
        for (word, Delivery { tag, keep, .. }, intended) in std::mem::take(&mut self.kept) {
            self.call(word, Ticket { tag, intended, path: Symbol::NONE }, keep, out);
        }
        events.done(Done { tag: Tag::CONNECT, at: now, result: Ok(Reply::Nothing) });
    }

    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        for (_, what, _) in self.kept.extract_if(.., |(_, _, intended)| intended.is_some_and(|at| at < before)) {
            let failure = Failure::without_answer(Cause::TimedOut);
            events.done(Done { tag: what.tag, at: now, result: Err(failure) });
        }
        let late = |call: &Call<Delivery>| !call.long_lived && call.sent.is_some_and(|(first, _)| first < before);
        for call in self.calls.take_where(late) {
            self.over = self.gives_up.then_some(Cause::TimedOut);
            self.end(&call, now, Cause::TimedOut, Outcome::Unanswered, events);
        }
    }

    fn wakes_at(&self) -> i64 {
        self.later.iter().map(|(at, _)| *at).min().unwrap_or(i64::MAX)
    }

    fn wake(&mut self, now: i64, out: &mut Outbox, _events: &mut dyn Events) {
        let (due, later) = self.later.drain(..).partition(|(at, _)| *at <= now);
        self.later = later;
        let due: Vec<(i64, Ticket)> = due;
        due.into_iter().for_each(|(_, ticket)| self.call(NOTHING, ticket, false, out));
    }

    fn leave(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let ticket = Ticket { tag: Tag::LEAVE, intended: None, path: Symbol::NONE };
        match self.log_on {
            true => self.call(LOG_OFF, ticket, false, out),
            false => events.done(Done { tag: Tag::LEAVE, at: now, result: Ok(Reply::Nothing) }),
        }
    }

    fn outstanding(&self) -> usize {
        self.calls.iter().filter(|call| !call.long_lived).count() + self.kept.len()
    }

    fn unmatched_responses(&self) -> u64 {
        self.unmatched_responses
    }
}

/// A line of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Do {
    Null,
    Read(u32),
    ReadData(u32),
    /// The data is treated as wrong.
    ReadWrong(u32),
    /// Any result counts as this verdict.
    Judged(Verdict),
    Hold,
    /// The client sends this by itself, later.
    Later,
    /// Something that the client does without a request.
    Known,
    /// Something that the protocol does not have.
    Impossible,
    Think(u64),
    IterationOver,
    Finish,
}

/// Client, slot, and how an operation ended.
pub(crate) type End = (u32, u32, Result<Reply, Cause>);

/// What slots saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) begun: AtomicU64,
    pub(crate) done: AtomicU64,
    pub(crate) data: AtomicU64,
    pub(crate) names: AtomicU64,
    pub(crate) reconnected: AtomicU64,
    /// How each operation ended, in that order.
    pub(crate) ends: Mutex<Vec<End>>,
    /// Client of each iteration that began, with its slot.
    pub(crate) iterations: Mutex<Vec<(u32, u32)>>,
}

/// Runs a script over and over.
pub(crate) struct Script {
    lines: Arc<[Do]>,
    next: usize,
    who: (u32, u32),
    seen: Arc<Seen>,
    waiting: bool,
    verdict: Verdict,
    quiet: bool,
}

impl Scenario for Script {
    fn next(&mut self) -> ScenarioStep<'_> {
        assert!(!self.waiting, "asked again before it was done");
        let line = self.lines[self.next];
        if self.next == 0 && !self.quiet {
            self.seen.iterations.lock().unwrap().push(self.who);
        }
        self.next = (self.next + 1) % self.lines.len();
        let file = FileKey(0);
        let operation = match line {
            Do::Null | Do::Judged(_) => Operation::Null,
            Do::Read(length) | Do::ReadWrong(length) => Operation::Read { file, offset: 0, length, keep: false },
            Do::ReadData(length) => Operation::Read { file, offset: 0, length, keep: true },
            Do::Hold => Operation::Watch { path: "" },
            Do::Later => Operation::Lookup { path: "" },
            Do::Known => Operation::Close { file },
            Do::Impossible => Operation::Fsinfo,
            Do::Think(ns) => return ScenarioStep::Think(ns),
            Do::IterationOver => return ScenarioStep::IterationOver,
            Do::Finish => return ScenarioStep::Finished,
        };
        self.waiting = true;
        self.verdict = match line {
            Do::ReadWrong(_) => Verdict::Failed(Cause::WrongData),
            Do::Judged(verdict) => verdict,
            _ => Verdict::AsAnswered,
        };
        self.seen.begun.fetch_add(1, SeqCst);
        ScenarioStep::Act(operation, Symbol::NONE)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        assert!(std::mem::replace(&mut self.waiting, false), "done without having begun");
        self.seen.done.fetch_add(1, SeqCst);
        if self.quiet {
            return Verdict::AsAnswered;
        }
        let result = done.result.clone().map_err(|failure| failure.cause);
        self.seen.ends.lock().unwrap().push((self.who.0, self.who.1, result));
        // Of an answer that did not come nothing can be wrong.
        let unread = matches!(self.verdict, Verdict::Failed(_)) && done.result.is_err();
        if unread { Verdict::AsAnswered } else { self.verdict }
    }

    fn data(&mut self, _offset: u64, piece: &[u8]) {
        self.seen.data.fetch_add(piece.len() as u64, SeqCst);
    }

    fn entry(&mut self, _name: &str) {
        self.seen.names.fetch_add(1, SeqCst);
    }

    fn reconnected(&mut self) {
        self.seen.reconnected.fetch_add(1, SeqCst);
    }
}

/// Makes toy clients and scripts.
pub(crate) struct Toys {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) lines: Arc<[Do]>,
    pub(crate) log_on: bool,
    /// Clients keep their operations where their connection is lost.
    pub(crate) keeps: bool,
    /// Clients give up their connection where a request has no answer in time.
    pub(crate) gives_up: bool,
    /// Further connections that each client binds; later ones are refused.
    pub(crate) binds: u32,
    /// Slots do not record their data.
    pub(crate) quiet: bool,
    pub(crate) seen: Arc<Seen>,
    pub(crate) names: Names,
    /// The targets, if there are several.
    pub(crate) targets: Vec<String>,
}

impl Toys {
    /// Every slot runs `lines`, over memory.
    pub(crate) fn new(lines: &[Do]) -> Self {
        let address = Some(SocketAddr::from(([10, 0, 0, 1], 445)));
        let names = Names::with_limit(0);
        let (lines, seen, targets) = (lines.into(), Arc::default(), Vec::new());
        let (log_on, keeps, gives_up, quiet, binds) = (false, false, false, false, 0);
        Self { address, lines, log_on, keeps, gives_up, binds, quiet, seen, names, targets }
    }
}

impl ServerAccess for Toys {
    fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    fn targets(&self) -> Vec<String> {
        self.targets.clone()
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        Box::new(ToyClient::new(info, self))
    }
}

impl Setup for Toys {
    fn server(&self) -> &dyn ServerAccess {
        self
    }

    fn scenario(&self, client_index: u32, slot: u32, _seed: u64) -> Box<dyn Scenario> {
        let (lines, seen) = (self.lines.clone(), self.seen.clone());
        let (who, verdict, quiet) = ((client_index, slot), Verdict::AsAnswered, self.quiet);
        Box::new(Script { lines, next: 0, who, seen, waiting: false, verdict, quiet })
    }

    fn names(&self) -> &Names {
        &self.names
    }
}
