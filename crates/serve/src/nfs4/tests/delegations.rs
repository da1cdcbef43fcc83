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

    /// Answers a recall: CB_SEQUENCE succeeds.
    fn answer(&self, xid: u32, status: u32) {
        let mut reply = Vec::new();
        [xid, 1, 0, 0, 0, 0, status, 0, 2, 11, 0].iter().for_each(|&word| reply.put_u32(word));
        reply.put_fixed(&self.client.session);
        [1, 0, 0, 0, 4, status].iter().for_each(|&word| reply.put_u32(word));
        assert!(self.link.answered(self.client.server, &reply));
    }

    /// Answers with the words behind the xid and REPLY.
    fn answer_with(&self, xid: u32, words: &[u32]) {
        let mut reply = Vec::new();
        [&[xid, 1][..], words].concat().iter().for_each(|&word| reply.put_u32(word));
        assert!(self.link.answered(self.client.server, &reply));
    }

    /// The connection for calls ends.
    fn hang_up(&mut self) {
        (self.link, self.calls) = Link::new();
    }
}

/// An OPEN for reading under a delegation (CLAIM_DELEG_CUR_FH).
struct OpenUnder {
    client: u64,
    delegation: StateId,
}

impl Call for OpenUnder {
    const OPERATION: u32 = 18;

    fn emit(&self, out: &mut Vec<u8>) {
        [0, READ, 0].iter().for_each(|&word| out.put_u32(word));
        out.put_u64(self.client);
        out.put_opaque(b"under");
        [0, 5].iter().for_each(|&word| out.put_u32(word));
        self.delegation.emit(out);
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
    assert!(
        one.client.open(b"o", b"file", 3 | NO_DELEGATION).is_ok(),
        "the client that holds the delegation may open the file for writing"
    );
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
    let under = OpenUnder { client: one.client.id, delegation: state };
    assert_eq!(one.client.on(&handle, &under), Status::OK);
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    server.pass(TIME_TO_RETURN);
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    assert_eq!(flags(&mut one.client), 0);
    server.pass(1);
    assert!(two.open(b"w", b"file", 2).is_ok());
    assert_eq!(flags(&mut one.client), 0x40);
    let read = Read { state, offset: 0, count: 1 };
    assert_eq!(one.client.on(&handle, &read), Status::DELEG_REVOKED);
    assert_eq!(one.client.on(&handle, &under), Status::DELEG_REVOKED);
    assert_eq!(one.client.on(&handle, &ReturnDelegation { state }), Status::DELEG_REVOKED);
    // It was revoked after DELEGRETURN had found it.
    let number = u64::from_be_bytes(*state.other.first_chunk().unwrap());
    let returned = server.opens.write().return_delegation(number);
    assert_eq!((returned, flags(&mut one.client)), (Err(Status::DELEG_REVOKED), 0x40));
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
    one.hang_up();
    one.bind();
    assert_eq!(one.recalls(), [second]);
    let state = delegation.unwrap().state;
    assert_eq!(one.client.on(&handle, &ReturnDelegation { state }), Status::OK);
    assert!(two.open(b"w", b"file", 2).is_ok());
}

#[test]
fn nobody_gets_a_delegation_of_a_file_for_which_a_client_waits() {
    let server = with_file();
    let (mut one, mut two) = (Callable::new(&server, b"one"), Client::new(&server, b"two"));
    let mut three = Callable::new(&server, b"three");
    let (delegation, handle) = wants(&mut one.client, b"file");
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    // The holder is dead, and the client that waits asks seldom.
    server.pass(60);
    assert_eq!(wants(&mut three.client, b"file").0, None);
    let state = delegation.unwrap().state;
    assert_eq!(one.client.on(&handle, &ReturnDelegation { state }), Status::OK);
    let (written, _) = two.open(b"w", b"file", 2).unwrap();
    assert_eq!(two.on(&handle, &Close { state: written, sequence: 0 }), Status::OK);
    let state = wants(&mut three.client, b"file").0.unwrap().state;
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    assert_eq!(three.client.on(&handle, &ReturnDelegation { state }), Status::OK);
    server.pass(16);
    assert_eq!(wants(&mut three.client, b"file").0, None, "clients wait up to 15 s before they ask again");
    server.pass(4);
    assert!(wants(&mut three.client, b"file").0.is_some());
}

#[test]
fn the_time_to_return_begins_with_the_recall_that_was_sent() {
    let server = with_file();
    let (mut one, mut two) = (Callable::new(&server, b"one"), Client::new(&server, b"two"));
    let (delegation, _) = wants(&mut one.client, b"file");
    one.hang_up();
    for _ in 0..3 {
        assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
        server.pass(TIME_TO_RETURN + 1);
    }
    one.bind();
    let [recall] = &one.recalls()[..] else { panic!("one recall, which waited") };
    assert_eq!((&recall.state, recall.sequence), (&bytes(delegation.unwrap().state), 1));
    server.pass(TIME_TO_RETURN);
    assert_eq!((two.open(b"w", b"file", 2), flags(&mut one.client)), (Err(Status::DELAY), 0));
    server.pass(1);
    assert!(two.open(b"w", b"file", 2).is_ok());
    assert_eq!(flags(&mut one.client), 0x40);
}

#[test]
fn a_client_that_cannot_be_called_loses_the_delegation_after_the_time_of_a_lease() {
    let server = with_file();
    let (mut one, mut two) = (Callable::new(&server, b"one"), Client::new(&server, b"two"));
    assert!(wants(&mut one.client, b"file").0.is_some());
    one.hang_up();
    for passed in [50, 40, 1] {
        assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
        assert_eq!(flags(&mut one.client), 0);
        server.pass(passed);
    }
    assert!(two.open(b"w", b"file", 2).is_ok());
    assert_eq!(flags(&mut one.client), 0x40, "its lease was renewed");
}

#[test]
fn a_call_that_the_client_did_not_accept_uses_no_sequence_id() {
    let server = with_file();
    let (mut one, mut two) = (Callable::new(&server, b"one"), Client::new(&server, b"two"));
    assert!(wants(&mut one.client, b"file").0.is_some());
    // Accepted, but the program is unavailable; accepted, and CB_SEQUENCE fails with DELAY.
    for words in [&[0, 0, 0, 1][..], &[0, 0, 0, 0, 10_008, 0, 1, 11, 10_008]] {
        assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
        let recall = one.recalls().remove(0);
        assert_eq!(recall.sequence, 1, "{words:?}");
        one.answer_with(recall.xid, words);
        server.pass(1);
    }
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    let recall = one.recalls().remove(0);
    one.answer(recall.xid, Status::DELAY.0);
    server.pass(1);
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    assert_eq!((recall.sequence, one.recalls().remove(0).sequence), (1, 2));
}

#[test]
fn another_connection_of_the_session_is_used_if_one_ends() {
    let server = with_file();
    let (mut one, mut two) = (Callable::new(&server, b"one"), Client::new(&server, b"two"));
    assert!(wants(&mut one.client, b"file").0.is_some());
    let (first_link, mut first_calls) = (one.link.clone(), std::mem::replace(&mut one.calls, Link::new().1));
    (one.link, one.calls) = Link::new();
    one.bind();
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    let sent = one.recalls();
    assert_eq!(sent.len(), 1, "over the last one");
    one.hang_up();
    server.pass(1);
    assert_eq!(two.open(b"w", b"file", 2), Err(Status::DELAY));
    let again = recalled(&first_calls.try_recv().unwrap());
    assert_eq!(sent, [again]);
    one.link = first_link;
    one.answer(sent[0].xid, 0);
    server.pass(1);
    assert_eq!((two.open(b"w", b"file", 2), first_calls.try_recv().is_err()), (Err(Status::DELAY), true), "confirmed");
}
