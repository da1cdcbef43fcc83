//! The client's interface to the engine.

use std::net::SocketAddr;

use plimsoll_model::Endpoint;

use super::client::{SmbClient, State};
use super::connection::Connection;
use super::jobs::{Job, Kind};
use crate::client::{Arrived, Client, Events, Framing, NewChannel};
use crate::operation::{Cause, Done, Operation, Tag, Ticket};
use crate::outbox::Outbox;

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

    fn framing(&self, channel: u32, head: &[u8]) -> Framing {
        match self.state {
            State::Over(_) => Framing::Broken,
            _ => self.on(channel).frame(head),
        }
    }

    fn message(&mut self, message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        self.arrived(&message, out, events);
    }

    fn sent(&mut self, channel: u32, through: u64, at: i64) {
        self.on_mut(channel).sent(through, at);
    }

    fn wakes_at(&self) -> i64 {
        self.delayed.iter().map(|(due, _)| *due).min().unwrap_or(i64::MAX)
    }

    fn wake(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        self.send_delayed(now, out, events);
    }

    fn channel_address(&self, channel: u32, failed: u32) -> Option<SocketAddr> {
        let channels = self.channels.as_ref()?;
        let port = self.connection.identity().server.port;
        // If a connection to an address of the server's list fails, the target's address is tried. An address that the user gives is not
        // replaced: the figures would look like those of connections to all addresses.
        let place = channels.get(channel).map(|channel| channel.place).filter(|place| *place > 0)?;
        let given = self.options.address_of(place).map(|ip| SocketAddr::new(ip, port));
        given.or_else(|| channels.address(place, port).filter(|_| failed == 0))
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
                let id = call.context.job;
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
        self.connections().map(Connection::outstanding).sum::<usize>() + self.waiting.len() + self.delayed.len()
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
