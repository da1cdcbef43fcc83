//! The state of a client, and its interface to the engine.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};

use plimsoll_model::{Endpoint, Guarantees, Outcome};
use plimsoll_wire::smb2::create;

use super::auth::{Account, Auth};
use super::channels::Channels;
use super::connection::{Connection, Outgoing, RequestContext, SentMessages};
use super::directory_cache::{Changed, DirectoryCache};
use super::durable::Durable;
use super::files::Files;
use super::jobs::{Job, JobId, Jobs, Kind, never_sent};
use super::lease_cache::LeaseCache;
use super::logon::Logon;
use super::negotiated_security::NegotiatedSecurity;
use super::options::SmbOptions;
use super::resumption::Resumption;
use super::waiting::{Again, Waiting};
use crate::calls::{Call, Ending, Identity};
use crate::client::{Arrived, Client, Events, Framing, NewChannel};
use crate::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use crate::outbox::Outbox;

/// A connection with one session on one share.
#[derive(Debug)]
pub struct SmbClient {
    pub(super) options: Arc<SmbOptions>,
    /// Index of the client's account in the options.
    account: u32,
    pub(super) connection: Connection,
    pub(super) guid: [u8; 16],
    pub(super) state: State,
    /// There while logging on.
    pub(super) logon: Option<Box<Logon>>,
    /// There once there was a NEGOTIATE.
    pub(super) negotiated_security: Option<Box<NegotiatedSecurity>>,
    pub(super) jobs: Jobs,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) files: Files,
    /// Cached facts that leases permit.
    pub(super) lease_cache: LeaseCache,
    /// There where the client caches directories.
    pub(super) directory_cache: Option<Box<DirectoryCache>>,
    /// Number of leases requested so far.
    pub(super) leases: u64,
    /// The client has already sent an ECHO to get more credits.
    pub(super) credit_probe_sent: bool,
    /// The message that is being built; its memory is used again.
    pub(super) outgoing: Outgoing,
    /// Opens that asked for an oplock or a lease, and those that got one.
    pub(super) caching: (u64, u64),
    /// There where the session has several connections.
    pub(super) channels: Option<Box<Channels>>,
    /// There once a durable handle was asked for.
    pub(super) durable: Option<Box<Durable>>,
    /// Present while the session has no connection, or takes over a lost session.
    pub(super) resumption: Option<Box<Resumption>>,
}

impl Drop for SmbClient {
    fn drop(&mut self) {
        let (asked, granted) = self.caching;
        let own = Guarantees { caching_asked: Some(asked), caching_granted: Some(granted), ..Guarantees::default() };
        self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner).merge(&own);
        if let Some(durable) = &self.durable {
            self.options.reconnects.lock().unwrap_or_else(PoisonError::into_inner).add(&durable.counts);
        }
        if let Some(cache) = &self.directory_cache {
            self.options.directory_leases.lock().unwrap_or_else(PoisonError::into_inner).add(&cache.counts);
        }
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Before the first request.
    Fresh,
    /// Logging on.
    Connecting,
    /// On the share.
    Ready,
    /// The connection is lost, and not yet replaced.
    Parted,
    /// Logging off.
    Leaving,
    /// Logged off or never logged on, with the reason; all received bytes were well-formed.
    Closed(Cause),
    /// Unusable, with the reason.
    Over(Cause),
}

impl SmbClient {
    /// A client for a new connection. `guid` is its ClientGuid: for the server, two connections with the same GUID are channels of one
    /// client (Samba serves them in one process).
    #[must_use]
    pub fn new(options: Arc<SmbOptions>, identity: Identity, guid: [u8; 16]) -> Self {
        let connection = Connection::new(identity, *options.dialects.start(), options.credits);
        Self {
            options,
            account: 0,
            connection,
            guid,
            state: State::Fresh,
            logon: None,
            negotiated_security: None,
            jobs: Jobs::default(),
            waiting: VecDeque::new(),
            files: Files::default(),
            lease_cache: LeaseCache::default(),
            directory_cache: None,
            leases: 0,
            credit_probe_sent: false,
            outgoing: Outgoing::default(),
            caching: (0, 0),
            channels: None,
            durable: None,
            resumption: None,
        }
    }

    /// A client whose session will have this number of connections; the given one is the first.
    #[must_use]
    pub fn with_channels(mut self, count: u32) -> Self {
        if count > 1 {
            let (identity, dialect) = (self.connection.identity().clone(), *self.options.dialects.start());
            let blank = || Connection::new(identity.clone(), dialect, self.options.credits);
            self.channels = Some(Box::new(Channels::new(count, blank)));
            self.connection.sent_messages = Some(SentMessages::default());
        }
        self
    }

    /// A connection of the session; the first one if there is no other with this number.
    pub(super) fn on(&self, channel: u32) -> &Connection {
        let other = self.channels.as_ref().and_then(|channels| channels.get(channel));
        other.map_or(&self.connection, |other| &other.connection)
    }

    /// The same, to change it.
    pub(super) fn on_mut(&mut self, channel: u32) -> &mut Connection {
        match self.channels.as_mut().and_then(|channels| channels.get_mut(channel)) {
            Some(other) => &mut other.connection,
            None => &mut self.connection,
        }
    }

    /// All connections of the session, the first in front.
    pub(super) fn connections(&self) -> impl Iterator<Item = &Connection> {
        let others = self.channels.iter().flat_map(|channels| &channels.others);
        std::iter::once(&self.connection).chain(others.map(|other| &other.connection))
    }

    /// A client with another account of the options.
    #[must_use]
    pub fn with_account(mut self, account: u32) -> Self {
        self.account = account;
        self
    }

    /// Begins a logon with the client's account.
    pub(super) fn authenticate(&self, now: i64) -> Result<Box<dyn Auth>, Cause> {
        let service = format!("cifs/{}", self.options.server);
        let account = self.account().ok_or(Cause::Unsupported)?;
        account.begin(&service, now).ok_or(Cause::OutOfResources)
    }

    pub(super) fn account(&self) -> Option<&Account> {
        self.options.accounts.get(self.account as usize)
    }

    /// Tells of a request that ended.
    pub(super) fn report(&self, channel: u32, call: &Call<RequestContext>, ending: &Ending, events: &mut dyn Events) {
        let mut transaction = self.on(channel).transaction(call, ending);
        events.transaction(self.jobs.tag(call.what.job), &mut transaction);
    }

    /// Tells of a request that gets no answer any more.
    pub(super) fn report_unanswered(
        &self,
        channel: u32,
        call: &Call<RequestContext>,
        events: &mut dyn Events,
    ) -> Outcome {
        let outcome = if call.sent.is_some() { Outcome::Unanswered } else { Outcome::NeverSent };
        let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
        self.report(channel, call, &ending, events);
        outcome
    }

    /// Whether an open that just ended got an oplock or a lease.
    fn may_cache(&self, kind: &Kind) -> bool {
        let Kind::Open { opened: Some((file, _)), .. } = kind else { return false };
        let Some(open) = self.files.get(*file) else { return false };
        match open.lease {
            Some(lease) => lease.state != 0,
            None => !matches!(open.oplock, create::OPLOCK_NONE | create::OPLOCK_LEASE),
        }
    }

    /// Names in these directories change.
    pub(super) fn note_changes(&mut self, changed: &Changed) {
        if let Some(cache) = &mut self.directory_cache {
            cache.note_changes(changed);
        }
    }

    /// Ends a job that has no further request.
    pub(super) fn finish(&mut self, id: JobId, at: i64, events: &mut dyn Events) {
        let mut removed = self.jobs.remove(id);
        if let Some(job) = &mut removed {
            self.lease_cache.learn(job, &self.files);
            self.note_changes(&job.changed);
            if let (Kind::List { listing, .. }, None, Some(cache)) =
                (&mut job.kind, &job.failure, &mut self.directory_cache)
                && let Some(listing) = listing.take()
            {
                cache.learn(*listing);
            }
            if let Some(durable) = &mut self.durable {
                durable.learn(job, &self.files);
                if self.state == State::Ready && job.tag != Tag::CONNECT {
                    match job.failure {
                        None => durable.end_outage(at),
                        Some(_) => durable.outage.recovered_at = None,
                    }
                }
            }
            self.caching.1 += u64::from(self.may_cache(&job.kind));
            match job.kind {
                Kind::LogOn if job.failure.is_some() => self.end_secondary_session(),
                // Even if the server refused or did not answer, the client returns to the primary session.
                Kind::LogOff => self.end_secondary_session(),
                Kind::LeaveShare => {
                    let session = &mut self.connection.session;
                    session.tree = session.before.take().unwrap_or(session.tree);
                }
                // The logon that it is a part of ends, or does not.
                Kind::Reopen { .. } => return,
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
        self.durable.iter_mut().for_each(|durable| durable.end_outage(at));
        (self.logon, self.resumption) = (None, None);
        for Waiting { job, again, .. } in std::mem::take(&mut self.waiting) {
            if let (Some(job), Some(Again { times: 1.., .. })) = (self.jobs.get(job), again) {
                job.fail(Failure::without_answer(cause));
            }
        }
        self.files.clear();
        self.lease_cache.clear();
        self.directory_cache.iter_mut().for_each(|cache| cache.clear());
        for channel in 0..self.connections().count() as u32 {
            for call in self.on_mut(channel).take_all() {
                self.abandon(channel, &call, cause, events);
            }
        }
        self.channels.iter_mut().for_each(|channels| channels.delayed.clear());
        for mut job in self.jobs.drain().into_iter().filter(|job| !matches!(job.kind, Kind::Reopen { .. })) {
            job.fail(never_sent(None, cause));
            events.done(Done { tag: job.tag, at, result: job.result() });
        }
    }

    /// A call that gets no answer any more.
    pub(super) fn abandon(&mut self, channel: u32, call: &Call<RequestContext>, cause: Cause, events: &mut dyn Events) {
        let outcome = self.report_unanswered(channel, call, events);
        if let Some(job) = self.jobs.get(call.what.job) {
            job.pending = job.pending.saturating_sub(1);
            job.fail(Failure { procedure: Some(call.procedure), status: None, outcome, cause });
        }
    }

    /// Fails an operation for which no request was sent.
    pub(super) fn refuse(tag: Tag, at: i64, cause: Cause, events: &mut dyn Events) {
        events.done(Done { tag, at, result: Err(never_sent(None, cause)) });
    }

    /// Fails messages that have waited for credits since before `before`. They were never sent.
    fn overdue_waiting(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        let overdue = self.waiting.partition_point(|waiting| waiting.since < before);
        let mut late: Vec<Waiting> = self.waiting.drain(..overdue).collect();
        late.extend(self.channels.iter_mut().flat_map(|channels| channels.overdue(before)));
        for Waiting { job: id, again, .. } in late {
            let Some(job) = self.jobs.get(id) else { continue };
            match again {
                None => job.fail(never_sent(None, Cause::TimedOut)),
                Some(again) => {
                    job.pending = job.pending.saturating_sub(again.left);
                    job.fail(Failure::without_answer(Cause::TimedOut));
                }
            }
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
            State::Fresh | State::Connecting | State::Parted | State::Leaving => {
                Self::refuse(ticket.tag, now, Cause::Ended, events);
            }
        }
    }

    fn over(&self) -> Option<Cause> {
        if let State::Over(cause) = self.state { Some(cause) } else { None }
    }

    fn framing(&self, head: &[u8]) -> Framing {
        match self.state {
            State::Over(_) => Framing::Broken,
            _ => self.connection.frame(head),
        }
    }

    fn framing_on(&self, channel: u32, head: &[u8]) -> Framing {
        match self.state {
            State::Over(_) => Framing::Broken,
            _ => self.on(channel).frame(head),
        }
    }

    fn message(&mut self, message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        self.arrived(&message, out, events);
    }

    fn sent(&mut self, through: u64, at: i64) {
        self.connection.sent(through, at);
    }

    fn sent_on(&mut self, channel: u32, through: u64, at: i64) {
        self.on_mut(channel).sent(through, at);
    }

    fn wakes_at(&self) -> i64 {
        self.channels.as_ref().map_or(i64::MAX, |channels| channels.wakes_at())
    }

    fn wake(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        self.send_delayed(now, out, events);
    }

    fn channel_address(&self, channel: u32, failed: u32) -> Option<SocketAddr> {
        let channels = self.channels.as_ref().filter(|_| failed == 0)?;
        channels.address(channel, self.connection.identity().server.port)
    }

    fn channel_opened(&mut self, new: &NewChannel, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        self.bind(new, now, out, events);
    }

    fn channel_lost(&mut self, channel: u32, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        self.lose_channel(channel, at, out, events);
    }

    fn replace_first_channel(&mut self, out: &mut Outbox) -> Option<u32> {
        self.replace_first(out)
    }

    fn sent_again(&self) -> u64 {
        self.channels.as_ref().map_or(0, |channels| channels.sent_again)
    }

    fn broken(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        self.give_up(at, cause, events);
    }

    fn suspend(&mut self, at: i64, events: &mut dyn Events) -> bool {
        self.part(at, events)
    }

    fn resume(&mut self, local: Endpoint, connection: u32, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        self.rejoin(local, connection, now, out, events);
    }

    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        for channel in 0..self.connections().count() as u32 {
            let late = self.on_mut(channel).take_overdue(before);
            self.durable.iter_mut().for_each(|durable| durable.outage.missed(&late));
            for call in late {
                let id = call.what.job;
                self.abandon(channel, &call, Cause::TimedOut, events);
                self.settle_without_sending(id, now, events);
            }
        }
        self.overdue_waiting(before, now, events);
    }

    fn leave(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let until = self.last_outage_ends(now);
        self.durable.iter_mut().for_each(|durable| durable.end_outage(until));
        let ticket = Ticket { tag: Tag::LEAVE, intended: None, path: plimsoll_model::Symbol::NONE };
        let mut job = Job::new(&ticket, Kind::Leave);
        if self.state == State::Ready {
            // A session beside the primary one ends with the connection.
            self.end_secondary_session();
            self.state = State::Leaving;
            let job = self.jobs.add(job);
            self.disconnect(job, now, out);
        } else {
            events.done(Done { tag: Tag::LEAVE, at: now, result: job.result() });
        }
    }

    fn outstanding(&self) -> usize {
        let delayed = self.channels.as_ref().map_or(0, |channels| channels.delayed.len());
        self.connections().map(Connection::outstanding).sum::<usize>() + self.waiting.len() + delayed
    }

    fn unmatched_responses(&self) -> u64 {
        let lost = self.channels.as_ref().map_or(0, |channels| channels.unmatched_responses)
            + self.durable.as_ref().map_or(0, |durable| durable.unmatched_responses);
        lost + self.connections().map(Connection::unmatched_responses).sum::<u64>()
    }

    fn requests_avoided(&self) -> u64 {
        self.lease_cache.requests_avoided() + self.directory_cache.as_ref().map_or(0, |cache| cache.avoided)
    }
}
