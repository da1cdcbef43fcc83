//! Read delegations: granted, recalled over a connection of the client, returned or revoked.

use plimsoll_wire::nfs::v4::CompoundCall;
use plimsoll_wire::nfs::v4::close::{FreeState, ReturnDelegation};
use plimsoll_wire::nfs::v4::getattr::ChangeAttributes;
use plimsoll_wire::nfs::v4::names::{Link as HardLink, Rename};
use plimsoll_wire::nfs::v4::open::{Delegation, NO_DELEGATION, READ, READ_DELEGATION};
use plimsoll_wire::nfs::v4::sequence::SequenceReply;
use plimsoll_wire::rpc::Call as RpcCall;
use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::nfs4::opens::TIME_TO_RETURN;

/// A client that can be called.
struct Callable<'s> {
    client: Client<'s>,
    link: Link,
    calls: UnboundedReceiver<Vec<u8>>,
}

/// A recall that was sent: its xid, sequence ID, the state ID and the file.
#[derive(Debug, PartialEq)]
struct Recalled {
    xid: u32,
    sequence: u32,
    state: Vec<u8>,
    handle: Vec<u8>,
}

impl<'s> Callable<'s> {
    fn new(server: &'s Server, owner: &[u8]) -> Self {
        let (link, calls) = Link::new();
        let callable = Self { client: Client::new(server, owner), link, calls };
        callable.bind();
        callable
    }

    fn bind(&self) {
        let results = answer_over(self.client.server, Some(&self.link), 1, |compound| {
            compound.add(&BindConnection(self.client.session));
        });
        assert!(matches!(done(&results, &[41])[..], [Done::Bound(bound)] if bound.back_channel));
    }

    /// The recalls that were sent.
    fn recalls(&mut self) -> Vec<Recalled> {
        let sent = std::iter::from_fn(|| self.calls.try_recv().ok());
        sent.map(|bytes| recalled(&bytes)).collect()
    }

    fn answer(&self, xid: u32, status: u32) {
        let mut reply = Vec::new();
        [xid, 1, 0, 0, 0, 0, status, 0, 0].iter().for_each(|&word| reply.put_u32(word));
        assert!(self.link.answered(self.client.server, &reply));
    }
}

fn recalled(bytes: &[u8]) -> Recalled {
    let (mark, message) = bytes.split_first_chunk::<4>().unwrap();
    assert_eq!(u32::from_be_bytes(*mark), 0x8000_0000 | message.len() as u32);
    let call = RpcCall::new(message).unwrap();
    assert_eq!((call.program(), call.version(), call.procedure()), (1, 1, 1));
    let compound = CompoundCall::callback(call.arguments().unwrap());
    let mut operations = compound.operations();
    let [sequence, recall] = operations.by_ref().collect::<Vec<_>>()[..] else { panic!("{bytes:?}") };
    assert_eq!((operations.stopped(), sequence.code, recall.code), (None, 11, 4));
    Recalled {
        xid: call.xid(),
        sequence: sequence.facts.slot.unwrap().sequence,
        state: recall.facts.delegation.unwrap().to_vec(),
        handle: recall.facts.handle.unwrap().to_vec(),
    }
}

/// Opens a file for reading, and asks for a delegation.
fn wants(client: &mut Client<'_>, name: &[u8]) -> (Option<Delegation>, FileHandle) {
    let root = client.export();
    let open = Open {
        access: READ | READ_DELEGATION,
        sequence: 0,
        client: client.id,
        owner: b"reader",
        how: How::Existing,
        claim: Claim::Name(name),
    };
    let results = client.ask(|compound| {
        compound.add(&PutHandle(&root)).add(&open).add(&GetHandle);
    });
    match done(&results, &[53, 22, 18, 10])[..] {
        [.., Done::Opened(opened), Done::Handle(handle)] => (opened.delegation, handle),
        ref other => panic!("{other:?}"),
    }
}

/// A server with the file `file`.
fn with_file() -> Server {
    let server = server();
    let mut maker = Client::new(&server, b"maker");
    let (state, handle) = maker.open(b"o", b"file", 2).unwrap();
    assert_eq!(maker.on(&handle, &Close { state, sequence: 0 }), Status::OK);
    drop(maker);
    server
}

fn bytes(state: StateId) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.emit(&mut bytes);
    bytes
}

/// The flags of SEQUENCE.
fn flags(client: &mut Client<'_>) -> u32 {
    let results = client.ask(|_| {});
    match done(&results, &[53])[..] {
        [Done::Sequence(SequenceReply { flags, .. })] => flags,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn another_client_that_writes_waits_until_the_delegation_is_returned() {
    let server = with_file();
    let (mut one, mut two) = (Callable::new(&server, b"one"), Client::new(&server, b"two"));
    let (delegation, handle) = wants(&mut one.client, b"file");
    let Delegation { state, recalled, writes } = delegation.unwrap();
    assert!(!recalled && !writes);
    assert_eq!(wants(&mut one.client, b"file").0, None, "it has one");
    assert!(one.client.open(b"o", b"file", 3 | NO_DELEGATION).is_ok(), "it is in nobody's way but others'");
    assert_eq!(two.open(b"o", b"file", 1).map(|_| ()), Ok(()), "others may read");
    assert!(one.recalls().is_empty());
    for _ in 0..3 {
        assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    }
    let [recall] = &one.recalls()[..] else { panic!("one recall") };
    assert_eq!((&recall.state, &recall.handle[..], recall.sequence), (&bytes(state), handle.as_bytes(), 1));
    one.answer(recall.xid, 0);
    assert_eq!(one.client.on(&handle, &ReturnDelegation { state }), Status::OK);
    assert_eq!(one.client.on(&handle, &ReturnDelegation { state }), Status::BAD_STATEID);
    assert_eq!(wants(&mut one.client, b"file").0, None, "the client that waits comes first");
    assert!(two.open(b"w", b"file", 2).is_ok());
    server.pass(6);
    assert_eq!(wants(&mut one.client, b"file").0, None, "another client writes it");
}

#[test]
fn what_is_not_returned_in_time_is_revoked() {
    let server = with_file();
    let (mut one, mut two) = (Callable::new(&server, b"one"), Client::new(&server, b"two"));
    let (delegation, handle) = wants(&mut one.client, b"file");
    let state = delegation.unwrap().state;
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    server.pass(TIME_TO_RETURN);
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    assert_eq!(flags(&mut one.client), 0);
    server.pass(1);
    assert!(two.open(b"w", b"file", 2).is_ok());
    assert_eq!(flags(&mut one.client), 0x40);
    let read = Read { state, offset: 0, count: 1 };
    assert_eq!(one.client.on(&handle, &read), Status::DELEG_REVOKED);
    assert_eq!(one.client.on(&handle, &ReturnDelegation { state }), Status::DELEG_REVOKED);
    assert_eq!(one.client.on(&handle, &FreeState { state }), Status::OK);
    assert_eq!((flags(&mut one.client), one.client.on(&handle, &read)), (0, Status::BAD_STATEID));
}

#[test]
fn every_change_by_another_client_recalls_it() {
    type Change = fn(&mut Client<'_>, FileHandle, FileHandle) -> Status;
    let changes: [Change; 7] = [
        |client, root, _| client.on(&root, &Remove { name: b"file" }),
        |client, root, _| {
            status(&client.ask(|compound| {
                compound.add(&PutHandle(&root)).add(&Save).add(&Rename { from: b"file", to: b"other" });
            }))
        },
        |client, root, _| {
            status(&client.ask(|compound| {
                compound.add(&PutHandle(&root)).add(&Save).add(&Rename { from: b"source", to: b"file" });
            }))
        },
        |client, root, handle| {
            status(&client.ask(|compound| {
                compound.add(&PutHandle(&handle)).add(&Save).add(&PutHandle(&root)).add(&HardLink { name: b"second" });
            }))
        },
        |client, _, handle| {
            let attributes = SetAttributes::mode(0o600);
            client.on(&handle, &ChangeAttributes { state: StateId::ANONYMOUS, attributes })
        },
        |client, root, _| {
            let how = How::Unchecked(SetAttributes { size: Some(0), mode: None });
            let (id, claim) = (client.id, Claim::Name(b"file"));
            client.on(&root, &Open { access: READ, sequence: 0, client: id, owner: b"t", how, claim })
        },
        |client, _, handle| {
            let write = Write { state: StateId::ANONYMOUS, offset: 0, count: 4, stable: Stable::Unstable };
            let mut arguments = Vec::new();
            client.sequence += 1;
            Compound::begin(1, &mut arguments)
                .add(&client.slot(0, client.sequence))
                .add(&PutHandle(&handle))
                .add(&write);
            arguments.extend(b"data");
            let mut out = Vec::new();
            compound::run(client.server, None, &arguments, &mut out).unwrap();
            status(&out)
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let server = with_file();
        let (mut one, mut two) = (Callable::new(&server, b"one"), Client::new(&server, b"two"));
        two.open(b"s", b"source", 2).unwrap();
        let root = two.export();
        let (delegation, handle) = wants(&mut one.client, b"file");
        assert_eq!((change(&mut two, root, handle), one.recalls().len()), (Status::DELAY, 1), "change {number}");
        let state = delegation.unwrap().state;
        assert_eq!(one.client.on(&handle, &ReturnDelegation { state }), Status::OK);
        assert_eq!(change(&mut two, root, handle), Status::OK, "change {number}");
    }
}

#[test]
fn who_cannot_be_called_gets_none_and_neither_does_who_asks_for_none() {
    let server = with_file();
    let mut one = Client::new(&server, b"one");
    assert_eq!(wants(&mut one, b"file").0, None);
    let mut two = Callable::new(&server, b"two");
    let _open = two.client.open(b"o", b"file", READ | NO_DELEGATION).unwrap();
    assert!(wants(&mut two.client, b"file").0.is_some());
    // A connection that has ended cannot be used for calls.
    let mut three = Callable::new(&server, b"three");
    drop(std::mem::replace(&mut three.calls, Link::new().1));
    assert_eq!(wants(&mut three.client, b"file").0, None);
}

#[test]
fn a_recall_is_repeated_until_it_is_confirmed() {
    let server = with_file();
    let (mut one, mut two) = (Callable::new(&server, b"one"), Client::new(&server, b"two"));
    let (delegation, handle) = wants(&mut one.client, b"file");
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    let first = one.recalls().remove(0);
    one.answer(first.xid, Status::DELAY.0);
    assert_eq!((two.open(b"w", b"file", 2), one.recalls()), (Err(Status::DELAY), vec![]));
    server.pass(1);
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    let second = one.recalls().remove(0);
    assert_eq!((second.sequence, &second.state), (2, &first.state));
    // The connection is lost before the answer: the call comes again over the next one, as it was.
    (one.link, one.calls) = Link::new();
    one.bind();
    assert_eq!(one.recalls(), [second]);
    let state = delegation.unwrap().state;
    assert_eq!(one.client.on(&handle, &ReturnDelegation { state }), Status::OK);
    assert!(two.open(b"w", b"file", 2).is_ok());
}
