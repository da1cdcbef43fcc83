//! The interface of a protocol client, which has no socket and no clock.

use std::net::SocketAddr;

use plimsoll_model::{Endpoint, Transaction};

use crate::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use crate::outbox::Outbox;

/// Events that a client reports.
pub trait Events {
    /// A request ended, of that operation where it was of one. Its level and its client's number are not set yet: a receiver sets them
    /// always or never, and changes nothing else, because the rows of a compound are one transaction that changes from row to row.
    fn transaction(&mut self, operation: Option<Tag>, transaction: &mut Transaction);
    /// An operation ended: exactly once for each that was begun, and for [`Tag::CONNECT`] and [`Tag::LEAVE`].
    fn done(&mut self, done: Done);
    /// A piece of the data that a read with `keep` brought, in order, before its `done`.
    fn data(&mut self, tag: Tag, offset: u64, piece: &[u8]);
    /// A name in a directory, before the listing's `done`.
    fn entry(&mut self, tag: Tag, name: &str);
}

/// How a stream is cut into messages.
#[allow(missing_docs, reason = "each variant's line names its fields")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The head needs this many bytes of the message, more than were given.
    Need(usize),
    /// A message of `length` bytes, framing prefix included; the client wants its first `keep` bytes (at most `length`),
    /// the rest may be dropped unread.
    Message { length: u64, keep: usize },
    /// This is no message of the protocol: the connection is of no use any more.
    Broken,
}

/// A message as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// The bytes that the client wanted to keep, framing prefix included.
    pub head: &'a [u8],
    /// How long the message was, framing prefix included.
    pub length: u64,
    /// When its first byte was there, ns since the Unix epoch, client's clock.
    pub first: i64,
    /// When its last byte was there.
    pub last: i64,
    /// The connection of the session that it came on; 0 where there is one alone.
    pub channel: u32,
}

/// Another connection of a session, as it was just made.
#[derive(Clone, Copy, Debug)]
pub struct NewChannel {
    /// Which one: 1 and more.
    pub channel: u32,
    /// Number in this run.
    pub connection: u32,
    /// Our side.
    pub client: Endpoint,
    /// The server's.
    pub server: Endpoint,
}

/// One connection's protocol machine.
///
/// The caller sends what stands in the outbox, tells with [`Client::sent`] when it went, cuts what arrives with
/// [`Client::framing`] and hands it over. All times are nanoseconds since the Unix epoch on the client's clock.
pub trait Client: Send {
    /// Begins: negotiation and logon, or nothing where the protocol has none. Ends with `done` of [`Tag::CONNECT`].
    fn connect(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events);
    /// Begins an operation. Where credits or slots are missing it waits inside, in order; its `done` comes in any case.
    fn begin(&mut self, operation: &Operation<'_>, ticket: Ticket, now: i64, out: &mut Outbox, events: &mut dyn Events);
    /// How the message that begins with `head` is framed, on this connection of the session; 0 is the first.
    fn framing(&self, channel: u32, head: &[u8]) -> Framing;
    /// A message arrived.
    fn message(&mut self, message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events);
    /// The kernel accepted every byte of a connection before `through` (as [`Outbox::end`] counts). `at` is the clock just before the system call that
    /// accepted the new bytes: none of them was sent earlier. Their exact send time is unknown: on a fast network the answer arrives
    /// before the call returns.
    fn sent(&mut self, channel: u32, through: u64, at: i64);
    /// The connection is gone: everything outstanding fails with `cause`.
    fn broken(&mut self, at: i64, cause: Cause, events: &mut dyn Events);
    /// The connection is gone. Returns true if the client keeps its operations and continues when [`Client::resume`] gives it another
    /// connection; operations that become overdue meanwhile fail. Returns false if it keeps nothing: [`Client::broken`] must follow.
    fn suspend(&mut self, _at: i64, _events: &mut dyn Events) -> bool {
        false
    }
    /// A suspended client gets another connection, from the address `local` and with a new number. Ends with `done` of
    /// [`Tag::CONNECT`].
    fn resume(&mut self, _local: Endpoint, _connection: u32, _now: i64, _out: &mut Outbox, _events: &mut dyn Events) {}
    /// Requests sent before `before` that have no answer: each is reported unanswered, its operation fails as timed out, an
    /// answer that comes later is counted and dropped. Held requests wait as long as they like.
    fn overdue(&mut self, before: i64, now: i64, events: &mut dyn Events);
    /// Why the connection is unusable, if the client found that itself: an invalid answer, or one that was not authentic. Outstanding
    /// operations have ended, and the caller closes the connection.
    fn over(&self) -> Option<Cause> {
        None
    }
    /// When the client wants to do something by itself: to ask again, to renew a lease; `i64::MAX` for never.
    fn wakes_at(&self) -> i64 {
        i64::MAX
    }
    /// It may be that time.
    fn wake(&mut self, _now: i64, _out: &mut Outbox, _events: &mut dyn Events) {}
    /// Where another connection of the session is to be made to; `None`: as the first. `failed` times it could not be made.
    fn channel_address(&self, _channel: u32, _failed: u32) -> Option<SocketAddr> {
        None
    }
    /// A further connection for the session was made: binds it to the session. Ends with `done` of [`Tag::channel`].
    fn channel_opened(&mut self, new: &NewChannel, now: i64, _out: &mut Outbox, events: &mut dyn Events) {
        let result = Err(Failure::without_answer(Cause::Unsupported));
        events.done(Done { tag: Tag::channel(new.channel), at: now, result });
    }
    /// A further connection of the session is gone. Its outstanding operations continue on the others.
    fn channel_lost(&mut self, _channel: u32, _at: i64, _out: &mut Outbox, _events: &mut dyn Events) {}
    /// The first connection is gone: another one, which is returned, changes places with it (in the outbox, too). `None` where
    /// there is none: then the session is lost.
    fn replace_first_channel(&mut self, _out: &mut Outbox) -> Option<u32> {
        None
    }
    /// Requests that were sent again because the connection that they had gone out on was lost.
    fn sent_again(&self) -> u64 {
        0
    }
    /// Logs off. Ends with `done` of [`Tag::LEAVE`].
    fn leave(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events);
    /// Requests sent and not answered, held ones not counted, and operations that wait for credits.
    fn outstanding(&self) -> usize;
    /// Answers that belonged to no request (late, duplicated, made up): dropped, counted.
    fn unmatched_responses(&self) -> u64;
    /// Requests that were not sent because a lease made them unnecessary.
    fn requests_avoided(&self) -> u64 {
        0
    }
}
