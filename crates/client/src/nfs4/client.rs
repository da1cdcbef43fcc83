//! The state of a client, and its interface to the engine.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use plimsoll_model::{Endpoint, Guarantees, Outcome};
use plimsoll_wire::nfs::v4::{FileHandle, Reply as Results4};
use plimsoll_wire::rpc::Verdict;
use plimsoll_wire::xdr::Malformed;

use super::delegations::Delegations;
use super::file::{Files, open_states};
use super::job::{Connecting, Goal, Job, Jobs, Leaving};
use super::options::{Agreed, Nfs4Options, PROGRAM, VERSION};
use super::owners::Owners;
use super::parted::Parted;
use super::recoveries::Recoveries;
use super::recovery::{Recovery, Stage};
use super::request_context::RequestContext;
use super::session::{Part, Session};
use super::shapes;
use super::trunk::{Last, Trunk};
use crate::calls::{Call, Ending, Identity};
use crate::client::{Arrived, Client, Events, Framing};
use crate::nfs::{Handles, JobId, LastIdentity, never_sent};
use crate::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use crate::outbox::Outbox;
use crate::rpc::{self, Arrival, Connection, Opened};

/// A connection with a session.
#[derive(Debug)]
pub struct Nfs4Client {
    pub(super) options: Arc<Nfs4Options>,
    pub(super) connection: Connection<RequestContext>,
    /// The reason why the connection is unusable, if it is.
    over: Option<Cause>,
    /// The reason why the connection will become unusable after the current message.
    pub(super) doomed: Option<Cause>,
    /// It has a session and an export, and must return them.
    pub(super) connected: bool,
    pub(super) leaving: bool,
    /// Time at which the connection was lost, ns.
    pub(super) suspended: Option<i64>,
    /// Start of the last outage: from then on operations waited for a session, for its state or for the end of a grace period, ns.
    pub(super) lost_at: Option<i64>,
    /// Its end, unless the server refuses another operation in the same grace period, ns.
    pub(super) served_at: Option<i64>,
    /// Time at which session and state were recovered, if no operation has failed since then, ns.
    pub(super) recovered_at: Option<i64>,
    /// Time of the last response, ns.
    pub(super) answered_at: i64,
    /// Time at which the oldest request was sent that has timed out since then, ns.
    pub(super) timed_out: Option<i64>,
    /// Time of a timeout that may have made room for waiting requests, which have not been sent since then, ns.
    made_room: Option<i64>,
    /// Late responses to abandoned requests cannot arrive any more, because they were sent on another connection.
    pub(super) rejoined: bool,
    /// Requests that were outstanding when the connection was lost, and were not sent again yet.
    pub(super) parted: VecDeque<Parted>,
    /// Of them those that will be sent again with their xids, in 4.0.
    pub(super) to_retransmit: Vec<Parted>,
    /// The job that recovers a lost session, while it runs.
    pub(super) recovery: Option<JobId>,
    /// First stage of a recovery that has not begun, or was interrupted by the loss of a connection.
    pub(super) broken: Option<Stage>,
    pub(super) interrupted: Option<Box<Recovery>>,
    /// The session whose state was reclaimed because the server asked for it.
    pub(super) reclaimed: Option<u32>,
    /// Number of sessions lost since the last successful operation.
    pub(super) losses: u32,
    pub(super) recoveries: Recoveries,
    /// The client belongs to the load, so its recoveries are reported.
    pub(super) counts: bool,
    /// The session that it shares with other connections.
    pub(super) trunk: Option<Arc<Trunk>>,
    pub(super) part: Part,
    /// Number of this connection among them.
    pub(super) member: u32,
    /// Number of its session among the sessions of the client's connections.
    pub(super) trunk_session: u32,
    /// The server did not know the client ID when it connected.
    pub(super) is_new: bool,
    /// Number of times that the server had lost the client's state when the session was created.
    pub(super) forgotten: u32,
    /// This connection creates the common session.
    pub(super) makes: bool,
    /// It has joined the common session.
    pub(super) joined: bool,
    /// What it must return when it leaves.
    pub(super) last: Last,
    pub(super) jobs: Jobs,
    pub(super) handles: Handles<FileHandle>,
    pub(super) last_identity: LastIdentity,
    pub(super) files: Files,
    /// Delegations, if it asks for them.
    pub(super) delegations: Option<Box<Delegations>>,
    pub(super) owners: Owners,
    /// Empty strings for reuse as paths.
    pub(super) spare: Vec<String>,
    pub(super) agreed: Agreed,
    /// Client owner (the same after a reconnection) and verifier.
    pub(super) owner: Arc<[u8]>,
    pub(super) verifier: [u8; 8],
    /// Client ID, and the sequence ID of its next CREATE_SESSION.
    pub(super) client_id: (u64, u32),
    /// The verifier that confirms the client ID, in 4.0.
    pub(super) confirmation: [u8; 8],
    /// The lease has ended, so the server has dropped all state, in 4.0.
    pub(super) expired: bool,
    pub(super) session: Session,
    /// Jobs that wait for a slot, and the time since which they wait, ns.
    pub(super) waiting: VecDeque<(JobId, i64)>,
    /// Jobs that repeat a request, and when, ns.
    pub(super) resting: Vec<(i64, JobId)>,
    /// Time of the last renewal of the lease, ns.
    pub(super) renewed: i64,
    /// What the server guaranteed this client.
    pub(super) guarantees: Guarantees,
}

impl Drop for Nfs4Client {
    fn drop(&mut self) {
        self.part_ways();
        self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner).merge(&self.guarantees);
        if self.counts {
            self.options.recoveries.lock().unwrap_or_else(PoisonError::into_inner).add(&self.recoveries);
        }
        if let Some(delegations) = &self.delegations {
            let counts = delegations.counts_at_end();
            self.options.delegation_counts.lock().unwrap_or_else(PoisonError::into_inner).add(&counts);
        }
    }
}

impl Nfs4Client {
    /// A client for a new connection. `name` distinguishes it from other clients of this run. A client that reconnects has the same name,
    /// so the server drops the opens of the lost connection. Without a name the client is always a new one.
    #[must_use]
    pub fn new(options: Arc<Nfs4Options>, identity: Identity, name: Option<&str>) -> Self {
        let number = options.made.fetch_add(1, Relaxed);
        let owner = match name {
            Some(name) => format!("plimsoll {:016x} {name}", options.run),
            None => format!("plimsoll {:016x} control {number}", options.run),
        };
        Self {
            connection: Connection::new(identity, (PROGRAM, VERSION), options.security.as_ref()),
            over: None,
            doomed: None,
            connected: false,
            leaving: false,
            suspended: None,
            lost_at: None,
            served_at: None,
            recovered_at: None,
            answered_at: i64::MIN,
            timed_out: None,
            made_room: None,
            rejoined: false,
            parted: VecDeque::new(),
            to_retransmit: Vec::new(),
            recovery: None,
            broken: None,
            interrupted: None,
            reclaimed: None,
            losses: 0,
            recoveries: Recoveries::default(),
            counts: name.is_some(),
            trunk: None,
            part: Part::default(),
            member: 0,
            trunk_session: 0,
            is_new: false,
            forgotten: 0,
            makes: false,
            joined: false,
            last: Last { of_session: true, of_client: true },
            jobs: Jobs::default(),
            handles: Handles::new(FileHandle::EMPTY),
            last_identity: LastIdentity::default(),
            files: Files::default(),
            delegations: (options.delegations && options.minor_version > 0 && name.is_some()).then(Box::default),
            owners: Owners::new(0, 1),
            spare: Vec::new(),
            agreed: options.agreed.get().copied().unwrap_or(Agreed::UNKNOWN),
            owner: owner.into_bytes().into(),
            verifier: number.to_be_bytes(),
            client_id: (0, 0),
            confirmation: [0; 8],
            expired: false,
            session: Session::default(),
            waiting: VecDeque::new(),
            resting: Vec::new(),
            renewed: i64::MAX,
            guarantees: Guarantees::default(),
            options,
        }
    }

    /// Connection number `nth` of the connections that share the session of `trunk`.
    #[must_use]
    pub fn trunked(options: Arc<Nfs4Options>, identity: Identity, trunk: Arc<Trunk>, nth: u32) -> Self {
        let step = trunk.connections();
        let mut client = Self::new(options, identity, Some(""));
        (client.owner, client.verifier) = trunk.name();
        (client.part, client.owners) = (Part { first: nth % step, step }, Owners::new(nth % step, step));
        client.member = nth % step;
        // The server may recall over any connection of the session, and only one of them knows the delegation.
        client.delegations = None;
        client.trunk = Some(trunk);
        client
    }

    /// Sends jobs that wait for slots, as long as slots are free.
    fn pump(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        self.send_parted(now, out);
        // A job whose owner is busy waits again, behind the others.
        for _ in 0..self.waiting.len() {
            let next = match self.recovery {
                // Nothing else can be sent, also if it came to the front later.
                Some(recovery) => self.waiting.iter().position(|(id, _)| *id == recovery),
                None => Some(0),
            };
            let Some((id, since)) = next.and_then(|at| self.waiting.remove(at)) else { break };
            if !self.has_room() {
                self.waiting.push_front((id, since));
                break;
            }
            if let Some(job) = self.jobs.get(id) {
                job.waits = false;
            }
            self.advance(id, now, out, events);
        }
    }

    /// Abandons a call that will not get a response.
    fn abandon(&mut self, call: &Call<RequestContext>, cause: Cause, events: &mut dyn Events) {
        let outcome = if call.sent.is_some() { Outcome::Unanswered } else { Outcome::NeverSent };
        let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
        let operation = self.jobs.get(call.what.job).and_then(|job| job.tag);
        self.report(call, operation, None, &ending, events);
        call.what.sequenced.into_iter().for_each(|sequenced| self.owners.lose(sequenced.owner()));
        if let Some(job) = self.jobs.get(call.what.job) {
            job.pending = job.pending.saturating_sub(1);
            job.fail(Failure { procedure: Some(shapes::about(call.what.shape)), status: None, outcome, cause });
        }
    }

    /// Ends the connection: all remaining operations fail.
    fn give_up(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        if self.over.is_some() {
            return;
        }
        self.over = Some(cause);
        self.count_outage(at);
        self.part_ways();
        for call in self.connection.take_all() {
            self.abandon(&call, cause, events);
        }
        self.fail_all_parted(cause);
        for mut job in self.jobs.drain() {
            job.fail(never_sent(None, cause));
            if let Some(tag) = job.tag {
                events.done(Done { tag, at, result: job.result() });
            }
        }
        self.waiting.clear();
        self.resting.clear();
        self.recovery = None;
    }

    /// The step of leaving that closes open files, or the next one.
    pub(super) fn leaving_files(&mut self) -> Leaving {
        let files = open_states(&mut self.files);
        if files.is_empty() { Leaving::Session } else { Leaving::Files(files) }
    }

    /// Takes a record.
    ///
    /// # Errors
    /// The cause for which the connection is of no use any more.
    fn arrived(&mut self, record: &Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) -> Result<(), Cause> {
        thread_local! {
            /// One buffer for all clients of a thread, because records of several fragments are rare.
            static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let mut scratch = SCRATCH.take();
        let kept = rpc::unmarked(record.head, &mut scratch);
        let length = usize::try_from(record.length).unwrap_or(usize::MAX).saturating_sub(rpc::marks(record.head));
        let arrival = Arrival { kept, length, at: (record.first, record.last) };
        let at = arrival.at.1;
        let taken = if self.called_back(kept, at, out) { Ok(()) } else { self.reply(&arrival, out, events) };
        if taken.is_ok() && self.over.is_none() {
            self.return_due(at, out, events);
        }
        SCRATCH.set(scratch);
        taken
    }

    fn reply(&mut self, arrival: &Arrival<'_>, out: &mut Outbox, events: &mut dyn Events) -> Result<(), Cause> {
        let (xid, verdict) = Verdict::parse(arrival.kept).map_err(|Malformed| Cause::Malformed)?;
        let at = arrival.at.1;
        (self.answered_at, self.timed_out) = (at, None);
        match self.connection.ended_by(xid) {
            Some(call) => {
                let opened = match self.connection.open(call.id, arrival.kept, verdict) {
                    Ok(opened) => opened,
                    Err(cause) => {
                        self.rejected(&call, cause, arrival, events);
                        return Err(cause);
                    }
                };
                match opened {
                    Opened::Expired(_) => self.refused_context(&call, arrival, events),
                    opened => {
                        let answered = self.answered(&call, opened.verdict(), arrival, events);
                        answered.map_err(|Malformed| Cause::Malformed)?;
                    }
                }
                if let Some(job) = self.jobs.get(call.what.job) {
                    job.due_at(at);
                }
                if let Some(stage) = self.broken.take().filter(|_| self.doomed.is_none()) {
                    self.begin_outage(at);
                    self.recover(
                        Box::new(Recovery::new(stage, at, self.session.number, &self.files)),
                        None,
                        at,
                        out,
                        events,
                    );
                }
                self.advance(call.what.job, at, out, events);
            }
            None => {
                let counted = self.connection.open_late(xid, arrival.kept, verdict);
                match counted.map(|opened| was_counted(opened.verdict())) {
                    Some(counted) => self.session.found(xid, counted),
                    None => self.ask_about(xid, at),
                }
            }
        }
        self.pump(at, out, events);
        self.give_up_if_doomed(at, events);
        Ok(())
    }

    fn give_up_if_doomed(&mut self, at: i64, events: &mut dyn Events) {
        if let Some(cause) = self.doomed.take() {
            self.give_up(at, cause, events);
        }
    }

    /// Time at which the lease must be renewed if no other request renews it: after two thirds of the lease time.
    fn renews_at(&self) -> i64 {
        let lease = i64::from(self.agreed.lease_seconds).saturating_mul(1_000_000_000);
        self.renewed.saturating_add(lease / 3 * 2)
    }

    /// Fails operations that have waited since before `before` for a slot or for a repeat.
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

    pub(super) fn end_or_put(&mut self, id: JobId, job: Box<Job>, now: i64, events: &mut dyn Events) {
        match job.failure.is_some() && job.pending == 0 {
            true => self.end(id, job, now, events),
            false => self.jobs.put(id, job),
        }
    }
}

/// Whether the server has used the sequence ID of the request: SEQUENCE succeeded.
fn was_counted(verdict: Verdict<'_>) -> bool {
    let Verdict::Success(bytes) = verdict else { return false };
    let sequence = Results4::parse(bytes, bytes.len()).and_then(|mut reply| reply.next(shapes::SEQUENCE.into()));
    sequence.is_ok_and(|answered| answered.is_some_and(|answered| answered.status == 0))
}

impl Client for Nfs4Client {
    fn connect(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let job = self.jobs.add(Job::unasked(Some(Tag::CONNECT), Goal::Connect(Connecting::Join)));
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
        if self.over.is_none()
            && let Err(cause) = self.arrived(&message, out, events)
        {
            self.give_up(message.last, cause, events);
        }
    }

    fn sent(&mut self, through: u64, at: i64) {
        self.connection.sent(through, at);
    }

    fn broken(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        self.give_up(at, cause, events);
    }

    fn suspend(&mut self, at: i64, events: &mut dyn Events) -> bool {
        self.over.is_none() && self.part(at, events)
    }

    fn resume(&mut self, local: Endpoint, connection: u32, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        match self.over {
            None => self.rejoin(local, connection, now, out, events),
            Some(cause) => events.done(Done { tag: Tag::CONNECT, at: now, result: Err(never_sent(None, cause)) }),
        }
    }

    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        for call in self.connection.take_overdue(before) {
            self.timed_out = self.timed_out.or(call.sent.map(|(first, _)| first));
            self.abandon(&call, Cause::TimedOut, events);
            if let Some(slot) = call.what.slot.filter(|_| call.what.session == self.session.number) {
                self.session.lose(call.id as u32, slot);
            }
            let id = call.what.job;
            if let Some(job) = self.jobs.take(id) {
                self.end_or_put(id, job, now, events);
            }
        }
        self.fail_parted(before, now, events);
        self.fail_waiting(before, now, events);
        self.give_up_if_doomed(now, events);
        if self.connection.room() > 0 && !(self.parted.is_empty() && self.waiting.is_empty()) {
            self.made_room = Some(now);
        }
        // The responses that would free the slots may never arrive, so only a new session helps.
        if self.suspended.is_none() && self.session.is_spent() {
            self.give_up(now, Cause::TimedOut, events);
        }
    }

    fn wakes_at(&self) -> i64 {
        let again = self.resting.iter().map(|(at, _)| *at).min().unwrap_or(i64::MAX);
        let again = again.min(self.made_room.unwrap_or(i64::MAX));
        if self.over.is_some() || self.suspended.is_some() { i64::MAX } else { again.min(self.renews_at()) }
    }

    fn wake(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        if self.over.is_some() || self.suspended.is_some() {
            return;
        }
        self.made_room = None;
        while let Some(at) = self.resting.iter().position(|(due, _)| *due <= now) {
            let (_, id) = self.resting.swap_remove(at);
            if let Some(rest) = self.jobs.get(id).and_then(|job| job.rest.as_mut()) {
                rest.waits = false;
            }
            self.advance(id, now, out, events);
        }
        // A recovery that waited for another connection may be complete.
        self.pump(now, out, events);
        if self.renews_at() <= now {
            // The next renewal is due after another interval, even if this one finds no slot.
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
        let recovered_at = self.recovered_at.filter(|_| self.outstanding() == 0);
        self.leaving = true;
        // If nothing was missed since the recovery, it ended the outage.
        self.end_outage(recovered_at.unwrap_or(now));
        self.last = self.leaves();
        let delegations = self.delegations.as_mut().map(|delegations| delegations.take_all()).unwrap_or_default();
        let leaving = if delegations.is_empty() { self.leaving_files() } else { Leaving::Delegations(delegations) };
        let job = self.jobs.add(Job::unasked(Some(Tag::LEAVE), Goal::Leave(leaving)));
        self.advance(job, now, out, events);
    }

    fn outstanding(&self) -> usize {
        self.connection.outstanding() + self.waiting.len() + self.resting.len() + self.parted.len()
    }

    fn unmatched_responses(&self) -> u64 {
        self.connection.unmatched_responses()
    }
}
