//! The client: what it remembers, and how its caller talks to it.

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_model::Outcome;

use super::credits::Credits;
use super::files::Files;
use super::jobs::{Job, JobId, Jobs, Kind, never_sent};
use super::kept::Kept;
use super::logon::Logon;
use super::options::{Dialect, SmbOptions};
use super::outgoing::Outgoing;
use super::session::Session;
use super::standing::Agreed;
use super::step::Step;
use crate::calls::{Call, Calls, Ending, Identity};
use crate::client::{Arrived, Client, Events, Framing};
use crate::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use crate::outbox::Outbox;

/// A connection with one session on one share.
#[derive(Debug)]
pub struct SmbClient {
    pub(super) options: Arc<SmbOptions>,
    pub(super) identity: Identity,
    pub(super) guid: [u8; 16],
    pub(super) state: State,
    /// There while logging on.
    pub(super) logon: Option<Box<Logon>>,
    pub(super) limits: Limits,
    pub(super) credits: Credits,
    pub(super) session: Session,
    /// The session that waits while another one is used.
    pub(super) standing: Option<Box<Session>>,
    /// There once there was a NEGOTIATE.
    pub(super) agreed: Option<Box<Agreed>>,
    pub(super) calls: Calls<What>,
    /// How many of these are held.
    pub(super) held: usize,
    /// Calls that had an interim answer: they may wait long, and the others shall not queue up behind them.
    pub(super) parked: Vec<Call<What>>,
    pub(super) jobs: Jobs,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) files: Files,
    /// What leases make unnecessary to ask for.
    pub(super) kept: Kept,
    /// Ids of calls that were given up; an answer that comes still brings credits.
    pub(super) late: VecDeque<u64>,
    pub(super) strangers: u64,
    /// Leases were asked for so often.
    pub(super) leases: u64,
    /// The last way to get more credits was tried.
    pub(super) begged: bool,
    /// The message that is being built; its memory is used again.
    pub(super) outgoing: Outgoing,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not asked to do anything yet.
    Fresh,
    /// Logging on.
    Connecting,
    /// On the share.
    Ready,
    /// Logging off.
    Leaving,
    /// Logged off, or never logged on, and why; the bytes made sense.
    Closed(Cause),
    /// Of no use any more, and why.
    Over(Cause),
}

/// What the server takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) dialect: Dialect,
    /// Requests of more than 64 KiB, for more than a credit.
    pub(super) multi_credit: bool,
    pub(super) max_transact: u32,
    pub(super) max_read: u32,
    pub(super) max_write: u32,
}

/// What is remembered of a request besides what makes its transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct What {
    pub(super) job: JobId,
    pub(super) step: Step,
    /// Credits that it used up, until its first answer.
    pub(super) charge: u16,
    /// The most bytes that its answer may bring, or that it wrote.
    pub(super) asked: u32,
    /// It may wait by design.
    pub(super) may_wait: bool,
    /// The data of a read are wanted.
    pub(super) keep: bool,
    /// From the interim answer.
    pub(super) async_id: Option<u64>,
    /// When it was put into the outbox, ns.
    pub(super) queued: i64,
}

/// A message that waits for credits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) job: JobId,
    pub(super) since: i64,
    /// The message; `None` where the job makes it when its turn comes, as large as the credits are many.
    pub(super) outgoing: Option<Box<Outgoing>>,
}

/// Bytes that cost one credit.
pub(super) const CREDIT: u32 = 64 << 10;
/// The most that one request asks for, whatever the server takes: it fits into a message with room to spare.
pub(super) const MOST: u32 = 8 << 20;
/// Calls given up whose late answers are still expected, at most.
const LATE: usize = 1024;

impl SmbClient {
    /// A client for a connection that was just made. `guid` is its ClientGuid: two clients of one guid are one client with
    /// two channels to the server (Samba serves them in one process).
    #[must_use]
    pub fn new(options: Arc<SmbOptions>, identity: Identity, guid: [u8; 16]) -> Self {
        let dialect = *options.dialects.start();
        let limits = Limits { dialect, multi_credit: false, max_transact: CREDIT, max_read: CREDIT, max_write: CREDIT };
        let credits = Credits::new(options.credits);
        Self {
            options,
            identity,
            guid,
            state: State::Fresh,
            logon: None,
            limits,
            credits,
            session: Session::default(),
            standing: None,
            agreed: None,
            calls: Calls::default(),
            held: 0,
            parked: Vec::new(),
            jobs: Jobs::default(),
            waiting: VecDeque::new(),
            files: Files::default(),
            kept: Kept::default(),
            late: VecDeque::new(),
            strangers: 0,
            leases: 0,
            begged: false,
            outgoing: Outgoing::default(),
        }
    }

    /// Tells of a request that ended.
    pub(super) fn report(&self, call: &Call<What>, ending: &Ending, events: &mut dyn Events) {
        let mut transaction = call.transaction(&self.identity, ending);
        if call.what.step.is_outside_of_shares() {
            transaction.share = plimsoll_model::Symbol::NONE;
        }
        if call.what.step == Step::Negotiate {
            transaction.user = plimsoll_model::Symbol::NONE;
        }
        events.transaction(self.jobs.tag(call.what.job), &transaction);
    }

    /// Ends a job that has nothing left to do.
    pub(super) fn finish(&mut self, id: JobId, at: i64, events: &mut dyn Events) {
        if let Some(job) = self.jobs.remove(id) {
            self.keep(&job);
            match job.kind {
                Kind::LogOn if job.failure.is_some() => self.go_back(),
                // Refused or without an answer: it may be gone at the server, and the standing one is there.
                Kind::LogOff => self.go_back(),
                Kind::LeaveShare => self.session.tree = self.session.before.take().unwrap_or(self.session.tree),
                _ => {}
            }
            events.done(Done { tag: job.tag, at, result: job.result() });
        }
    }

    /// Ends the connection: everything fails that has not failed before.
    pub(super) fn give_up(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        if matches!(self.state, State::Over(_)) {
            return;
        }
        self.state = State::Over(cause);
        self.logon = None;
        self.waiting.clear();
        self.files.clear();
        self.kept.clear();
        let mut calls = self.calls.take_where(|_| true);
        self.held = 0;
        calls.append(&mut self.parked);
        calls.sort_by_key(|call| call.id);
        for call in calls {
            self.abandon(&call, cause, events);
        }
        for mut job in self.jobs.drain() {
            job.fail(never_sent(None, cause));
            events.done(Done { tag: job.tag, at, result: job.result() });
        }
    }

    /// A call that gets no answer any more.
    pub(super) fn abandon(&mut self, call: &Call<What>, cause: Cause, events: &mut dyn Events) {
        let outcome = if call.sent.is_some() { Outcome::Unanswered } else { Outcome::NeverSent };
        let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
        self.report(call, &ending, events);
        if let Some(job) = self.jobs.get(call.what.job) {
            job.pending = job.pending.saturating_sub(1);
            job.fail(Failure { procedure: Some(call.procedure), status: None, outcome, cause });
        }
    }

    /// Fails an operation that nothing was sent for.
    pub(super) fn refuse(tag: Tag, at: i64, cause: Cause, events: &mut dyn Events) {
        events.done(Done { tag, at, result: Err(never_sent(None, cause)) });
    }

    /// Remembers that an answer may still come.
    fn expect_late(&mut self, call: &Call<What>) {
        if self.late.len() == LATE {
            self.late.pop_front();
        }
        self.late.push_back(call.id);
        self.credits.lost(call.what.charge);
    }

    /// Fails what has been waiting for credits since before `before`: it was never sent.
    fn overdue_waiting(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        let overdue = self.waiting.partition_point(|waiting| waiting.since < before);
        let jobs: Vec<JobId> = self.waiting.drain(..overdue).map(|waiting| waiting.job).collect();
        for id in jobs {
            let Some(job) = self.jobs.get(id) else { continue };
            job.fail(never_sent(None, Cause::TimedOut));
            job.queued = false;
            self.settle_without_sending(id, now, events);
        }
    }
}

impl Client for SmbClient {
    fn connect(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        if self.state != State::Fresh {
            return Self::refuse(Tag::CONNECT, now, Cause::Unsupported, events);
        }
        self.state = State::Connecting;
        let ticket = Ticket { tag: Tag::CONNECT, intended: None, path: plimsoll_model::Symbol::NONE };
        let job = self.jobs.add(Job::new(&ticket, Kind::Connect));
        self.negotiate(job, now, out, events);
    }

    fn begin(
        &mut self,
        operation: &Operation<'_>,
        ticket: Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        match self.state {
            State::Ready => self.begin_operation(operation, &ticket, now, out, events),
            State::Closed(cause) | State::Over(cause) => Self::refuse(ticket.tag, now, cause, events),
            State::Fresh | State::Connecting | State::Leaving => {
                Self::refuse(ticket.tag, now, Cause::Ended, events);
            }
        }
    }

    fn over(&self) -> Option<Cause> {
        if let State::Over(cause) = self.state { Some(cause) } else { None }
    }

    fn framing(&self, head: &[u8]) -> Framing {
        self.frame(head)
    }

    fn message(&mut self, message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        self.arrived(&message, out, events);
    }

    fn sent(&mut self, through: u64, at: i64) {
        self.calls.sent(through, at);
    }

    fn broken(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        self.give_up(at, cause, events);
    }

    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        // What stays in the outbox because the server takes nothing is late too.
        let late = |call: &Call<What>| !call.held && call.sent.map_or(call.what.queued, |(first, _)| first) < before;
        let mut calls = self.calls.take_where(late);
        calls.extend(self.parked.extract_if(.., |call| late(call)));
        for call in calls {
            let id = call.what.job;
            self.expect_late(&call);
            self.abandon(&call, Cause::TimedOut, events);
            self.settle_without_sending(id, now, events);
        }
        self.overdue_waiting(before, now, events);
    }

    fn leave(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let ticket = Ticket { tag: Tag::LEAVE, intended: None, path: plimsoll_model::Symbol::NONE };
        let job = Job::new(&ticket, Kind::Leave);
        if self.state == State::Ready {
            // A session beside the standing one ends with the connection.
            self.go_back();
            self.state = State::Leaving;
            let job = self.jobs.add(job);
            self.disconnect(job, now, out);
        } else {
            events.done(Done { tag: Tag::LEAVE, at: now, result: job.result() });
        }
    }

    fn outstanding(&self) -> usize {
        let parked = self.parked.iter().filter(|call| !call.held).count();
        self.calls.len().saturating_sub(self.held) + parked + self.waiting.len()
    }

    fn strangers(&self) -> u64 {
        self.strangers
    }

    fn spared(&self) -> u64 {
        self.kept.spared
    }
}
