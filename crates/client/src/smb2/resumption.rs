//! Takes over open files with durable handles and outstanding requests of a lost session.
//!
//! ```text
//! suspend ── resume ── NEGOTIATE, SESSION_SETUP (PreviousSessionId), TREE_CONNECT ── CREATE (DH2C) per open file ── what was outstanding
//! ```
//!
//! Spec: MS-SMB2 3.2.4.2.3, 3.2.4.4, 3.2.5.5, 3.2.7.1

use std::collections::{HashMap, VecDeque};

use plimsoll_model::{Endpoint, Outcome, Symbol};
use plimsoll_wire::smb2::{FileId, Reply, status};

use super::answers::Found;
use super::channels::{Channel, ChannelState};
use super::client::{SmbClient, State};
use super::connection::{Connection, Protection, RequestContext, SentMessage, SentMessages};
use super::durable::closed;
use super::jobs::{ALL_RIGHTS, Job, JobId, Kind};
use super::request_kind::RequestKind;
use super::waiting::Waiting;
use crate::calls::{Call, Identity};
use crate::client::{Client, Events};
use crate::operation::{Cause, Done, Failure, Tag, Ticket};
use crate::outbox::Outbox;

/// State of a session that takes over another one.
#[derive(Debug)]
pub(super) struct Resumption {
    /// The session that was lost.
    pub(super) previous: u64,
    /// The operation that ends when session, share and files are restored.
    connect: JobId,
    /// Files that were not asked for yet.
    left: VecDeque<FileId>,
    /// Files that were asked for, and not answered.
    pending: u32,
    /// The new handles of files.
    pub(super) moved: HashMap<FileId, FileId>,
    /// The first file that the server did not reconnect.
    failure: Option<Failure>,
}

impl Resumption {
    fn of(previous: u64) -> Self {
        let (left, moved) = (VecDeque::new(), HashMap::new());
        Self { previous, connect: JobId::NONE, left, pending: 0, moved, failure: None }
    }
}

impl SmbClient {
    /// Handles the loss of the connection. Returns whether another session can take over: all open files must be durable, and all
    /// outstanding requests repeatable.
    pub(super) fn part(&mut self, at: i64, events: &mut dyn Events) -> bool {
        if self.resumption.is_some() {
            return self.part_again(events);
        }
        if self.state != State::Ready || self.connection.in_secondary_context() || !self.can_resume() {
            return false;
        }
        let previous = self.connection.session.id;
        for channel in 0..self.connections().count() as u32 {
            self.keep_outstanding(channel, at, events);
        }
        // Repeated opens get their rights anew.
        self.jobs.iter_mut().for_each(|job| job.unbroken = ALL_RIGHTS);
        self.waiting.extend(self.delayed.drain(..).map(|(_, waiting)| waiting));
        // Longest wait first.
        self.waiting.make_contiguous().sort_by_key(|waiting| waiting.since);
        self.count_loss();
        self.forget_channels(at, events);
        (self.logon, self.state) = (None, State::Parted);
        self.resumption = Some(Box::new(Resumption::of(previous)));
        if let Some(durable) = &mut self.durable {
            durable.outage.begin(at);
        }
        true
    }

    fn can_resume(&self) -> bool {
        let Some(durable) = &self.durable else { return false };
        let mut open = self.files.keys().filter_map(|key| self.files.get(key));
        let is_kept = |connection: &Connection, call: &Call<RequestContext>| {
            // A connection that is being bound to the session has no requests of it.
            connection.is_binding
                || connection.sent_messages.as_ref().is_some_and(|messages| messages.of(call.id).is_some())
        };
        let mut connections = self.connections();
        open.all(|open| durable.is_durable(open))
            && connections.all(|connection| connection.waiting().all(|call| is_kept(connection, call)))
    }

    /// Handles the loss of the connection during a resumption.
    fn part_again(&mut self, events: &mut dyn Events) -> bool {
        match self.state {
            State::Parted => true,
            State::Connecting => {
                self.interrupt(events);
                true
            }
            _ => false,
        }
    }

    /// The next connection starts the resumption again.
    fn interrupt(&mut self, events: &mut dyn Events) {
        for call in self.connection.take_all() {
            if call.sent.is_some() {
                self.report_unanswered(0, &call, events);
            }
            self.jobs.remove(call.context.job);
        }
        let previous = self.resumption.as_ref().map_or(0, |resumption| resumption.previous);
        if let Some(resumption) = self.resumption.replace(Box::new(Resumption::of(previous))) {
            self.jobs.remove(resumption.connect);
        }
        (self.logon, self.state) = (None, State::Parted);
    }

    /// Keeps the outstanding requests of a connection for the next one.
    fn keep_outstanding(&mut self, channel: u32, at: i64, events: &mut dyn Events) {
        let connection = self.on_mut(channel);
        let (calls, messages) = (connection.take_all(), connection.sent_messages.as_mut().map(SentMessages::take));
        for call in calls.iter().filter(|call| call.sent.is_some()) {
            self.report_unanswered(channel, call, events);
        }
        self.durable.iter_mut().for_each(|durable| durable.outage.missed(&calls));
        for (first, message) in messages.into_iter().flatten().rev() {
            // At least one request of a stored message is outstanding.
            let call = calls.iter().find(|call| call.id >= first);
            let since = if call.is_some_and(|call| call.long_lived) { at } else { message.since };
            self.keep(SentMessage { since, ..message }, call.is_some_and(|call| call.sent.is_some()));
        }
    }

    fn keep(&mut self, mut message: SentMessage, was_sent: bool) {
        let is = |kind| message.outgoing.members.iter().all(|member| member.kind == kind);
        // Reconnecting a file returns its current rights.
        let is_over = is(RequestKind::Echo) || is(RequestKind::BreakAcknowledgement);
        if self.jobs.find(message.job).is_none() && (message.job != JobId::NONE || is_over) {
            return;
        }
        if was_sent {
            message.again += 1;
            if let Some(durable) = &mut self.durable {
                durable.counts.sent_again += u64::from(message.left);
            }
            self.open_anew(&mut message);
        }
        self.waiting.push_front(Waiting::again(message));
    }

    /// Drops the other connections of the session.
    fn forget_channels(&mut self, at: i64, events: &mut dyn Events) {
        let (dialect, credits) = (*self.options.dialects.start(), self.options.credits);
        let identity = self.connection.identity().clone();
        let Some(channels) = &mut self.channels else { return };
        // Files keep their ChannelSequence in the next session.
        (channels.keys, channels.bindings) = (None, 0);
        // The next connection goes to the target's address.
        channels.first_place = 0;
        let mut binding = Vec::new();
        for (number, channel) in (1..).zip(&mut channels.others) {
            channels.unmatched_responses += channel.connection.unmatched_responses();
            binding.extend((channel.state == ChannelState::Binding).then_some(number));
            let connection = Connection::new(identity.clone(), dialect, credits);
            *channel = Channel { connection, state: ChannelState::Absent, place: number, logon: None, ..*channel };
        }
        for number in binding {
            let tag = Tag::channel(number);
            if let Some(job) = self.jobs.first(|job| job.tag == tag) {
                self.jobs.remove(job);
            }
            let result = Err(Failure::without_answer(Cause::ConnectionClosed));
            events.done(Done { tag, at, result });
        }
    }

    /// Continues on another connection.
    pub(super) fn rejoin(
        &mut self,
        local: Endpoint,
        connection: u32,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        if let Some(durable) = &mut self.durable {
            durable.unmatched_responses += self.connection.unmatched_responses();
        }
        let identity = Identity { client: local, connection, ..self.connection.identity().clone() };
        self.connection = Connection::new(identity, *self.options.dialects.start(), self.options.credits);
        (self.state, self.credit_probe_sent) = (State::Connecting, false);
        let ticket = Ticket { tag: Tag::CONNECT, intended: None, path: Symbol::NONE };
        let job = self.jobs.add(Job::new(&ticket, Kind::Connect));
        if let Some(resumption) = &mut self.resumption {
            resumption.connect = job;
        }
        self.negotiate(job, now, out, events);
    }

    /// The share is connected: files, if any, are opened again.
    pub(super) fn before_operations(&mut self, job: JobId, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        let Some(mut resumption) = self.resumption.take() else { return self.ready(job, at, events) };
        resumption.left = self.files.keys().filter_map(|key| self.files.get(key)).map(|open| open.id).collect();
        // A file must be open to be closed.
        resumption.left.extend(self.waiting.iter().filter_map(|waiting| closed(waiting.outgoing.as_deref()?)));
        self.resumption = Some(resumption);
        self.reopen_more(at, out, events);
    }

    fn reopen_more(&mut self, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        while self.connection.credits.available() > 0
            && let Some(file) = self.resumption.as_mut().and_then(|resumption| resumption.left.pop_front())
        {
            let Some(reopening) = self.durable.as_ref().and_then(|durable| durable.get(file)) else { continue };
            let lease = self.files.iter_mut().find(|open| open.id == file).and_then(|open| open.lease);
            if !reopening.build(file, lease.or(reopening.lease), &mut self.outgoing) {
                continue;
            }
            let ticket = Ticket { tag: Tag::CONNECT, intended: None, path: Symbol::NONE };
            let job = self.jobs.add(Job::new(&ticket, Kind::Reopen { file }).about(reopening.file));
            self.resumption.iter_mut().for_each(|resumption| resumption.pending += 1);
            self.launch(job, Protection::Usual, at, out);
        }
        if self.resumption.as_ref().is_some_and(|resumption| resumption.left.is_empty() && resumption.pending == 0) {
            self.all_reopened(at, out, events);
        }
    }

    /// The server gave a file back, or did not.
    pub(super) fn reopened(
        &mut self,
        call: &Call<RequestContext>,
        reply: &Reply<'_>,
        found: &Found<'_>,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        let Some(Kind::Reopen { file }) = self.jobs.remove(call.context.job).map(|job| job.kind) else { return };
        let not_ready = self.is_not_ready(reply.status());
        let Some(resumption) = &mut self.resumption else { return };
        resumption.pending -= 1;
        let mut held = self.files.iter_mut().find(|open| open.id == file);
        match (found, &mut self.durable) {
            (Found::Opened(opened), Some(durable)) => {
                resumption.moved.insert(file, opened.file);
                if let Some(open) = &mut held {
                    let granted = opened.granted.lease.map(|granted| granted.lease);
                    open.lease = granted.filter(|granted| open.lease.is_some_and(|lease| lease.key == granted.key));
                    open.oplock = opened.oplock;
                }
                durable.counts.opens += u64::from(held.is_some());
            }
            // The server may already have executed the CLOSE.
            (_, Some(durable)) if held.is_none() && !not_ready => durable.remove(file),
            (_, durable) => {
                if let Some(durable) = durable.as_mut().filter(|_| !not_ready) {
                    durable.counts.refuse(reply.status());
                }
                let (procedure, status) = (Some(call.procedure), Some(reply.status()));
                let failure =
                    Failure { procedure, status, outcome: Outcome::Refused, cause: Cause::ReconnectionRefused };
                resumption.failure.get_or_insert(failure);
            }
        }
        self.reopen_more(at, out, events);
    }

    /// End of an outage that lasts when the client leaves: if nothing was missed since the session was recovered, the recovery ended it.
    pub(super) fn last_outage_ends(&self, now: i64) -> i64 {
        let is_idle = self.state == State::Ready && self.outstanding() == 0;
        let recovered_at = self.durable.as_ref().and_then(|durable| durable.outage.recovered_at);
        recovered_at.filter(|_| is_idle).unwrap_or(now)
    }

    /// Handles the end of reconnecting: the server has answered for all files.
    fn all_reopened(&mut self, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        let Some(resumption) = self.resumption.take() else { return };
        let Resumption { connect, moved, failure, previous, .. } = *resumption;
        if let Some(failure) = failure {
            self.resumption = Some(Box::new(Resumption::of(previous)));
            self.refused(failure.status, failure.cause);
            if let Some(job) = self.jobs.get(connect) {
                job.fail(failure);
            }
            return self.finish(connect, at, events);
        }
        if let Some(durable) = &mut self.durable {
            durable.has_resumed = true;
            // Not before: if the resumption starts again, it reconnects each file under the handle that the client still uses.
            moved.iter().for_each(|(from, to)| durable.renamed(*from, *to));
            durable.counts.sessions += 1;
            durable.outage.recovered_at = Some(at);
        }
        self.connection.sent_messages = Some(SentMessages::default());
        self.connection.session.sequence = self.channels.as_ref().map_or(0, |channels| channels.sequence);
        self.rename_files(&moved, at, events);
        self.ready(connect, at, events);
        self.pump(at, out, events);
    }

    /// Handles a refusal. During a resumption, a server that is not ready is asked again on another connection; one that refuses has
    /// forgotten the files.
    pub(super) fn refused(&mut self, status: Option<u32>, cause: Cause) {
        let again = self.resumption.is_some() && status.is_some_and(|status| self.is_not_ready(status));
        (self.logon, self.state) = (None, if again { State::Parted } else { State::Closed(cause) });
    }

    /// Whether the server may accept the logon, or reconnect the file, later.
    fn is_not_ready(&self, status: u32) -> bool {
        match status {
            status::STATUS_FILE_NOT_AVAILABLE | status::STATUS_SERVER_UNAVAILABLE => true,
            // A server that restarts may accept connections before it has its shares. Only persistent handles survive a restart.
            status::STATUS_BAD_NETWORK_NAME | status::STATUS_NETWORK_NAME_DELETED => {
                self.durable.as_ref().is_some_and(|durable| durable.may_persist())
            }
            _ => false,
        }
    }
}
