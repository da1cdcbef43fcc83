//! Composed operations, the same on every target: no protocol has a request for them.
//!
//! ```text
//! Operation ─ Composed ─┬─ (as it is) ─ protocol client
//!                       └─ Composition: part after part ─ protocol client
//! ```

mod copy_range;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_model::{Endpoint, Transaction};

use crate::content::Content;
use crate::operation::{Cause, Done, Failure, FileKey, Operation, Reply, Tag, Ticket};
use crate::{Arrived, Client, Events, Framing, NewChannel, Outbox};

/// The composition for an operation; `None` if clients perform it directly.
fn composition(operation: &Operation<'_>) -> Option<Box<dyn Composition>> {
    match *operation {
        Operation::CopyRange { from, from_offset, to, to_offset, length } => {
            Some(Box::new(copy_range::CopyRange::new((from, from_offset), (to, to_offset), length)))
        }
        _ => None,
    }
}

/// An operation that is under way, part after part.
trait Composition: Send {
    /// The next part; `None` when all is done.
    fn next(&mut self) -> Option<Part>;
    /// Data that the part under way has read.
    fn data(&mut self, offset: u64, piece: &[u8]);
    /// The part under way succeeded; false where its reply makes no sense.
    fn replied(&mut self, reply: &Reply) -> bool;
    /// The result of the whole operation.
    fn reply(&self) -> Reply;
}

enum Part {
    /// Its data are kept.
    Read { file: FileKey, offset: u64, length: u32 },
    /// Writes what stands at `offset` of the content.
    Write { file: FileKey, offset: u64, length: u32, content: Arc<Content> },
}

impl Part {
    fn operation(&self) -> Operation<'_> {
        match *self {
            Part::Read { file, offset, length } => Operation::Read { file, offset, length, keep: true },
            Part::Write { file, offset, length, ref content } => {
                Operation::Write { file, offset, length, content, key: Content::HELD }
            }
        }
    }
}

/// A client that also performs composed operations.
pub struct Composed<C> {
    client: C,
    jobs: Jobs,
}

/// Compositions under way, at most one per slot of the connection.
type Jobs = BTreeMap<Tag, Job>;

struct Job {
    composition: Box<dyn Composition>,
    ticket: Ticket,
}

/// Keeps what belongs to compositions from their caller.
struct PartEvents<'a> {
    jobs: &'a mut Jobs,
    events: &'a mut dyn Events,
    /// Parts that succeeded, and when.
    replied: Vec<(Tag, i64)>,
}

impl Events for PartEvents<'_> {
    fn transaction(&mut self, operation: Option<Tag>, transaction: &mut Transaction) {
        self.events.transaction(operation, transaction);
    }

    fn done(&mut self, done: Done) {
        let Some(job) = self.jobs.get_mut(&done.tag) else { return self.events.done(done) };
        let result = match done.result {
            Ok(reply) if job.composition.replied(&reply) => return self.replied.push((done.tag, done.at)),
            Ok(_) => Err(Failure::without_answer(Cause::Malformed)),
            failed => failed,
        };
        self.jobs.remove(&done.tag);
        self.events.done(Done { result, ..done });
    }

    fn data(&mut self, tag: Tag, offset: u64, piece: &[u8]) {
        match self.jobs.get_mut(&tag) {
            Some(job) => job.composition.data(offset, piece),
            None => self.events.data(tag, offset, piece),
        }
    }

    fn entry(&mut self, tag: Tag, name: &str) {
        self.events.entry(tag, name);
    }
}

impl<C: Client> Composed<C> {
    /// Adds composed operations to a client.
    pub fn new(client: C) -> Self {
        Self { client, jobs: Jobs::new() }
    }

    /// Does something with the client; returns the parts that have succeeded by it.
    fn with(&mut self, events: &mut dyn Events, act: impl FnOnce(&mut C, &mut dyn Events)) -> Vec<(Tag, i64)> {
        if self.jobs.is_empty() {
            act(&mut self.client, events);
            return Vec::new();
        }
        let mut events = PartEvents { jobs: &mut self.jobs, events, replied: Vec::new() };
        act(&mut self.client, &mut events);
        events.replied
    }

    /// Begins the next part of each composition whose last one has succeeded. Clients that block succeed at once.
    fn go_on(&mut self, replied: Vec<(Tag, i64)>, out: &mut Outbox, events: &mut dyn Events) {
        let mut replied = replied;
        while let Some((tag, at)) = replied.pop() {
            let Some(job) = self.jobs.get_mut(&tag) else { continue };
            let Some(part) = job.composition.next() else {
                let result = Ok(job.composition.reply());
                self.jobs.remove(&tag);
                events.done(Done { tag, at, result });
                continue;
            };
            // The first part alone was meant for an instant.
            let ticket = Ticket { intended: None, ..job.ticket };
            replied.extend(self.with(events, |client, events| {
                client.begin(&part.operation(), ticket, at, out, events);
            }));
        }
    }
}

impl<C: Client> Composed<C> {
    /// Ends compositions where nothing more can be sent.
    fn give_up(&mut self, replied: Vec<(Tag, i64)>, cause: Cause, events: &mut dyn Events) {
        for (tag, at) in replied {
            self.jobs.remove(&tag);
            events.done(Done { tag, at, result: Err(Failure::without_answer(cause)) });
        }
    }
}

impl<C: Client> Client for Composed<C> {
    fn connect(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        self.client.connect(now, out, events);
    }

    fn begin(
        &mut self,
        operation: &Operation<'_>,
        ticket: Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        let Some(mut composition) = composition(operation) else {
            if self.jobs.is_empty() {
                return self.client.begin(operation, ticket, now, out, events);
            }
            let replied = self.with(events, |client, events| client.begin(operation, ticket, now, out, events));
            return self.go_on(replied, out, events);
        };
        let Some(part) = composition.next() else {
            return events.done(Done { tag: ticket.tag, at: now, result: Ok(composition.reply()) });
        };
        self.jobs.insert(ticket.tag, Job { composition, ticket });
        let replied = self.with(events, |client, events| client.begin(&part.operation(), ticket, now, out, events));
        self.go_on(replied, out, events);
    }

    fn framing(&self, channel: u32, head: &[u8]) -> Framing {
        self.client.framing(channel, head)
    }

    fn message(&mut self, message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        if self.jobs.is_empty() {
            return self.client.message(message, out, events);
        }
        let replied = self.with(events, |client, events| client.message(message, out, events));
        self.go_on(replied, out, events);
    }

    fn sent(&mut self, channel: u32, through: u64, at: i64) {
        self.client.sent(channel, through, at);
    }

    fn broken(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        let replied = self.with(events, |client, events| client.broken(at, cause, events));
        self.give_up(replied, cause, events);
    }

    fn suspend(&mut self, at: i64, events: &mut dyn Events) -> bool {
        let mut kept = false;
        // A client that keeps its operations ends none of them here.
        let replied = self.with(events, |client, events| kept = client.suspend(at, events));
        self.give_up(replied, Cause::ConnectionClosed, events);
        kept
    }

    fn resume(&mut self, local: Endpoint, connection: u32, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let replied = self.with(events, |client, events| client.resume(local, connection, now, out, events));
        self.go_on(replied, out, events);
    }

    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        let replied = self.with(events, |client, events| client.overdue(before, now, events));
        self.give_up(replied, Cause::TimedOut, events);
    }

    fn over(&self) -> Option<Cause> {
        self.client.over()
    }

    fn wakes_at(&self) -> i64 {
        self.client.wakes_at()
    }

    fn wake(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let replied = self.with(events, |client, events| client.wake(now, out, events));
        self.go_on(replied, out, events);
    }

    fn channel_address(&self, channel: u32, failed: u32) -> Option<SocketAddr> {
        self.client.channel_address(channel, failed)
    }

    fn channel_opened(&mut self, new: &NewChannel, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let replied = self.with(events, |client, events| client.channel_opened(new, now, out, events));
        self.go_on(replied, out, events);
    }

    fn channel_lost(&mut self, channel: u32, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        let replied = self.with(events, |client, events| client.channel_lost(channel, at, out, events));
        self.go_on(replied, out, events);
    }

    fn replace_first_channel(&mut self, out: &mut Outbox) -> Option<u32> {
        self.client.replace_first_channel(out)
    }

    fn sent_again(&self) -> u64 {
        self.client.sent_again()
    }

    fn leave(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let replied = self.with(events, |client, events| client.leave(now, out, events));
        self.go_on(replied, out, events);
    }

    fn outstanding(&self) -> usize {
        self.client.outstanding()
    }

    fn unmatched_responses(&self) -> u64 {
        self.client.unmatched_responses()
    }

    fn requests_avoided(&self) -> u64 {
        self.client.requests_avoided()
    }
}
