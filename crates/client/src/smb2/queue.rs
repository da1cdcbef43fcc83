//! Messages that are sent at once, or wait for credits.
//!
//! Spec: MS-SMB2 3.2.4.1.2

use plimsoll_model::Symbol;
use plimsoll_wire::smb2::{FileId, close, empty_body::Echo};

use super::channels::is_of_the_session;
use super::client::{SmbClient, State};
use super::connection::{Connection, Outgoing, Owner, Protection};
use super::jobs::JobId;
use super::request_kind::RequestKind;
use super::waiting::{Again, Waiting};
use crate::client::Events;
use crate::operation::{Cause, Failure};
use crate::outbox::Outbox;

impl SmbClient {
    /// Sends the message that was built, or lets it wait for credits.
    pub(in crate::smb2) fn submit(&mut self, job: JobId, now: i64, out: &mut Outbox) {
        if self.waiting.is_empty() && self.outgoing.charge() <= self.room_for(&self.outgoing) {
            self.launch(job, Protection::Usual, now, out);
        } else {
            let outgoing = Some(Box::new(std::mem::take(&mut self.outgoing)));
            self.waiting.push_back(Waiting { job, since: now, outgoing, again: None });
        }
    }

    /// Sends waiting messages, as far as credits allow.
    pub(in crate::smb2) fn pump(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        while self.resumption.is_none()
            && let Some(Waiting { job, outgoing, since, again }) = self.waiting.front()
        {
            let (job, since, again) = (*job, *since, *again);
            let Some(waiting) = outgoing else {
                let before = self.pending(job);
                if self.next_chunks(job, now, out) {
                    self.waiting.pop_front();
                    continue;
                }
                // Each request has the whole timeout.
                if self.pending(job) > before
                    && let Some(first) = self.waiting.front_mut()
                {
                    first.since = now;
                }
                if !self.is_idle() || !self.probe_or_fail_first(job, now, out, events) {
                    return;
                }
                continue;
            };
            if waiting.charge() <= self.room_for(waiting) {
                let waiting = self.waiting.pop_front().and_then(|waiting| waiting.outgoing);
                self.outgoing = waiting.map_or_else(Outgoing::default, |waiting| *waiting);
                match again {
                    Some(again) => self.launch_again(job, since, again, now, out),
                    None => _ = self.launch(job, Protection::Usual, now, out),
                }
            } else if !self.is_idle() || !self.probe_or_fail_first(job, now, out, events) {
                return;
            }
        }
    }

    /// Requests of an operation that were sent and not answered.
    fn pending(&mut self, job: JobId) -> u32 {
        self.jobs.get(job).map_or(0, |job| job.pending)
    }

    /// The first waiting message needs more credits than the connection will get: requests more once with an ECHO, and then fails the
    /// message. Returns whether the message was removed.
    fn probe_or_fail_first(&mut self, job: JobId, now: i64, out: &mut Outbox, events: &mut dyn Events) -> bool {
        if !self.credit_probe_sent && self.credits().0 > 0 {
            self.credit_probe_sent = true;
            self.outgoing.clear();
            if self.outgoing.add(RequestKind::Echo, &Echo).is_ok() {
                self.launch(JobId::NONE, Protection::Usual, now, out);
                return false;
            }
        }
        let gone = self.waiting.pop_front();
        if let Some(found) = self.jobs.get(job) {
            found.fail(match gone.and_then(|gone| gone.again) {
                Some(Again { times: 1.., .. }) => Failure::without_answer(Cause::TooFewCredits),
                _ => Failure::never_sent(Cause::TooFewCredits),
            });
            // No request is outstanding, so the rest of the operation is in these lists. It must leave them, because a later operation may
            // get its number.
            self.waiting.retain(|waiting| waiting.job != job);
            self.delayed.retain(|(_, waiting)| waiting.job != job);
            self.finish(job, now, events);
        }
        true
    }

    /// Closes a file that no operation wants any more, as soon as there is an occasion.
    pub(in crate::smb2) fn close_later(&mut self, file: FileId, now: i64) {
        let mut outgoing = Outgoing::default();
        if outgoing.add(RequestKind::Close, &close::Close { file, attributes: false }).is_ok() {
            self.waiting.push_back(Waiting {
                job: JobId::NONE,
                since: now,
                outgoing: Some(Box::new(outgoing)),
                again: None,
            });
        }
    }

    /// Sends the message that was built, without checking credits. It is not needed afterwards. Returns the position of its first header in
    /// the outbox.
    pub(super) fn launch(&mut self, job: JobId, protection: Protection, now: i64, out: &mut Outbox) -> usize {
        let channel = self.choose_channel(protection);
        self.launch_on(channel, job, protection, now, out)
    }

    /// Sends a message again that was sent before.
    fn launch_again(&mut self, job: JobId, since: i64, again: Again, now: i64, out: &mut Outbox) {
        if let Some(found) = self.jobs.get(job) {
            found.pending = found.pending.saturating_sub(again.left);
        }
        let channel = self.choose_channel(Protection::Usual);
        if let Some(messages) = &mut self.on_mut(channel).sent_messages {
            messages.continues(since, again.times);
        }
        self.launch_on(channel, job, Protection::Usual, now, out);
    }

    /// Sends the message that was built on a connection of the session.
    pub(super) fn launch_on(
        &mut self,
        channel: u32,
        job: JobId,
        protection: Protection,
        now: i64,
        out: &mut Outbox,
    ) -> usize {
        let owner = match self.jobs.get(job) {
            Some(found) => {
                found.pending += self.outgoing.members.len() as u32;
                let (intended, path, file) = (found.intended, found.path, found.file);
                Owner { job, intended, path, file, keep: found.keeps_data() }
            }
            None => Owner { job, intended: None, path: Symbol::NONE, file: None, keep: false },
        };
        match self.channels.as_mut().and_then(|channels| channels.get_mut(channel)) {
            Some(other) => other.connection.send(&mut self.outgoing, &owner, protection, now, out.channel(channel)),
            None => self.connection.send(&mut self.outgoing, &owner, protection, now, out),
        }
    }

    /// The connection for the message that was built.
    fn choose_channel(&self, protection: Protection) -> u32 {
        let Some(channels) = &self.channels else { return 0 };
        let alone = protection == Protection::None || self.connection.in_secondary_context();
        if alone || self.state == State::Connecting || is_of_the_session(&self.outgoing) {
            return 0;
        }
        channels.choose(&self.connection, self.outgoing.charge())
    }

    /// Credits for a message: if it may choose, those of the connection with the most credits.
    pub(super) fn room_for(&self, outgoing: &Outgoing) -> u32 {
        match &self.channels {
            Some(_) if !is_of_the_session(outgoing) => self.credits().0,
            _ => self.connection.credits.available(),
        }
    }

    /// Credits of the connection with the most credits, and the maximum of a connection: the largest possible message.
    pub(super) fn credits(&self) -> (u32, u32) {
        let first = &self.connection.credits;
        let alone = (first.available(), first.window());
        let Some(channels) = self.channels.as_ref().filter(|_| !self.connection.in_secondary_context()) else {
            return alone;
        };
        channels.bound().fold(alone, |(available, window), (_, connection)| {
            (available.max(connection.credits.available()), window.max(connection.credits.window()))
        })
    }

    /// No outstanding request can bring credits.
    fn is_idle(&self) -> bool {
        self.connections().all(Connection::is_idle)
    }

    /// Closes a file of which no operation needs to know.
    pub(super) fn close(&mut self, file: FileId, now: i64, out: &mut Outbox) {
        self.outgoing.clear();
        // A CLOSE has no variable part that could be too long.
        if self.outgoing.add(RequestKind::Close, &close::Close { file, attributes: false }).is_ok() {
            self.submit(JobId::NONE, now, out);
        }
    }
}
