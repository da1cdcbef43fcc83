//! The client's interface to the engine.

use plimsoll_model::Endpoint;

use super::client::Nfs4Client;
use super::job::{Connecting, Goal, Job, Leaving};
use crate::client::{Arrived, Client, Events, Framing};
use crate::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use crate::outbox::Outbox;

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
        match self.condition.over() {
            None => self.begin_operation(operation, &ticket, now, out, events),
            Some(cause) => {
                events.done(Done { tag: ticket.tag, at: now, result: Err(Failure::never_sent(cause)) });
            }
        }
    }

    fn over(&self) -> Option<Cause> {
        self.condition.over()
    }

    fn framing(&self, _channel: u32, head: &[u8]) -> Framing {
        if self.condition.over().is_some() { Framing::Broken } else { self.connection.frame(head) }
    }

    fn message(&mut self, message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        if self.condition.over().is_none()
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

    fn suspend(&mut self, at: i64, events: &mut dyn Events) -> bool {
        self.condition.over().is_none() && self.part(at, events)
    }

    fn resume(&mut self, local: Endpoint, connection: u32, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        match self.condition.over() {
            None => self.rejoin(local, connection, now, out, events),
            Some(cause) => events.done(Done { tag: Tag::CONNECT, at: now, result: Err(Failure::never_sent(cause)) }),
        }
    }

    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        for call in self.connection.take_overdue(before) {
            self.outage.missed(call.sent.map(|(first, _)| first));
            self.abandon(&call, Cause::TimedOut, events);
            if let Some(slot) = call.context.slot.filter(|_| call.context.session == self.session.number) {
                self.session.lose(call.id as u32, slot);
            }
            let id = call.context.job;
            if let Some(job) = self.jobs.take(id) {
                self.end_or_put(id, job, now, events);
            }
        }
        self.fail_parted(before, now, events);
        self.fail_delayed(before, now, events);
        self.fail_waiting(before, now, events);
        self.give_up_if_doomed(now, events);
        if self.connection.room() > 0 && (self.resends.are_due() || self.waiting.queued() > 0) {
            self.waiting.note_room(now);
        }
        // The responses that would free the slots may never arrive, so only a new session helps.
        if !self.condition.is_suspended() && self.session.is_spent() {
            self.give_up(now, Cause::TimedOut, events);
        }
    }

    fn wakes_at(&self) -> i64 {
        if !self.condition.is_up() {
            return i64::MAX;
        }
        self.waiting.wakes_at().min(self.resends.wakes_at()).min(self.renews_at())
    }

    fn wake(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        if !self.condition.is_up() {
            return;
        }
        self.waiting.use_room();
        while let Some(id) = self.waiting.take_rested(now) {
            if let Some(rest) = self.jobs.get(id).and_then(|job| job.rest.as_mut()) {
                rest.waits = false;
            }
            self.advance(id, now, out, events);
        }
        self.resends.end_delays(now);
        // A recovery that waited for another connection may be complete.
        self.pump(now, out, events);
        if self.renews_at() <= now {
            // The next renewal is due after another interval, even if this one finds no slot.
            self.client_id.renew(now);
            let job = self.jobs.add(Job::unasked(None, Goal::Renew));
            self.advance(job, now, out, events);
        }
    }

    /// Closes what is open, and gives session and client id back.
    fn leave(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        if let Some(cause) = self.condition.over() {
            return events.done(Done { tag: Tag::LEAVE, at: now, result: Err(Failure::never_sent(cause)) });
        }
        self.condition.leave();
        self.outage.leave(now, self.outstanding() > 0);
        let delegations = self.opens.delegations.as_mut().map(|delegations| delegations.take_all()).unwrap_or_default();
        let leaving = if delegations.is_empty() { self.leaving_files() } else { Leaving::Delegations(delegations) };
        let job = self.jobs.add(Job::unasked(Some(Tag::LEAVE), Goal::Leave(leaving)));
        self.advance(job, now, out, events);
    }

    fn outstanding(&self) -> usize {
        self.connection.outstanding() + self.waiting.count() + self.resends.count()
    }

    fn unmatched_responses(&self) -> u64 {
        self.connection.unmatched_responses()
    }
}

impl Nfs4Client {
    /// Time at which the lease must be renewed if no other request renews it.
    fn renews_at(&self) -> i64 {
        self.client_id.renews_at(self.agreed.lease_ns())
    }
}
