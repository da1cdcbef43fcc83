//! A client whose protocol only its server knows.

use std::net::SocketAddr;

use plimsoll_model::Endpoint;

use super::{Arrived, Cause, Client, Events, Framing, NewChannel, Operation, Outbox, Ticket};

impl<C: Client + ?Sized> Client for Box<C> {
    fn connect(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        (**self).connect(now, out, events);
    }

    fn begin(
        &mut self,
        operation: &Operation<'_>,
        ticket: Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        (**self).begin(operation, ticket, now, out, events);
    }

    fn framing(&self, channel: u32, head: &[u8]) -> Framing {
        (**self).framing(channel, head)
    }

    fn message(&mut self, message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        (**self).message(message, out, events);
    }

    fn sent(&mut self, channel: u32, through: u64, at: i64) {
        (**self).sent(channel, through, at);
    }

    fn broken(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        (**self).broken(at, cause, events);
    }

    fn suspend(&mut self, at: i64, events: &mut dyn Events) -> bool {
        (**self).suspend(at, events)
    }

    fn resume(&mut self, local: Endpoint, connection: u32, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        (**self).resume(local, connection, now, out, events);
    }

    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        (**self).overdue(before, now, events);
    }

    fn over(&self) -> Option<Cause> {
        (**self).over()
    }

    fn wakes_at(&self) -> i64 {
        (**self).wakes_at()
    }

    fn wake(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        (**self).wake(now, out, events);
    }

    fn channel_address(&self, channel: u32, failed: u32) -> Option<SocketAddr> {
        (**self).channel_address(channel, failed)
    }

    fn channel_opened(&mut self, new: &NewChannel, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        (**self).channel_opened(new, now, out, events);
    }

    fn channel_lost(&mut self, channel: u32, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        (**self).channel_lost(channel, at, out, events);
    }

    fn replace_first_channel(&mut self, out: &mut Outbox) -> Option<u32> {
        (**self).replace_first_channel(out)
    }

    fn sent_again(&self) -> u64 {
        (**self).sent_again()
    }

    fn leave(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        (**self).leave(now, out, events);
    }

    fn outstanding(&self) -> usize {
        (**self).outstanding()
    }

    fn unmatched_responses(&self) -> u64 {
        (**self).unmatched_responses()
    }

    fn requests_avoided(&self) -> u64 {
        (**self).requests_avoided()
    }
}
