//! The client: its state and its interface.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use plimsoll_model::{FileIdentity, Guarantees, Outcome, Symbol};
use plimsoll_wire::nfs::v3::read::{BEFORE_DATA, Read};
use plimsoll_wire::nfs::v3::{self, Call as _, FileHandle};
use plimsoll_wire::rpc::Verdict;
use plimsoll_wire::xdr::Malformed;

use super::file::Files;
use super::job::{Goal, Job, Jobs};
use super::options::{NfsLimits, NfsOptions, PROGRAM, VERSION};
use crate::calls::{Call, Ending, Identity};
use crate::client::{Arrived, Client, Events, Framing};
use crate::jobs::JobId;
use crate::nfs::{Handles, LastIdentity, SpareWalks};
use crate::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use crate::outbox::Outbox;
use crate::rpc::{Arrival, Connection, Context, Opened};

/// A connection to an export.
#[derive(Debug)]
pub struct NfsClient {
    pub(super) options: Arc<NfsOptions>,
    pub(super) connection: Connection<RequestContext>,
    /// Why it is of no use, once it is.
    over: Option<Cause>,
    pub(super) jobs: Jobs,
    pub(super) handles: Handles<FileHandle>,
    pub(super) last_identity: LastIdentity,
    pub(super) files: Files,
    pub(super) spare: SpareWalks<FileHandle>,
    pub(super) limits: NfsLimits,
    /// The server has no READDIRPLUS.
    pub(super) without_plus: bool,
    /// Guarantees that the server gave this client.
    pub(super) guarantees: Guarantees,
    /// Jobs that wait because a Kerberos context allows no more calls, and since when, ns.
    pub(super) waiting: VecDeque<(JobId, i64)>,
}

impl Drop for NfsClient {
    fn drop(&mut self) {
        self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner).merge(&self.guarantees);
    }
}

/// Data about a call besides those for its transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestContext {
    pub(super) job: JobId,
    pub(super) procedure: u32,
    /// Of a transfer: where its data stand.
    pub(super) offset: u64,
    /// Of a transfer: bytes that it moves at most.
    pub(super) count: u32,
    /// Of a read: its data are wanted.
    pub(super) keep: bool,
    /// When it was put into the outbox, ns.
    pub(super) queued: i64,
}

impl Context for RequestContext {
    /// Drop the data that a READ returns.
    fn results_kept(&self) -> Option<usize> {
        (self.procedure == Read::PROCEDURE && !self.keep).then_some(BEFORE_DATA)
    }

    fn queued(&self) -> i64 {
        self.queued
    }
}

impl NfsClient {
    /// A client for a connection that was just made.
    #[must_use]
    pub fn new(options: Arc<NfsOptions>, identity: Identity) -> Self {
        Self {
            connection: Connection::new(identity, (PROGRAM, VERSION), options.security.as_ref()),
            over: None,
            jobs: Jobs::default(),
            handles: Handles::new(options.root),
            last_identity: LastIdentity::default(),
            files: Files::default(),
            spare: SpareWalks::default(),
            limits: options.limits.get().copied().unwrap_or(NfsLimits::UNKNOWN),
            without_plus: false,
            guarantees: Guarantees::default(),
            waiting: VecDeque::new(),
            options,
        }
    }

    /// Tells of a call that ended.
    pub(super) fn report(
        &self,
        call: &Call<RequestContext>,
        operation: Option<Tag>,
        ending: &Ending,
        events: &mut dyn Events,
    ) {
        events.transaction(operation, &mut self.connection.transaction(call, ending));
    }

    /// A call that gets no answer any more.
    fn abandon(&mut self, call: &Call<RequestContext>, cause: Cause, events: &mut dyn Events) {
        let outcome = if call.sent.is_some() { Outcome::Unanswered } else { Outcome::NeverSent };
        let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
        let operation = self.jobs.get(call.context.job).map(|job| job.tag);
        self.report(call, operation, &ending, events);
        if let Some(job) = self.jobs.get(call.context.job) {
            job.pending = job.pending.saturating_sub(1);
            job.fail(Failure { procedure: Some(call.procedure), status: None, outcome, cause });
        }
    }

    /// Ends the connection: everything fails that has not failed before.
    fn give_up(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        if self.over.is_some() {
            return;
        }
        self.over = Some(cause);
        self.waiting.clear();
        for call in self.connection.take_all() {
            self.abandon(&call, cause, events);
        }
        for mut job in self.jobs.drain() {
            job.fail(Failure::never_sent(cause));
            events.done(Done { tag: job.tag, at, result: job.result() });
        }
    }

    /// Takes a record.
    ///
    /// # Errors
    /// The cause for which the connection is of no use any more.
    fn arrived(&mut self, record: &Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) -> Result<(), Cause> {
        Arrival::of(record, |arrival| self.reply(arrival, out, events))
    }

    fn reply(&mut self, arrival: &Arrival<'_>, out: &mut Outbox, events: &mut dyn Events) -> Result<(), Cause> {
        let (xid, verdict) = Verdict::parse(arrival.kept).map_err(|Malformed| Cause::Malformed)?;
        let Some(mut call) = self.connection.ended_by(xid) else { return Ok(()) };
        let opened = match self.connection.open(call.id, arrival.kept, verdict) {
            Ok(opened) => opened,
            Err(cause) => {
                self.rejected(&call, cause, arrival, events);
                return Err(cause);
            }
        };
        let at = arrival.at.1;
        if let Opened::Expired(_) = opened {
            self.refused_context(&call, arrival, events);
            self.advance(call.context.job, at, out, events);
            self.pump(at, out, events);
            return Ok(());
        }
        let verdict = opened.verdict();
        if let (None, Verdict::Success(results)) = (call.asked.file, verdict) {
            // Asked for by its name: the answer says which it is.
            call.asked.file = v3::results(call.context.procedure, results).handle.map(FileIdentity::of_handle);
        }
        self.answered(&call, verdict, arrival, events).map_err(|Malformed| Cause::Malformed)?;
        if let Some(job) = self.jobs.get(call.context.job) {
            job.due_at(at);
        }
        self.advance(call.context.job, at, out, events);
        self.pump(at, out, events);
        Ok(())
    }

    /// Sends jobs that wait for room.
    fn pump(&mut self, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        while self.connection.room() > 0
            && let Some((id, _)) = self.waiting.pop_front()
        {
            self.advance(id, at, out, events);
        }
    }
}

impl Client for NfsClient {
    fn connect(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let ticket = Ticket { tag: Tag::CONNECT, intended: None, path: Symbol::NONE };
        let job = self.jobs.add(Job::new(&ticket, Goal::Connect));
        self.advance(job, now, out, events);
    }

    fn begin(
        &mut self,
        operation: &Operation<'_>,
        ticket: Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        match self.over {
            None => self.begin_operation(operation, &ticket, now, out, events),
            Some(cause) => {
                events.done(Done { tag: ticket.tag, at: now, result: Err(Failure::never_sent(cause)) });
            }
        }
    }

    fn over(&self) -> Option<Cause> {
        self.over
    }

    fn framing(&self, _channel: u32, head: &[u8]) -> Framing {
        if self.over.is_some() { Framing::Broken } else { self.connection.frame(head) }
    }

    fn message(&mut self, message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        if self.over.is_none()
            && let Err(cause) = self.arrived(&message, out, events)
        {
            self.give_up(message.last, cause, events);
        }
    }

    fn sent(&mut self, _channel: u32, through: u64, at: i64) {
        self.connection.sent(through, at);
    }

    fn broken(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        self.give_up(at, cause, events);
    }

    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        for call in self.connection.take_overdue(before) {
            self.abandon(&call, Cause::TimedOut, events);
            let id = call.context.job;
            if self.jobs.get(id).is_some_and(|job| job.pending == 0)
                && let Some(job) = self.jobs.take(id)
            {
                self.end(id, job, now, events);
            }
        }
        while let Some((id, _)) = self.waiting.pop_front_if(|(_, since)| *since < before) {
            let Some(mut job) = self.jobs.take(id) else { continue };
            job.fail(Failure::never_sent(Cause::TimedOut));
            self.end(id, job, now, events);
        }
    }

    /// NFSv3 has nothing to take leave of but a Kerberos context: the export is unmounted once for the whole run.
    fn leave(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        if self.over.is_some() || !self.connection.has_context() {
            let result = Ok(crate::operation::Reply::Nothing);
            return events.done(Done { tag: Tag::LEAVE, at: now, result });
        }
        let ticket = Ticket { tag: Tag::LEAVE, intended: None, path: Symbol::NONE };
        let job = self.jobs.add(Job::new(&ticket, Goal::Leave));
        self.advance(job, now, out, events);
    }

    fn outstanding(&self) -> usize {
        self.connection.outstanding() + self.waiting.len()
    }

    fn unmatched_responses(&self) -> u64 {
        self.connection.unmatched_responses()
    }
}
