//! Compounds of our own writer on the server, read by our own strict reader; and what only a broken client sends.

mod damaged;
mod delegations;
mod files;
mod limits;
mod sessions;
mod sparse;

use std::sync::Arc;

use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v4::bind::BindConnection;
use plimsoll_wire::nfs::v4::close::Close;
use plimsoll_wire::nfs::v4::create_session::{Channel, CreateSession};
use plimsoll_wire::nfs::v4::exchange_id::ExchangeId;
use plimsoll_wire::nfs::v4::getattr::GetAttributes;
use plimsoll_wire::nfs::v4::lock::{Lock, Owner};
use plimsoll_wire::nfs::v4::names::{Lookup, Remove};
use plimsoll_wire::nfs::v4::open::{self, Claim, How, Open};
use plimsoll_wire::nfs::v4::putfh::PutHandle;
use plimsoll_wire::nfs::v4::read::Read;
use plimsoll_wire::nfs::v4::sequence::{Sequence, SessionId};
use plimsoll_wire::nfs::v4::session_end::{DestroyClient, DestroySession, ReclaimComplete};
use plimsoll_wire::nfs::v4::write::Write;
use plimsoll_wire::nfs::v4::{
    Call, Compound, CompoundReply, Done, FileHandle, GetHandle, Mask, PutRoot, Reply, Restore, Save, SetAttributes,
    StateId,
};
use plimsoll_wire::xdr::Emit;

use super::back_channel::Link;
use super::status::Status;
use super::{Server, compound, rpc};
use crate::memory::FileSystem;

const CHANNEL: Channel = Channel { request: 1 << 20, response: 1 << 20, cached: 4096, operations: 16, slots: 4 };

fn server() -> Server {
    Server::new(Arc::new(FileSystem::new(64 << 20).unwrap()), "export", false).unwrap()
}

/// The results of a compound, as bytes.
fn answer(server: &Server, minor: u32, add: impl FnOnce(&mut Compound<'_>)) -> Vec<u8> {
    answer_over(server, None, minor, add)
}

/// The same over a connection that the server may use for calls.
fn answer_over(server: &Server, link: Option<&Link>, minor: u32, add: impl FnOnce(&mut Compound<'_>)) -> Vec<u8> {
    let (mut arguments, mut out) = (Vec::new(), Vec::new());
    add(&mut Compound::begin(minor, &mut arguments));
    compound::run(server, link, &arguments, &mut out).unwrap();
    out
}

/// Its status, and the operations in it.
fn statuses(results: &[u8]) -> (u32, Vec<u32>) {
    let reply = CompoundReply::new(results);
    let mut operations = reply.operations();
    let codes = operations.by_ref().map(|operation| operation.code).collect();
    assert_eq!(operations.stopped(), None);
    (reply.status.unwrap(), codes)
}

fn status(results: &[u8]) -> Status {
    Status(statuses(results).0)
}

/// The strict reading of all results.
fn done<'a>(results: &'a [u8], codes: &[u32]) -> Vec<Done<'a>> {
    let mut reply = Reply::parse(results, results.len()).unwrap();
    assert_eq!(reply.status, 0, "{:?}", statuses(results));
    let found = codes.iter().map(|&code| reply.next(code).unwrap().unwrap().result).collect();
    reply.end().unwrap();
    found
}

/// A client with a session.
struct Client<'s> {
    server: &'s Server,
    id: u64,
    session: SessionId,
    sequence: u32,
}

impl<'s> Client<'s> {
    fn new(server: &'s Server, owner: &[u8]) -> Self {
        let results = answer(server, 1, |compound| {
            compound.add(&ExchangeId { verifier: [1; 8], owner, flags: 0 });
        });
        let [Done::Client(client)] = done(&results, &[42])[..] else { panic!("{results:?}") };
        let results = Self::create(server, client.id, client.sequence);
        let [Done::Session(session)] = done(&results, &[43])[..] else { panic!("{results:?}") };
        assert_eq!((session.sequence, session.fore.slots, session.fore.cached), (client.sequence, 4, 1024));
        let mut found = Self { server, id: client.id, session: session.id, sequence: 0 };
        assert_eq!(
            status(&found.ask(|compound| {
                compound.add(&ReclaimComplete);
            })),
            Status::OK
        );
        found
    }

    fn create(server: &Server, client: u64, sequence: u32) -> Vec<u8> {
        Self::create_with(server, client, sequence, CHANNEL)
    }

    fn create_with(server: &Server, client: u64, sequence: u32, fore: Channel) -> Vec<u8> {
        answer(server, 1, |compound| {
            compound.add(&CreateSession { client, sequence, flags: 0, fore, back: CHANNEL, callback: 1 });
        })
    }

    fn slot(&self, slot: u32, sequence: u32) -> Sequence {
        Sequence { session: self.session, sequence, slot, highest: 0, cache: true }
    }

    /// The next request of slot 0.
    fn ask(&mut self, add: impl FnOnce(&mut Compound<'_>)) -> Vec<u8> {
        self.sequence += 1;
        self.again(add)
    }

    fn again(&self, add: impl FnOnce(&mut Compound<'_>)) -> Vec<u8> {
        answer(self.server, 1, |compound| {
            compound.add(&self.slot(0, self.sequence));
            add(compound);
        })
    }

    fn export(&mut self) -> FileHandle {
        let results = self.ask(|compound| {
            compound.add(&PutRoot).add(&Lookup { name: b"export" }).add(&GetHandle);
        });
        let Done::Handle(handle) = done(&results, &[53, 24, 15, 10])[3] else { panic!("{results:?}") };
        handle
    }

    fn open(&mut self, owner: &[u8], name: &[u8], access: u32) -> Result<(StateId, FileHandle), Status> {
        let (root, how) = (self.export(), How::Unchecked(SetAttributes::mode(0o644)));
        let (client, claim) = (self.id, Claim::Name(name));
        let results = self.ask(|compound| {
            compound.add(&PutHandle(&root));
            compound.add(&Open { access, sequence: 0, client, owner, how, claim }).add(&GetHandle);
        });
        if status(&results) != Status::OK {
            return Err(status(&results));
        }
        match done(&results, &[53, 22, 18, 10])[..] {
            [.., Done::Opened(opened), Done::Handle(handle)] => Ok((opened.state, handle)),
            ref other => panic!("{other:?}"),
        }
    }

    fn on<C: Call>(&mut self, handle: &FileHandle, call: &C) -> Status {
        status(&self.ask(|compound| {
            compound.add(&PutHandle(handle)).add(call);
        }))
    }
}
