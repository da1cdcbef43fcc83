//! The client against a server of a few lines, byte for byte.

mod breaks;
mod channels;
mod directory_cache;
mod durable;
mod flow;
mod hostile;
mod lease_cache;
mod logon;
mod misbehaviour;
mod outage;
mod persistent;
mod reconnection;
mod server;
mod shares;
mod transfers;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use plimsoll_model::{Endpoint, Symbol, Transaction};
use plimsoll_wire::nbss;

use self::server::{Asked, Server};
use super::auth::Credentials;
use super::{Dialect, SmbClient, SmbOptions};
use crate::calls::Identity;
use crate::client::{Arrived, Client, Events, Framing};
use crate::operation::{Cause, Done, Failure, Operation, Reply, Tag, Ticket};
use crate::outbox::Outbox;

/// Events that the client reported.
#[derive(Default)]
struct Collected {
    transactions: Vec<Transaction>,
    done: Vec<Done>,
    data: Vec<(u64, Vec<u8>)>,
    names: Vec<String>,
}

impl Events for Collected {
    fn transaction(&mut self, _: Option<Tag>, transaction: &mut Transaction) {
        self.transactions.push(transaction.clone());
    }
    fn done(&mut self, done: Done) {
        self.done.push(done);
    }
    fn data(&mut self, _: Tag, offset: u64, piece: &[u8]) {
        self.data.push((offset, piece.to_vec()));
    }
    fn entry(&mut self, _: Tag, name: &str) {
        self.names.push(name.to_owned());
    }
}

/// A client with its reported events, the requests that the server received, and a clock that ticks with every event.
struct World {
    client: SmbClient,
    out: Outbox,
    collected: Collected,
    server: Server,
    now: i64,
    begun: Vec<Tag>,
    /// The caller would have closed the connection.
    closed: bool,
}

impl World {
    /// A client on a new connection.
    fn new(options: SmbOptions) -> Self {
        let end = |port| Endpoint { ip: IpAddr::V4(Ipv4Addr::LOCALHOST), port };
        let (share, user) = (Symbol::NONE, Symbol::NONE);
        let identity = Identity { client: end(1), server: end(445), connection: 0, share, user };
        Self {
            client: SmbClient::new(Arc::new(options), identity, [9; 16]),
            out: Outbox::new(),
            collected: Collected::default(),
            server: Server::default(),
            now: 1_000,
            begun: Vec::new(),
            closed: false,
        }
    }

    /// A client on the share after an anonymous logon: messages are unsigned, so a server needs only a few lines.
    fn ready(dialect: Dialect, credits: u16) -> Self {
        Self::ready_on(Server::default(), dialect, credits)
    }

    /// The same, on this server.
    fn ready_on(server: Server, dialect: Dialect, credits: u16) -> Self {
        let mut options = SmbOptions::new("srv", "share", Credentials::anonymous());
        options.dialects = dialect..=dialect;
        options.credits = credits;
        let mut world = Self::new(options);
        world.server = server;
        world.server.dialect = dialect.code();
        world.server.grants = credits;
        world.connect();
        world.obey();
        assert_eq!(world.result(Tag::CONNECT), Some(Ok(Reply::Nothing)));
        world.collected = Collected::default();
        world
    }

    fn tick(&mut self) -> i64 {
        self.now += 10;
        self.now
    }

    fn connect(&mut self) {
        let now = self.tick();
        self.client.connect(now, &mut self.out, &mut self.collected);
        self.begun.push(Tag::CONNECT);
    }

    fn begin(&mut self, operation: &Operation<'_>) -> Tag {
        self.begin_due(operation, None)
    }

    /// Begins an operation with the intended start `intended`.
    fn begin_due(&mut self, operation: &Operation<'_>, intended: Option<i64>) -> Tag {
        let tag = Tag(self.begun.len() as u64);
        self.begun.push(tag);
        let now = self.tick();
        let ticket = Ticket { tag, intended, path: Symbol::NONE };
        self.client.begin(operation, ticket, now, &mut self.out, &mut self.collected);
        tag
    }

    /// Delivers the whole outbox.
    fn flush(&mut self) {
        self.send(usize::MAX);
    }

    /// Delivers at most this number of bytes.
    fn send(&mut self, most: usize) {
        let mut slices = Vec::new();
        self.out.slices(4096, &mut slices);
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).take(most).collect();
        if bytes.is_empty() {
            return;
        }
        self.out.consume(bytes.len());
        let at = self.tick();
        self.client.sent(0, self.out.sent(), at);
        self.server.hear(&bytes);
    }

    /// A message comes, cut as a caller cuts it.
    fn deliver(&mut self, message: &[u8]) {
        let bytes = [&(message.len() as u32).to_be_bytes()[..], message].concat();
        let mut given = 0;
        while !self.closed {
            match self.client.framing(0, &bytes[..given]) {
                Framing::Need(count) => {
                    assert!(count > given, "{count} of {given} bytes needed: the caller would wait for ever");
                    if count > bytes.len() {
                        return;
                    }
                    given = count;
                }
                Framing::Message { length, keep } => {
                    assert!(keep as u64 <= length && length >= given as u64);
                    assert_eq!(length, bytes.len() as u64);
                    let (first, last) = (self.tick(), self.tick());
                    let arrived = Arrived { head: &bytes[..keep], length, first, last, channel: 0 };
                    self.client.message(arrived, &mut self.out, &mut self.collected);
                    // Like the engine, checks the remaining bytes.
                    self.closed = self.client.framing(0, &[]) == Framing::Broken;
                    return;
                }
                Framing::Broken => self.closed = true,
            }
        }
        self.broken(Cause::Malformed);
    }

    fn broken(&mut self, cause: Cause) {
        let now = self.tick();
        self.client.broken(now, cause, &mut self.collected);
    }

    /// The server answers all requests, and those that follow from its responses.
    fn obey(&mut self) {
        loop {
            self.flush();
            let Some(message) = self.server.answer_next() else { return };
            self.deliver(&message);
        }
    }

    /// The latest requests, as whole messages.
    fn asked(&mut self) -> Vec<Asked> {
        self.flush();
        std::mem::take(&mut self.server.asked)
    }

    fn result(&self, tag: Tag) -> Option<Result<Reply, Failure>> {
        let mut results = self.collected.done.iter().filter(|done| done.tag == tag).map(|done| done.result.clone());
        let result = results.next();
        assert!(results.next().is_none(), "{tag:?} ended twice");
        result
    }
}

/// Bytes of the transport's prefix.
const PREFIX: usize = nbss::PREFIX_LEN;
