//! Continues after the loss of one of a session's connections: outstanding requests are sent again on the other connections, and none is
//! executed twice.
//!
//! ChannelSequence counts the losses, so that the server can tell what comes late on the lost connection from what is sent after it.
//! SMB2_FLAGS_REPLAY_OPERATION tells it that a request which changes something may have been carried out before; a CREATE has a GUID
//! by which the server knows it, a LOCK a number. What servers cannot know, the status of the repetition tells: a file that is to be
//! removed and is not there any more was removed by the first request.
//!
//! Spec: MS-SMB2 3.2.4.1.5, 3.2.7.1, 3.3.5.2.10

use plimsoll_model::Outcome;
use plimsoll_wire::smb2::{create, header, query_directory, status};

use super::channels::ChannelState;
use super::client::{SmbClient, State};
use super::connection::{Connection, Outgoing, RequestContext, SentMessage, SentMessages};
use super::jobs::{JobId, Kind};
use super::request_kind::RequestKind;
use super::waiting::Waiting;
use crate::calls::{Call, Ending};
use crate::client::Events;
use crate::operation::Tag;
use crate::outbox::Outbox;

/// Until a server that was not ready is asked again, ns; doubled each time.
const NOT_READY_NS: i64 = 10_000_000;
/// Doublings, at most.
const DOUBLINGS: u32 = 6;

/// Effect of a response in addition to its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// The request will be sent again: the server has not completed the first one, from the lost connection.
    Later,
    /// The first one had been carried out.
    DoneBefore,
}

impl SmbClient {
    /// Another connection replaces the lost first one, and exchanges numbers with it. Each of them keeps its place in
    /// the order of addresses.
    pub(super) fn replace_first(&mut self, out: &mut Outbox) -> Option<u32> {
        if self.state != State::Ready || self.connection.in_secondary_context() {
            return None;
        }
        let channels = self.channels.as_mut()?;
        let (number, _) = channels.bound().next()?;
        let first_place = channels.first_place;
        let other = channels.get_mut(number)?;
        let place = std::mem::replace(&mut other.place, first_place);
        std::mem::swap(&mut self.connection, &mut other.connection);
        if let Some(agreed) = &mut self.negotiated_security {
            std::mem::swap(&mut agreed.preauth, &mut other.preauth);
        }
        channels.first_place = place;
        out.swap(number);
        Some(number)
    }

    /// Handles the loss of a connection.
    pub(super) fn lose_channel(&mut self, channel: u32, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        let (dialect, credits) = (*self.options.dialects.start(), self.options.credits);
        let Some(channels) = &mut self.channels else { return };
        let Some(found) = channels.get_mut(channel) else { return };
        let blank = Connection::new(found.connection.identity().clone(), dialect, credits);
        let mut lost = std::mem::replace(&mut found.connection, blank);
        let was = std::mem::replace(&mut found.state, ChannelState::Absent);
        found.logon = None;
        channels.unmatched_responses += lost.unmatched_responses();
        out.reset(channel);
        let calls = lost.take_all();
        for call in calls.iter().filter(|call| call.sent.is_some()) {
            let outcome = Outcome::Unanswered;
            let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
            let tag = self.jobs.find(call.context.job).map(|job| job.tag);
            events.transaction(tag, &mut lost.transaction(call, &ending));
        }
        match was {
            ChannelState::Absent => return,
            ChannelState::Binding => {
                if let Some(job) = self.jobs.first(|job| job.tag == Tag::channel(channel)) {
                    self.jobs.remove(job);
                }
                return;
            }
            ChannelState::Bound => {}
        }
        self.count_loss();
        self.durable.iter_mut().for_each(|durable| durable.outage.missed(&calls));
        let messages = lost.sent_messages.as_mut().map(SentMessages::take).unwrap_or_default();
        for (first, message) in messages.into_iter().rev() {
            // At least one request of a stored message is outstanding.
            let sent = calls.iter().find(|call| call.id >= first).is_some_and(|call| call.sent.is_some());
            self.send_again(message, sent);
        }
        self.pump(at, out, events);
    }

    /// Increments ChannelSequence, so that the server recognises late requests of the lost connection.
    pub(super) fn count_loss(&mut self) {
        let Some(channels) = &mut self.channels else { return };
        channels.sequence = channels.sequence.wrapping_add(1);
        let sequence = channels.sequence;
        channels.others.iter_mut().for_each(|other| other.connection.session.sequence = sequence);
        self.connection.primary_mut().sequence = sequence;
    }

    /// Whether requests may have been sent again.
    pub(super) fn has_lost(&self) -> bool {
        self.channels.as_ref().is_some_and(|channels| channels.sequence > 0)
            || self.durable.as_ref().is_some_and(|durable| durable.has_resumed)
    }

    fn send_again(&mut self, mut message: SentMessage, was_sent: bool) {
        let probes = message.outgoing.members.iter().all(|member| member.kind == RequestKind::Echo);
        let job = self.jobs.get(message.job);
        if job.is_none() && (message.job != JobId::NONE || probes) {
            return;
        }
        if was_sent {
            message.again += 1;
            mark_replay(&mut message.outgoing);
            if let Some(Kind::List { entries, .. }) = job.map(|job| &mut job.kind)
                && restart_listing(&mut message.outgoing)
            {
                *entries = 0;
            }
            if let Some(channels) = &mut self.channels {
                channels.sent_again += u64::from(message.left);
            }
        }
        self.waiting.push_front(Waiting::again(message));
    }

    /// Whether a response belongs to a request that was sent again, or must be.
    pub(super) fn of_a_repeated_request(
        &mut self,
        channel: u32,
        call: &Call<RequestContext>,
        status: u32,
        at: i64,
    ) -> Option<Repeated> {
        let lost = self.has_lost();
        let not_ready = status == status::STATUS_FILE_NOT_AVAILABLE && self.is_repeated_later(channel, call);
        let messages = self.on_mut(channel).sent_messages.as_mut()?;
        let position = call.compound_position.unwrap_or(0);
        let done_before =
            |message: &SentMessage| message.again > 0 && was_done_before(&message.outgoing, position.into(), status);
        let done_before = lost && messages.of(call.id).is_some_and(done_before);
        if not_ready {
            messages.not_ready(call.id);
        }
        let whole = messages.ended(call.id);
        if let Some(durable) = &mut self.durable {
            whole.iter().for_each(|whole| durable.ended(&whole.outgoing));
            durable.counts.done_before += u64::from(done_before);
        }
        match whole {
            Some(whole) if whole.not_ready > 0 => self.delay(whole, at),
            Some(whole) => {
                _ = self.on_mut(channel).sent_messages.as_mut().map(|messages| messages.recycle(whole.outgoing))
            }
            None => {}
        }
        match (not_ready, done_before) {
            (true, _) => Some(Repeated::Later),
            (false, true) => Some(Repeated::DoneBefore),
            (false, false) => None,
        }
    }

    /// Whether a request is sent again later if the server is not ready.
    fn is_repeated_later(&mut self, channel: u32, call: &Call<RequestContext>) -> bool {
        if self.channels.as_ref().is_some_and(|channels| channels.sequence > 0) {
            return true;
        }
        // The first sending of an open may have left a persistent handle at the server.
        let kind = self.jobs.get(call.context.job).map(|job| &job.kind);
        let persists = matches!(kind, Some(Kind::Open { reopening: Some(reopening), .. }) if reopening.persistent);
        let messages = self.on(channel).sent_messages.as_ref();
        persists && messages.and_then(|messages| messages.of(call.id)).is_some_and(|message| message.again > 0)
    }

    /// Notes that a message is sent again later, because the server was not ready for requests in it.
    fn delay(&mut self, mut whole: SentMessage, at: i64) {
        whole.left = std::mem::take(&mut whole.not_ready);
        let due = at.saturating_add(NOT_READY_NS << whole.again.min(DOUBLINGS));
        whole.again += 1;
        match (&mut self.channels, &mut self.durable) {
            (Some(channels), _) => channels.sent_again += u64::from(whole.left),
            (None, Some(durable)) => durable.counts.sent_again += u64::from(whole.left),
            (None, None) => {}
        }
        self.delayed.push((due, Waiting::again(whole)));
    }

    /// Sends requests again for which the server was not ready, if their pause is over.
    pub(super) fn send_delayed(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let due: Vec<Waiting> =
            self.delayed.extract_if(.., |(due, _)| *due <= now).map(|(_, waiting)| waiting).collect();
        if !due.is_empty() {
            due.into_iter().rev().for_each(|waiting| self.waiting.push_front(waiting));
            self.pump(now, out, events);
        }
    }
}

/// Says of each request which changes something that it may have been carried out before.
pub(super) fn mark_replay(outgoing: &mut Outgoing) {
    for member in &outgoing.members {
        let changes = matches!(
            member.kind,
            RequestKind::Open
                | RequestKind::Write
                | RequestKind::SetTimes
                | RequestKind::SetSize
                | RequestKind::Rename
                | RequestKind::Link
                | RequestKind::Dispose
                | RequestKind::Copy
                | RequestKind::CopyWriteOnly
                | RequestKind::Lock
        );
        let place = outgoing.bytes.get_mut(member.start + header::FLAGS..).and_then(|rest| rest.first_chunk_mut());
        if let Some(flags) = place.filter(|_| changes) {
            *flags = (u32::from_le_bytes(*flags) | header::FLAG_REPLAY).to_le_bytes();
        }
    }
}

/// The server may be further in the directory than its answers were. Returns whether it is a listing.
fn restart_listing(outgoing: &mut Outgoing) -> bool {
    let Some(member) = outgoing.members.iter().find(|member| member.kind == RequestKind::List) else { return false };
    let flags = outgoing.bytes.get_mut(member.start + query_directory::FLAGS);
    flags.map(|flags| *flags |= query_directory::FLAG_RESTART).is_some()
}

/// Whether a repeated request was refused because the first one had been carried out.
fn was_done_before(outgoing: &Outgoing, position: usize, status: u32) -> bool {
    let Some(member) = outgoing.members.get(position) else { return false };
    let has = |kind| outgoing.members.iter().any(|member| member.kind == kind);
    let created = outgoing.members.first().filter(|first| first.kind == RequestKind::Create);
    let field = |offset: usize| {
        let bytes = created.and_then(|create| outgoing.bytes.get(create.start + offset..)?.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    };
    let removes = has(RequestKind::Dispose) || field(create::OPTIONS) & create::OPTION_DELETE_ON_CLOSE != 0;
    let makes = created.is_some() && field(create::DISPOSITION) == create::DISPOSITION_CREATE;
    // If the CREATE of a compound fails, the remaining requests fail, too, with any status.
    let follows = position > 0 && member.kind == RequestKind::Close;
    match status {
        status::STATUS_FILE_CLOSED if member.kind == RequestKind::Close && outgoing.members.len() == 1 => true,
        status::STATUS_OBJECT_NAME_NOT_FOUND | status::STATUS_DELETE_PENDING => removes || has(RequestKind::Rename),
        status::STATUS_OBJECT_NAME_COLLISION => makes || member.kind == RequestKind::Link,
        0 => false,
        _ => follows && (removes || makes || has(RequestKind::Rename) || has(RequestKind::Link)),
    }
}
