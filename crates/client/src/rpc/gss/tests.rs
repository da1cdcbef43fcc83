//! A client with a server that has the ticket's key: calls as the server sees them, and servers that are wrong in every way.
#![allow(clippy::unwrap_used, reason = "a test")]

mod replaced;
mod resent;
mod server;

use std::io::IoSlice;
use std::sync::Arc;

use plimsoll_model::{Asked, Endpoint, Outcome, Procedure, Protocol, Symbol};
use plimsoll_wire::nfs::v3::FileHandle;
use plimsoll_wire::rpc::gss::{CONTEXT_PROBLEM, CREDENTIAL_PROBLEM, put_verifier};
use plimsoll_wire::rpc::{Call, CallTemplate, Caller, Credential, GssCredential, GssProcedure, Protection};
use plimsoll_wire::xdr::{Cursor, Emit};

use super::Gss;
use crate::blocking::Collected;
use crate::calls::Identity;
use crate::client::{Arrived, Client};
use crate::content::Content;
use crate::kerberos::context_keys::tests::Acceptor;
use crate::kerberos::testing::{KEY, NOW, opened, reply, ticket};
use crate::nfs3::{NfsClient, NfsOptions};
use crate::operation::{Cause, Failure, Operation, Reply, Tag, Ticket};
use crate::outbox::Outbox;
use crate::rpc::{About, Connection, Context, Data};
use server::{Server, Taken, WINDOW, Wrong};

fn taken(out: &mut Outbox) -> Vec<u8> {
    let mut slices: Vec<IoSlice<'_>> = Vec::new();
    out.slices(64, &mut slices);
    let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
    out.consume(bytes.len());
    bytes
}

/// Cuts records.
fn records(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while let Some(mark) = bytes.first_chunk::<4>() {
        let length = 4 + (u32::from_be_bytes(*mark) & 0x7FFF_FFFF) as usize;
        records.push(bytes[..length].to_vec());
        bytes = &bytes[length..];
    }
    records
}

/// A client, its server, and the wire between them.
struct World {
    client: NfsClient,
    server: Server,
    out: Outbox,
    seen: Collected,
    gss: Gss,
}

fn identity() -> Identity {
    Identity {
        client: Endpoint::NOWHERE,
        server: Endpoint::NOWHERE,
        connection: 0,
        share: Symbol::NONE,
        user: Symbol::NONE,
    }
}

impl World {
    fn new(protection: Protection) -> Self {
        let root = FileHandle::new(b"root").unwrap();
        let mut options = NfsOptions::new(root, &Caller::Nobody).unwrap();
        let gss = Gss::new(ticket(), protection);
        options.security = Some(gss.clone());
        let client = NfsClient::new(Arc::new(options), identity());
        Self { client, server: Server::new(protection), out: Outbox::new(), seen: Collected::default(), gss }
    }

    /// The next call, with the answer to it.
    fn exchange(&mut self, results: &[u8], wrong: Wrong) {
        let bytes = taken(&mut self.out);
        self.client.sent(0, self.out.end(), NOW);
        let calls = records(&bytes);
        assert_eq!(calls.len(), 1, "one call at a time");
        let answer = self.server.answer(&calls[0], results, wrong);
        self.arrive(&answer);
    }

    fn arrive(&mut self, answer: &[u8]) {
        let message = Arrived { head: answer, length: answer.len() as u64, first: NOW, last: NOW, channel: 0 };
        self.client.message(message, &mut self.out, &mut self.seen);
    }

    fn connect(&mut self, wrong: Wrong) {
        self.client.connect(NOW, &mut self.out, &mut self.seen);
        self.exchange(&[], wrong);
    }

    fn connected(protection: Protection) -> Self {
        let mut world = Self::new(protection);
        world.connect(Wrong::Nothing);
        world.exchange(&fsinfo(), Wrong::Nothing);
        assert_eq!(world.seen.take_done(Tag::CONNECT), Some(Ok(Reply::Nothing)));
        world
    }

    fn null(&mut self, tag: u64) {
        let ticket = Ticket { tag: Tag(tag), intended: None, path: Symbol::NONE };
        self.client.begin(&Operation::Null, ticket, NOW, &mut self.out, &mut self.seen);
    }
}

/// RFC 1813 3.3.19.
fn fsinfo() -> Vec<u8> {
    let mut out = Vec::new();
    [0, 0, 65_536, 65_536, 1, 65_536, 65_536, 1, 8_192].iter().for_each(|&word| out.put_u32(word));
    out.put_u64(u64::MAX);
    [0, 1, 0x1B].iter().for_each(|&word| out.put_u32(word));
    out
}

const ALL: [Protection; 3] = Protection::ALL;

#[test]
fn a_context_protects_every_call_and_is_given_back() {
    for (protection, wraps_end) in ALL.into_iter().flat_map(|one| [(one, false), (one, true)]) {
        let mut world = World::connected(protection);
        world.server.wraps_end = wraps_end;
        assert_eq!(world.server.last, (GssProcedure::Data, [&[0, 0, 0, 4][..], b"root"].concat()), "FSINFO's handle");
        for tag in 0..3 {
            world.null(tag);
            world.exchange(&[], Wrong::Nothing);
            assert_eq!(world.seen.take_done(Tag(tag)), Some(Ok(Reply::Nothing)));
        }
        world.client.leave(NOW, &mut world.out, &mut world.seen);
        world.exchange(&[], Wrong::Nothing);
        assert_eq!(world.seen.take_done(Tag::LEAVE), Some(Ok(Reply::Nothing)));
        assert_eq!(world.server.last, (GssProcedure::Destroy, Vec::new()));
        assert_eq!(world.server.seen, [1, 2, 3, 4, 5]);
        let rows = &world.seen.transactions;
        assert_eq!(rows.len(), 6, "INIT, FSINFO, NULL thrice, DESTROY");
        assert!(rows.iter().all(|row| row.outcome == Outcome::Succeeded));
    }
}

fn failed(cause: Cause, outcome: Outcome) -> Result<Reply, Failure> {
    let procedure = Some(Procedure::of(Protocol::Nfs3, 0));
    Err(Failure { procedure, status: None, outcome, cause })
}

#[test]
fn answers_that_are_not_the_servers_end_the_connection() {
    let of_all = [Wrong::Signature, Wrong::CutSignature, Wrong::Number, Wrong::NoVerifier];
    let of_wrapped = [Wrong::Plain, Wrong::InnerNumber, Wrong::Results, Wrong::CutToken];
    for protection in ALL {
        let wrapped = of_wrapped.iter().filter(|_| protection != Protection::None);
        for &wrong in of_all.iter().chain(wrapped) {
            let mut world = World::connected(protection);
            world.null(1);
            world.exchange(&[], wrong);
            let expected = failed(Cause::Untrusted, Outcome::Failed);
            assert_eq!(world.seen.take_done(Tag(1)), Some(expected), "{protection:?} {wrong:?}");
            assert_eq!(world.client.over(), Some(Cause::Untrusted));
            assert_eq!(world.seen.transactions.last().unwrap().outcome, Outcome::Failed, "counted");
            assert_eq!(world.client.outstanding(), 0, "nothing waits");
            world.null(2);
            let never = Failure::never_sent(Cause::Untrusted);
            assert_eq!(world.seen.take_done(Tag(2)), Some(Err(never)));
            assert!(taken(&mut world.out).is_empty(), "and nothing is sent instead");
        }
    }
}

const AUTH_TOO_WEAK: u32 = 5;

#[test]
fn a_denied_call_fails_alone() {
    for protection in ALL {
        let mut world = World::connected(protection);
        for tag in 1..3 {
            world.null(tag);
            world.exchange(&[], Wrong::Denied(AUTH_TOO_WEAK));
            assert_eq!(world.seen.take_done(Tag(tag)), Some(failed(Cause::CallRejected, Outcome::Refused)));
        }
        assert_eq!(world.client.over(), None);
    }
}

/// Calls that the server refuses because the context has expired are sent again in another one, when those that it answered in the old
/// one are read.
#[test]
fn an_expired_context_is_replaced_without_a_failed_operation() {
    for (protection, status) in ALL.into_iter().flat_map(|one| [(one, CREDENTIAL_PROBLEM), (one, CONTEXT_PROBLEM)]) {
        let mut world = World::connected(protection);
        (1..=4).for_each(|tag| world.null(tag));
        let bytes = taken(&mut world.out);
        world.client.sent(0, world.out.end(), NOW);
        let calls: Vec<Taken> = records(&bytes).iter().map(|record| world.server.take(record)).collect();
        assert_eq!(calls.len(), WINDOW as usize);
        // The refusal overtakes the answer.
        let answers = [(1, Wrong::Denied(status)), (0, Wrong::Nothing)];
        for (at, wrong) in answers {
            assert!(taken(&mut world.out).is_empty(), "no call in the old context");
            let answer = world.server.reply(&calls[at], &[], wrong);
            world.arrive(&answer);
        }
        assert_eq!(world.seen.take_done(Tag(1)), Some(Ok(Reply::Nothing)));
        while world.client.outstanding() > 0 {
            let bytes = taken(&mut world.out);
            world.client.sent(0, world.out.end(), NOW);
            for record in records(&bytes) {
                let answer = world.server.answer(&record, &[], Wrong::Nothing);
                world.arrive(&answer);
            }
        }
        (2..=4).for_each(|tag| assert_eq!(world.seen.take_done(Tag(tag)), Some(Ok(Reply::Nothing))));
        assert_eq!((world.client.over(), world.server.contexts, world.gss.renewed()), (None, 2, 1));
        let refused = world.seen.transactions.iter().filter(|row| row.outcome == Outcome::Refused);
        assert_eq!((refused.count(), world.seen.transactions.len()), (1, 2 + 5 + 1), "each call has a row");
    }
}

/// A server that refuses every context: the operation fails after a few.
#[test]
fn contexts_that_expire_at_once_are_requested_a_few_times() {
    let mut world = World::connected(Protection::Integrity);
    world.null(1);
    let mut refused = 0;
    while world.seen.transactions.len() < 20 && world.client.outstanding() > 0 {
        let call = world.server.take(&taken(&mut world.out));
        world.client.sent(0, world.out.end(), NOW);
        let begins = call.purpose == GssProcedure::Init;
        refused += u32::from(!begins);
        let wrong = if begins { Wrong::Nothing } else { Wrong::Denied(CONTEXT_PROBLEM) };
        let answer = world.server.reply(&call, &[], wrong);
        world.arrive(&answer);
    }
    assert_eq!(world.seen.take_done(Tag(1)), Some(failed(Cause::CallRejected, Outcome::Refused)));
    assert_eq!((refused, world.server.contexts, world.client.over()), (4, 4, None));
}

#[test]
fn a_context_that_the_server_does_not_prove_is_none() {
    for protection in ALL {
        for (wrong, cause, outcome) in [
            (Wrong::Key, Cause::Untrusted, Outcome::Failed),
            (Wrong::Signature, Cause::Untrusted, Outcome::Failed),
            (Wrong::NoVerifier, Cause::Untrusted, Outcome::Failed),
            (Wrong::Window, Cause::Untrusted, Outcome::Failed),
            (Wrong::CutToken, Cause::Malformed, Outcome::Failed),
            (Wrong::NoWindow, Cause::Malformed, Outcome::Failed),
            (Wrong::Major(851_968), Cause::LogonRefused, Outcome::Refused),
            (Wrong::Major(1), Cause::LogonRefused, Outcome::Refused),
            (Wrong::Denied(13), Cause::LogonRefused, Outcome::Refused),
        ] {
            let mut world = World::new(protection);
            world.connect(wrong);
            assert_eq!(world.seen.take_done(Tag::CONNECT), Some(failed(cause, outcome)), "{wrong:?}");
            assert_eq!(world.client.over(), Some(cause));
            assert!(taken(&mut world.out).is_empty(), "no call without a context");
        }
    }
}

#[test]
fn damaged_answers_never_succeed() {
    for protection in ALL {
        let mut world = World::connected(protection);
        world.null(1);
        let call = taken(&mut world.out);
        let answer = world.server.answer(&call, &[], Wrong::Nothing);
        for at in 8..answer.len() {
            let mut world = World::connected(protection);
            world.null(1);
            let call = taken(&mut world.out);
            world.client.sent(0, world.out.end(), NOW);
            let mut answer = world.server.answer(&call, &[], Wrong::Nothing);
            answer[at] ^= 1;
            world.arrive(&answer);
            let result = world.seen.take_done(Tag(1)).unwrap();
            assert!(result.is_err(), "{protection:?}, byte {at}: {result:?}");
        }
    }
}

#[test]
fn no_more_calls_are_outstanding_than_the_window_allows() {
    let mut world = World::connected(Protection::None);
    (1..=4).for_each(|tag| world.null(tag));
    let mut calls = records(&taken(&mut world.out));
    assert_eq!(calls.len(), WINDOW as usize);
    assert_eq!(world.client.outstanding(), 4);
    // The newest is answered first: as long as the oldest is not, a further number would put it below the window.
    let newest = calls.pop().unwrap();
    world.client.sent(0, world.out.end(), NOW);
    let answer = world.server.answer(&newest, &[], Wrong::Nothing);
    world.arrive(&answer);
    assert_eq!(records(&taken(&mut world.out)).len(), 0);
    let mut done = 1;
    while let Some(call) = calls.pop() {
        world.client.sent(0, world.out.end(), NOW);
        let answer = world.server.answer(&call, &[], Wrong::Nothing);
        world.arrive(&answer);
        calls.extend(records(&taken(&mut world.out)));
        assert!(calls.len() <= WINDOW as usize);
        done += 1;
    }
    assert_eq!(done, 4);
    (1..=4).for_each(|tag| assert_eq!(world.seen.take_done(Tag(tag)), Some(Ok(Reply::Nothing))));
    // Those that wait too long fail, and are counted as never sent.
    (5..=8).for_each(|tag| world.null(tag));
    world.client.overdue(i64::MAX, NOW, &mut world.seen);
    for (tag, outcome) in [(5, Outcome::NeverSent), (8, Outcome::NeverSent)] {
        let failure = world.seen.take_done(Tag(tag)).unwrap().unwrap_err();
        assert_eq!((failure.cause, failure.outcome), (Cause::TimedOut, outcome));
    }
}

/// Of 32 calls at once, Ganesha would drop some if it looked at the last one first.
#[test]
fn one_number_of_a_window_of_32_is_left_out() {
    for (window, most) in [(31, 31), (32, 31), (33, 33)] {
        let mut world = World::new(Protection::None);
        world.server.window = window;
        world.connect(Wrong::Nothing);
        world.exchange(&fsinfo(), Wrong::Nothing);
        (1..=40).for_each(|tag| world.null(tag));
        assert_eq!(records(&taken(&mut world.out)).len(), most, "{window}");
    }
}

/// A call of no client.
#[derive(Debug)]
struct Nothing;

impl Context for Nothing {
    fn results_kept(&self) -> Option<usize> {
        Some(0)
    }

    fn queued(&self) -> i64 {
        0
    }
}

#[test]
fn file_data_is_signed_and_encrypted_with_the_arguments() {
    let content = Content::new(7);
    let template = CallTemplate::new(100_003, 3, &Caller::Nobody).unwrap();
    let about =
        About { procedure: Procedure::of(Protocol::Nfs3, 7), intended: None, path: Symbol::NONE, session: None };
    for protection in ALL {
        let gss = Gss::new(ticket(), protection);
        let mut connection = Connection::new(identity(), (100_003, 3), Some(&gss));
        let (mut server, mut out) = (Server::new(protection), Outbox::new());
        assert!(connection.needs_context() && !connection.has_context());
        connection.begin_context(&about, Nothing, NOW, &mut out).unwrap();
        let call = taken(&mut out);
        let xid = u32::from_be_bytes(call[4..8].try_into().unwrap());
        connection.sent(out.end(), NOW);
        let answer = server.answer(&call, &[], Wrong::Nothing);
        let (_, verdict) = plimsoll_wire::rpc::Verdict::parse(&answer[4..]).unwrap();
        let id = connection.ended_by(xid).unwrap().id;
        assert!(connection.open(id, &answer[4..], verdict).is_ok() && connection.has_context());
        for length in [0, 1, 4, 70_003] {
            let data = Data { content: &content, key: 3, offset: 5, length };
            connection.send((&template, 7), &about, Some(data), Nothing, &mut out, |bytes| {
                bytes.put_opaque(b"handle");
                Asked::default()
            });
            let call = taken(&mut out);
            assert_eq!(records(&call).len(), 1);
            server.answer(&call, &[], Wrong::Nothing);
            let mut expected = Vec::new();
            expected.put_opaque(b"handle");
            let (head, rest) = server.last.1.split_at(expected.len());
            assert_eq!(head, expected);
            assert_eq!(rest.len(), (length as usize).next_multiple_of(4));
            assert!(content.matches(3, 5, &rest[..length as usize]));
        }
        // Another connection gets another context.
        connection.moved(Endpoint::NOWHERE, 1);
        assert!(connection.needs_context());
    }
}
