//! The client: what it remembers, and how its caller talks to it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use plimsoll_model::{Guarantees, Outcome};
use plimsoll_wire::nfs::v4::{FileHandle, Reply as Results4};
use plimsoll_wire::rpc::Verdict;
use plimsoll_wire::xdr::Malformed;

use super::file::{Files, Owners, open_states};
use super::found::Arrival;
use super::job::{Connecting, Goal, Job, Jobs, Leaving};
use super::options::{Agreed, Nfs4Options};
use super::request_context::RequestContext;
use super::session::Session;
use super::shapes;
use crate::calls::{Call, Ending, Identity};
use crate::client::{Arrived, Client, Events, Framing};
use crate::nfs::{Handles, JobId, never_sent};
use crate::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use crate::outbox::Outbox;
use crate::rpc::{self, Connection};

/// A connection with a session of its own.
#[derive(Debug)]
pub struct Nfs4Client {
    pub(super) options: Arc<Nfs4Options>,
    pub(super) connection: Connection<RequestContext>,
    /// Why it is of no use, once it is.
    over: Option<Cause>,
    /// The server does not know the session any more.
    pub(super) session_lost: bool,
    pub(super) jobs: Jobs,
    pub(super) handles: Handles<FileHandle>,
    pub(super) files: Files,
    pub(super) owners: Owners,
    /// Empty texts, to be paths again.
    pub(super) spare: Vec<String>,
    pub(super) agreed: Agreed,
    /// What it calls itself, the same when it connects again, and this time.
    pub(super) owner: Arc<[u8]>,
    pub(super) verifier: [u8; 8],
    /// What the server calls it, and the number of its next session.
    pub(super) client_id: (u64, u32),
    pub(super) session: Session,
    /// Jobs that wait for a slot, and since when, ns.
    pub(super) waiting: VecDeque<(JobId, i64)>,
    /// Jobs that ask again, and when, ns.
    pub(super) resting: Vec<(i64, JobId)>,
    /// When the lease was renewed, ns.
    pub(super) renewed: i64,
    /// What the server guaranteed this client.
    pub(super) guarantees: Guarantees,
}

impl Drop for Nfs4Client {
    fn drop(&mut self) {
        self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner).merge(&self.guarantees);
    }
}

impl Nfs4Client {
    /// A client for a connection that was just made. `name` tells it from other clients of this run, and is the same for a
    /// connection that is made again: then the server forgets what the one before had open. Without one no other is the same.
    #[must_use]
    pub fn new(options: Arc<Nfs4Options>, identity: Identity, name: Option<&str>) -> Self {
        let number = options.made.fetch_add(1, Relaxed);
        let owner = match name {
            Some(name) => format!("plimsoll {:016x} {name}", options.run),
            None => format!("plimsoll {:016x} control {number}", options.run),
        };
        Self {
            connection: Connection::new(identity),
            over: None,
            session_lost: false,
            jobs: Jobs::default(),
            handles: Handles::new(FileHandle::EMPTY),
            files: Files::default(),
            owners: Owners::default(),
            spare: Vec::new(),
            agreed: options.agreed.get().copied().unwrap_or(Agreed::UNKNOWN),
            owner: owner.into_bytes().into(),
            verifier: number.to_be_bytes(),
            client_id: (0, 0),
            session: Session::default(),
            waiting: VecDeque::new(),
            resting: Vec::new(),
            renewed: i64::MAX,
            guarantees: Guarantees::default(),
            options,
        }
    }

    /// A job waits for a slot.
    pub(super) fn wait_for_slot(&mut self, id: JobId, job: &mut Job, now: i64) {
        job.waits = true;
        self.waiting.push_back((id, now));
        self.options.slot_waits.fetch_add(1, Relaxed);
    }

    /// Sends what waits for slots, as far as there are some.
    fn pump(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        while self.session.has_room()
            && let Some((id, _)) = self.waiting.pop_front()
        {
            if let Some(job) = self.jobs.get(id) {
                job.waits = false;
            }
            self.advance(id, now, out, events);
        }
    }

    /// A call that gets no answer any more.
    fn abandon(&mut self, call: &Call<RequestContext>, cause: Cause, events: &mut dyn Events) {
        let outcome = if call.sent.is_some() { Outcome::Unanswered } else { Outcome::NeverSent };
        let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
        let operation = self.jobs.get(call.what.job).and_then(|job| job.tag);
        self.report(call, operation, None, &ending, events);
        if let Some(job) = self.jobs.get(call.what.job) {
            job.pending = job.pending.saturating_sub(1);
            job.fail(Failure { procedure: Some(shapes::about(call.what.shape)), status: None, outcome, cause });
        }
    }

    /// Ends the connection: everything fails that has not failed before.
    fn give_up(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        if self.over.is_some() {
            return;
        }
        self.over = Some(cause);
        for call in self.connection.take_all() {
            self.abandon(&call, cause, events);
        }
        for mut job in self.jobs.drain() {
            job.fail(never_sent(None, cause));
            if let Some(tag) = job.tag {
                events.done(Done { tag, at, result: job.result() });
            }
        }
        self.waiting.clear();
        self.resting.clear();
    }

    /// Takes a record.
    fn arrived(&mut self, record: &Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) -> Result<(), Malformed> {
        thread_local! {
            /// One for all clients of a thread: records of several fragments are rare.
            static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let mut scratch = SCRATCH.take();
        let kept = rpc::unmarked(record.head, &mut scratch);
        let length = usize::try_from(record.length).unwrap_or(usize::MAX).saturating_sub(rpc::marks(record.head));
        let arrival = Arrival { kept, length, at: (record.first, record.last) };
        let taken = if self.called_back(kept, out) { Ok(()) } else { self.reply(&arrival, out, events) };
        SCRATCH.set(scratch);
        taken
    }

    fn reply(&mut self, arrival: &Arrival<'_>, out: &mut Outbox, events: &mut dyn Events) -> Result<(), Malformed> {
        let (xid, verdict) = Verdict::parse(arrival.kept)?;
        let at = arrival.at.1;
        match self.connection.ended_by(xid) {
            Some(call) => {
                self.answered(&call, verdict, arrival, events)?;
                if let Some(job) = self.jobs.get(call.what.job) {
                    job.due_at(at);
                }
                self.advance(call.what.job, at, out, events);
            }
            None => self.session.found(xid, was_counted(verdict)),
        }
        self.pump(at, out, events);
        if self.session_lost {
            self.give_up(at, Cause::SessionLost, events);
        }
        Ok(())
    }

    /// When the lease is to be renewed, if nothing renews it before: after two thirds of it.
    fn renews_at(&self) -> i64 {
        let lease = i64::from(self.agreed.lease_seconds).saturating_mul(1_000_000_000);
        self.renewed.saturating_add(lease / 3 * 2)
    }

    /// Operations that have waited for a slot, or to ask again, since before `before`.
    fn fail_waiting(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        while let Some((id, _)) = self.waiting.pop_front_if(|(_, since)| *since < before) {
            let Some(mut job) = self.jobs.take(id) else { continue };
            job.waits = false;
            job.fail(never_sent(None, Cause::TimedOut));
            self.end_or_put(id, job, now, events);
        }
        let resting: Vec<JobId> = self.resting.iter().map(|(_, id)| *id).collect();
        for id in resting {
            let Some(mut job) = self.jobs.take(id) else { continue };
            if let Some(rest) = job.rest.take_if(|rest| rest.since < before) {
                self.resting.retain(|(_, rests)| *rests != id);
                job.fail(rest.failure);
            }
            self.end_or_put(id, job, now, events);
        }
    }

    fn end_or_put(&mut self, id: JobId, job: Box<Job>, now: i64, events: &mut dyn Events) {
        match job.failure.is_some() && job.pending == 0 {
            true => self.end(id, job, now, events),
            false => self.jobs.put(id, job),
        }
    }
}

/// Whether an answer says that the server has counted its request: SEQUENCE succeeded.
fn was_counted(verdict: Verdict<'_>) -> bool {
    let Verdict::Success(bytes) = verdict else { return false };
    let sequence = Results4::parse(bytes, bytes.len()).and_then(|mut reply| reply.next(shapes::SEQUENCE.into()));
    sequence.is_ok_and(|answered| answered.is_some_and(|answered| answered.status == 0))
}

impl Client for Nfs4Client {
    fn connect(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let job = self.jobs.add(Job::unasked(Some(Tag::CONNECT), Goal::Connect(Connecting::ExchangeId)));
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
                events.done(Done { tag: ticket.tag, at: now, result: Err(never_sent(None, cause)) });
            }
        }
    }

    fn over(&self) -> Option<Cause> {
        self.over
    }

    fn framing(&self, head: &[u8]) -> Framing {
        if self.over.is_some() { Framing::Broken } else { self.connection.frame(head) }
    }

    fn message(&mut self, message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        if self.over.is_none() && self.arrived(&message, out, events).is_err() {
            self.give_up(message.last, Cause::Malformed, events);
        }
    }

    fn sent(&mut self, through: u64, at: i64) {
        self.connection.sent(through, at);
    }

    fn broken(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        self.give_up(at, cause, events);
    }

    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        for call in self.connection.take_overdue(before) {
            self.abandon(&call, Cause::TimedOut, events);
            if let Some(slot) = call.what.slot {
                self.session.lose(call.id as u32, slot);
            }
            let id = call.what.job;
            if let Some(job) = self.jobs.take(id) {
                self.end_or_put(id, job, now, events);
            }
        }
        self.fail_waiting(before, now, events);
        // What its slots wait for may never come, and nothing else can be asked: only another session helps.
        if self.session.is_spent() {
            self.give_up(now, Cause::TimedOut, events);
        }
    }

    fn wakes_at(&self) -> i64 {
        let again = self.resting.iter().map(|(at, _)| *at).min().unwrap_or(i64::MAX);
        if self.over.is_some() { i64::MAX } else { again.min(self.renews_at()) }
    }

    fn wake(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        if self.over.is_some() {
            return;
        }
        while let Some(at) = self.resting.iter().position(|(due, _)| *due <= now) {
            let (_, id) = self.resting.swap_remove(at);
            if let Some(rest) = self.jobs.get(id).and_then(|job| job.rest.as_mut()) {
                rest.waits = false;
            }
            self.advance(id, now, out, events);
        }
        if self.renews_at() <= now {
            // Not before this one had its time, even if it finds no slot.
            self.renewed = now;
            let job = self.jobs.add(Job::unasked(None, Goal::Renew));
            self.advance(job, now, out, events);
        }
    }

    /// Closes what is open, and gives session and client id back.
    fn leave(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        if let Some(cause) = self.over {
            return events.done(Done { tag: Tag::LEAVE, at: now, result: Err(never_sent(None, cause)) });
        }
        let files = open_states(&mut self.files);
        let leaving = if files.is_empty() { Leaving::Session } else { Leaving::Files(files) };
        let job = self.jobs.add(Job::unasked(Some(Tag::LEAVE), Goal::Leave(leaving)));
        self.advance(job, now, out, events);
    }

    fn outstanding(&self) -> usize {
        self.connection.outstanding() + self.waiting.len() + self.resting.len()
    }

    fn unmatched_responses(&self) -> u64 {
        self.connection.unmatched_responses()
    }
}
