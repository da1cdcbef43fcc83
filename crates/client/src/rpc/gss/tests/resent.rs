//! Requests that an NFSv4 client sends again, or that wait while it recovers a session, and the window of the context.

use plimsoll_testkit::nfs4::{Asked, SLOTS};
use plimsoll_wire::nfs::status::NFS4ERR_BADSESSION;

use super::*;
use crate::nfs4::{Nfs4Client, Nfs4Options};

/// An NFSv4 client and its server, which answers when the test says.
pub(super) struct Play {
    pub(super) client: Nfs4Client,
    pub(super) options: Arc<Nfs4Options>,
    pub(super) server: Server,
    pub(super) out: Outbox,
    pub(super) seen: Collected,
    pub(super) now: i64,
    pub(super) waiting: Vec<(Taken, Asked)>,
    /// Slot and sequence ID of each request of this connection that has them.
    slots: Vec<(u32, u32)>,
}

impl Play {
    /// A client with a session, in a context with this window.
    pub(super) fn connected(protection: Protection, window: u32) -> Self {
        Self::connected_with(protection, window, false)
    }

    /// The same, of a client that may ask for delegations.
    pub(super) fn connected_with(protection: Protection, window: u32, delegations: bool) -> Self {
        let mut options = Nfs4Options::new("/", 1, &Caller::Nobody).unwrap();
        options.security = Some(Gss::new(ticket(), protection));
        options.delegations = delegations;
        let options = Arc::new(options);
        let client = Nfs4Client::new(options.clone(), identity(), Some("one"));
        let server = Server { window, ..Server::new(protection) };
        let (out, seen, waiting, slots) = (Outbox::new(), Collected::default(), Vec::new(), Vec::new());
        let mut play = Self { client, options, server, out, seen, now: NOW, waiting, slots };
        play.client.connect(play.now, &mut play.out, &mut play.seen);
        play.serve();
        assert_eq!(play.seen.take_done(Tag::CONNECT), Some(Ok(Reply::Nothing)));
        play
    }

    pub(super) fn begin(&mut self, tag: u64) {
        self.perform(tag, &Operation::Getattr { path: &format!("file{tag}") });
    }

    pub(super) fn perform(&mut self, tag: u64, operation: &Operation<'_>) {
        let ticket = Ticket { tag: Tag(tag), intended: None, path: Symbol::NONE };
        self.client.begin(operation, ticket, self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    /// The server receives the calls. It would drop one whose number is a window above that of the oldest without an answer.
    pub(super) fn receive(&mut self) {
        let bytes = taken(&mut self.out);
        self.client.sent(0, self.out.end(), self.now);
        // Without the replies to the server's own calls.
        for record in records(&bytes).into_iter().filter(|record| record[8..12] == [0; 4]) {
            let call = self.server.take(&record);
            let asked = Asked::new(call.xid, call.number, &call.arguments);
            self.slots.extend(asked.slot);
            self.waiting.push((call, asked));
        }
        let numbers = || {
            self.waiting.iter().filter(|(call, _)| call.purpose == GssProcedure::Data).map(|(call, _)| call.sequence)
        };
        let span = numbers().max().unwrap_or(0) - numbers().min().unwrap_or(0);
        assert!(span < self.server.window, "number {span} above the oldest outstanding call");
    }

    /// Answers the newest call.
    pub(super) fn answer(&mut self, results: impl Fn(&Asked) -> Vec<u8>) {
        self.reply(results, Wrong::Nothing);
    }

    pub(super) fn reply(&mut self, results: impl Fn(&Asked) -> Vec<u8>, wrong: Wrong) {
        let (call, asked) = self.waiting.pop().unwrap();
        let answer = self.server.reply(&call, &results(&asked), wrong);
        self.feed(&answer);
    }

    /// A record arrives.
    pub(super) fn feed(&mut self, record: &[u8]) {
        let message =
            Arrived { head: record, length: record.len() as u64, first: self.now, last: self.now, channel: 0 };
        self.client.message(message, &mut self.out, &mut self.seen);
        self.receive();
    }

    /// Everything that was sent before times out.
    pub(super) fn time_out(&mut self) {
        self.client.overdue(self.now, self.now, &mut self.seen);
        self.receive();
    }

    /// Answers everything, newest first, until the client asks for nothing more.
    pub(super) fn serve(&mut self) {
        self.receive();
        while !self.waiting.is_empty() {
            self.answer(Asked::fine);
        }
    }

    /// The client goes on over another connection, in a context with this window.
    pub(super) fn reconnect(&mut self, window: u32) {
        self.waiting.clear();
        self.slots.clear();
        assert!(self.client.suspend(self.now, &mut self.seen));
        self.server = Server { window, ..Server::new(self.server.protection) };
        self.out = Outbox::new();
        self.client.resume(Endpoint::NOWHERE, 1, self.now, &mut self.out, &mut self.seen);
    }

    pub(super) fn succeeded(&mut self, tag: u64) {
        let result = self.seen.take_done(Tag(tag));
        assert!(matches!(result, Some(Ok(Reply::Attributes { .. }))), "{tag}: {result:?}");
    }
}

/// More requests are outstanding than the window of the next context allows: they keep slots, sequence IDs and order.
#[test]
fn requests_that_are_sent_again_wait_for_room_in_the_window() {
    for (protection, window) in ALL.into_iter().flat_map(|one| (1..=SLOTS).map(move |window| (one, window))) {
        let mut play = Play::connected(protection, SLOTS);
        play.slots.clear();
        (0..SLOTS.into()).for_each(|tag| play.begin(tag));
        let slots = play.slots.clone();
        assert_eq!(slots.len(), SLOTS as usize);
        // They wait when the connection is lost once more.
        play.reconnect(window);
        for _ in 0..2 {
            play.receive();
            play.answer(Asked::fine);
        }
        play.receive();
        assert_eq!(play.waiting.len() as u32, window, "as many as fit");
        play.reconnect(window);
        play.begin(9);
        play.serve();
        let resent: Vec<(u32, u32)> = play.slots.iter().copied().filter(|slot| slots.contains(slot)).collect();
        assert_eq!(resent, slots, "{window}");
        (0..SLOTS.into()).chain([9]).for_each(|tag| play.succeeded(tag));
        assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
    }
}

/// Slots of requests that timed out are asked about, also in the window.
#[test]
fn slots_of_timed_out_requests_wait_for_room_too() {
    let mut play = Play::connected(Protection::None, 2);
    play.slots.clear();
    (0..2).for_each(|tag| play.begin(tag));
    play.now += 10;
    play.client.overdue(play.now, play.now, &mut play.seen);
    play.waiting.clear();
    (2..4).for_each(|tag| play.begin(tag));
    let slots = play.slots.clone();
    assert_eq!(slots.len(), 4);
    play.reconnect(2);
    play.serve();
    assert_eq!(play.slots, slots);
    for tag in 0..2 {
        assert_eq!(play.seen.take_done(Tag(tag)).unwrap().unwrap_err().cause, Cause::TimedOut);
    }
    (2..4).for_each(|tag| play.succeeded(tag));
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
}

/// Requests that wait longer than the timeout for room fail, and their slots are asked about when there is room.
#[test]
fn requests_that_wait_too_long_for_room_fail() {
    let mut play = Play::connected(Protection::None, SLOTS);
    (0..SLOTS.into()).for_each(|tag| play.begin(tag));
    play.reconnect(1);
    for _ in 0..2 {
        play.receive();
        play.answer(Asked::fine);
    }
    play.now += 10;
    // The first was sent again just now.
    let sent = play.now - 10;
    play.client.overdue(sent, play.now, &mut play.seen);
    assert!(play.seen.take_done(Tag(0)).is_none());
    play.client.overdue(play.now, play.now, &mut play.seen);
    for tag in 0..SLOTS.into() {
        assert_eq!(play.seen.take_done(Tag(tag)).unwrap().unwrap_err().cause, Cause::TimedOut, "{tag}");
    }
    play.serve();
    play.begin(9);
    play.serve();
    play.succeeded(9);
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
}

#[test]
fn a_lost_session_is_recovered_before_what_waits_for_room() {
    let mut play = Play::connected(Protection::None, 2);
    (0..4).for_each(|tag| play.begin(tag));
    assert_eq!(play.waiting.len(), 2);
    // After the newest answer the oldest call still fills the window.
    for _ in 0..2 {
        play.answer(|asked| asked.failing(0, NFS4ERR_BADSESSION));
    }
    play.serve();
    (0..4).for_each(|tag| play.succeeded(tag));
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
}

/// Refused calls keep their sequence IDs, because the server has not seen them; also those of a session's setup and of a recovery.
#[test]
fn an_expired_context_is_replaced_at_any_request() {
    for (protection, expires) in ALL.into_iter().flat_map(|one| (1..12).map(move |at| (one, at))) {
        let mut play = Play::connected(protection, SLOTS);
        (0..SLOTS.into()).for_each(|tag| play.begin(tag));
        play.reconnect(2);
        play.begin(9);
        play.receive();
        let mut answers = 0;
        while !play.waiting.is_empty() {
            answers += 1;
            let begins = play.waiting.last().unwrap().0.purpose == GssProcedure::Init;
            let denied = answers >= expires && play.server.contexts == 1 && !begins;
            play.reply(Asked::fine, if denied { Wrong::Denied(CONTEXT_PROBLEM) } else { Wrong::Nothing });
        }
        (0..SLOTS.into()).chain([9]).for_each(|tag| play.succeeded(tag));
        assert_eq!((play.client.over(), play.client.outstanding()), (None, 0), "{expires}");
        // The first context, five requests of operations and BIND_CONN_TO_SESSION.
        assert_eq!(play.server.contexts, if expires <= 7 { 2 } else { 1 });
    }
}
