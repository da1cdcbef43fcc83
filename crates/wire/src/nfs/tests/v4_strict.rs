//! Compounds as a client says and reads them: the tolerant view is the second opinion.

use crate::nfs::v3::FileType;
use crate::nfs::v3::write::Stable;
use crate::nfs::v4::access::{ALL_RIGHTS, Access, Granted};
use crate::nfs::v4::bind::{BindConnection, Bound};
use crate::nfs::v4::client_id::{ConfirmOpen, Renew, SetClientId, Unconfirmed};
use crate::nfs::v4::close::{Close, FreeState, ReturnDelegation};
use crate::nfs::v4::copy::{CloneRange, Copied, CopyRange};
use crate::nfs::v4::create::{Create, Kind};
use crate::nfs::v4::create_session::{Channel, CreateSession, Session};
use crate::nfs::v4::exchange_id::{Client, ExchangeId};
use crate::nfs::v4::getattr::{ChangeAttributes, GetAttributes};
use crate::nfs::v4::lock::{Lock, Owner, TestLock, Unlock};
use crate::nfs::v4::names::{Link, Lookup, Remove, Rename};
use crate::nfs::v4::open::{Claim, Delegation, How, NO_DELEGATION, Open, Opened};
use crate::nfs::v4::putfh::PutHandle;
use crate::nfs::v4::read::{Data, Read};
use crate::nfs::v4::read_plus::{ReadPlus, Segment};
use crate::nfs::v4::readdir::ReadDir;
use crate::nfs::v4::sequence::{Sequence, SequenceReply};
use crate::nfs::v4::session_end::{DestroyClient, DestroySession, ReclaimComplete};
use crate::nfs::v4::sparse::{Allocate, Deallocate, Found, Seek};
use crate::nfs::v4::write::{Commit, Write, Written};
use crate::nfs::v4::{
    Attributes, Compound, CompoundCall, CompoundReply, Done, FileHandle, GetHandle, Mask, PutRoot, ReadLink, Reply,
    Restore, Save, SetAttributes, StateId,
};
use crate::xdr::Malformed;
use crate::xdr::builder::{Xdr, damage};

const STATE: StateId = StateId { sequence: 3, other: *b"a state's id" };
const OTHER: StateId = StateId { sequence: 4, other: *b"another's id" };
const CHANNEL: Channel = Channel { request: 1_053_000, response: 1_053_001, cached: 4_096, operations: 8, slots: 64 };

fn xdr_state() -> Xdr {
    let mut xdr = Xdr::new().u32(3);
    xdr.0.extend(b"a state's id");
    xdr
}

/// Every request in one compound.
fn everything(handle: &FileHandle) -> Vec<u8> {
    let mut bytes = Vec::new();
    add_everything(handle, &mut Compound::begin(1, &mut bytes));
    bytes.extend(b"data");
    bytes
}

fn add_everything(handle: &FileHandle, compound: &mut Compound<'_>) {
    let attributes = SetAttributes { size: Some(0), mode: Some(0o644) };
    let open = |how, claim| Open { access: 3 | NO_DELEGATION, sequence: 0, client: 7, owner: b"who", how, claim };
    compound
        .add(&Sequence { session: [5; 16], sequence: 9, slot: 2, highest: 4, cache: true })
        .add(&PutRoot)
        .add(&PutHandle(handle))
        .add(&Lookup { name: b"folder" })
        .add(&GetHandle)
        .add(&GetAttributes(Mask::USUAL))
        .add(&GetAttributes(Mask::of(&[])))
        .add(&Save)
        .add(&Restore)
        .add(&open(How::Existing, Claim::Name(b"old")))
        .add(&open(How::Unchecked(attributes), Claim::Current))
        .add(&open(How::Guarded(SetAttributes::mode(0o600)), Claim::Name(b"new")))
        .add(&open(How::Existing, Claim::Previous))
        .add(&Close { state: STATE, sequence: 0 })
        .add(&ReturnDelegation { state: STATE })
        .add(&FreeState { state: STATE })
        .add(&Read { state: STATE, offset: 1 << 40, count: 77 })
        .add(&Commit)
        .add(&ChangeAttributes { state: STATE, attributes: SetAttributes::size(5) })
        .add(&ReadDir { cookie: 1, verifier: [2; 8], directory_count: 3, count: 4, attributes: Mask::OF_ENTRIES })
        .add(&Create { kind: Kind::Directory, name: b"made", attributes })
        .add(&Create { kind: Kind::Link(b"text"), name: b"link", attributes: SetAttributes::default() })
        .add(&Remove { name: b"gone" })
        .add(&Rename { from: b"from", to: b"to" })
        .add(&Link { name: b"second" })
        .add(&ReadLink)
        .add(&Access { rights: ALL_RIGHTS })
        .add(&Lock {
            exclusive: true,
            waits: false,
            reclaim: true,
            offset: 10,
            length: 20,
            owner: Owner::New { open: STATE, sequences: (0, 0), client: 7, owner: b"who" },
        })
        .add(&Lock {
            exclusive: false,
            waits: true,
            reclaim: false,
            offset: 1,
            length: 2,
            owner: Owner::Known(STATE, 0),
        })
        .add(&TestLock { exclusive: false, offset: 1, length: 2, client: 7, owner: b"who" })
        .add(&Unlock { state: STATE, sequence: 0, offset: 1, length: 2 })
        .add(&ExchangeId { verifier: [1; 8], owner: b"owner", flags: 0 })
        .add(&CreateSession { client: 7, sequence: 1, flags: 2, fore: CHANNEL, back: CHANNEL, callback: 0x4000_0000 })
        .add(&ReclaimComplete)
        .add(&BindConnection([5; 16]))
        .add(&DestroySession([5; 16]))
        .add(&DestroyClient(7))
        .add(&CopyRange { from: STATE, to: OTHER, from_offset: 1, to_offset: 2, count: 3 })
        .add(&CloneRange { from: STATE, to: OTHER, from_offset: 4, to_offset: 5, count: 6 })
        .add(&Allocate { state: STATE, offset: 1, length: 2 })
        .add(&Deallocate { state: STATE, offset: 3, length: 4 })
        .add(&Seek { state: STATE, offset: 5, hole: true })
        .add(&ReadPlus { state: STATE, offset: 6, count: 7 })
        .add(&Write { state: STATE, offset: 8, count: 4, stable: Stable::FileSync });
}

#[test]
fn a_marked_operation_is_read_as_an_observer_reads_it() {
    let handle = FileHandle::new(b"a handle").unwrap();
    let bytes = everything(&handle);
    let mut seen: Vec<_> = CompoundCall::new(&bytes).operations().collect();
    // Its data follow the compound.
    let write = seen.pop().unwrap();
    let marked = |position, check: &dyn Fn(Option<crate::nfs::v4::Operation<'_>>)| {
        let mut bytes = Vec::new();
        let mut compound = Compound::begin(1, &mut bytes).marking(position);
        add_everything(&handle, &mut compound);
        check(compound.marked());
    };
    for operation in seen {
        marked(operation.position, &|marked| assert_eq!(marked, Some(operation)));
    }
    marked(write.position, &|marked| assert_eq!(marked.map(|marked| marked.facts.offset), Some(Some(8))));
    marked(write.position + 1, &|marked| assert_eq!(marked, None, "not written"));
}

/// The view finds each request with its fields, and nothing after the last.
#[test]
fn what_is_said_is_what_an_observer_sees() {
    let handle = FileHandle::new(b"a handle").unwrap();
    let bytes = everything(&handle);
    let call = CompoundCall::new(&bytes);
    assert_eq!((call.tag, call.minor_version), (Some(&b""[..]), Some(1)));
    let mut operations = call.operations();
    let seen: Vec<_> = operations.by_ref().collect();
    assert_eq!(operations.stopped(), None);
    assert_eq!(seen.len() as u32, call.announced.unwrap());
    let codes: Vec<u32> = seen.iter().map(|operation| operation.code).collect();
    let expected = [
        53, 24, 22, 15, 10, 9, 9, 32, 31, 18, 18, 18, 18, 4, 8, 45, 25, 5, 34, 26, 6, 6, 28, 29, 11, 27, 3, 12, 12, 13,
        14, 42, 43, 58, 41, 44, 57, 60, 71, 59, 62, 69, 68, 38,
    ];
    assert_eq!(codes, expected);
    let facts =
        |code: u32| seen.iter().filter(move |operation| operation.code == code).map(|operation| operation.facts);
    let slot = facts(53).next().unwrap().slot.unwrap();
    assert_eq!((slot.session, slot.sequence, slot.slot), (&[5; 16][..], 9, 2));
    assert_eq!(facts(22).next().unwrap().handle, Some(handle.as_bytes()));
    assert_eq!(facts(18).map(|open| open.name).collect::<Vec<_>>(), [Some(&b"old"[..]), None, Some(b"new"), None]);
    let read = facts(25).next().unwrap();
    assert_eq!((read.offset, read.count), (Some(1 << 40), Some(77)));
    let write = facts(38).next().unwrap();
    assert_eq!((write.offset, write.payload, write.stable), (Some(8), Some(4), Some(2)));
    let mut state = Vec::new();
    STATE.emit(&mut state);
    assert_eq!(facts(8).next().unwrap().delegation, Some(&state[..]));
    let renamed = facts(29).next().unwrap();
    assert_eq!((renamed.name, renamed.to_name), (Some(&b"from"[..]), Some(&b"to"[..])));
    assert_eq!(facts(6).map(|made| made.name).collect::<Vec<_>>(), [Some(&b"made"[..]), Some(b"link")]);
    let locks: Vec<_> = facts(12).map(|lock| (lock.offset, lock.count, lock.lock.unwrap().kind)).collect();
    assert_eq!(locks, [(Some(10), Some(20), 2), (Some(1), Some(2), 3)]);
    let ranges =
        [60, 71, 59, 62, 69, 68].map(|code| facts(code).map(|facts| (facts.offset, facts.count)).next().unwrap());
    // Of two files the range in the second one.
    let expected = [(2, Some(3)), (5, Some(6)), (1, Some(2)), (3, Some(4)), (5, None), (6, Some(7))];
    assert_eq!(ranges, expected.map(|(offset, count)| (Some(offset), count)));
}

/// RFC 7863 by hand: COPY4args, CLONE4args, ALLOCATE4args, SEEK4args, READ_PLUS4args.
#[test]
fn what_4_2_adds_is_what_the_specification_says() {
    let mut bytes = Vec::new();
    Compound::begin(2, &mut bytes)
        .add(&CopyRange { from: STATE, to: STATE, from_offset: 1, to_offset: 2, count: 3 })
        .add(&CloneRange { from: STATE, to: STATE, from_offset: 4, to_offset: 5, count: 6 })
        .add(&Allocate { state: STATE, offset: 7, length: 8 })
        .add(&Deallocate { state: STATE, offset: 9, length: 10 })
        .add(&Seek { state: STATE, offset: 11, hole: false })
        .add(&Seek { state: STATE, offset: 12, hole: true })
        .add(&ReadPlus { state: STATE, offset: 13, count: 14 });
    let expected = Xdr::new().opaque("").words(&[2, 7, 60]).then(xdr_state()).then(xdr_state());
    // Consecutive, synchronous, no other server.
    let expected = expected.u64(1).u64(2).u64(3).words(&[1, 1, 0, 71]).then(xdr_state()).then(xdr_state());
    let expected = expected.u64(4).u64(5).u64(6).u32(59).then(xdr_state()).u64(7).u64(8);
    let expected = expected.u32(62).then(xdr_state()).u64(9).u64(10).u32(69).then(xdr_state()).u64(11).words(&[0, 69]);
    let expected = expected.then(xdr_state()).u64(12).words(&[1, 68]).then(xdr_state()).u64(13).u32(14);
    assert_eq!(bytes, expected.0);
}

/// RFC 8881 18.16.1 and 3.3.9 by hand: OPEN of "a", which is made with mode 0644.
#[test]
fn an_open_is_what_the_specification_says() {
    let mut bytes = Vec::new();
    let how = How::Unchecked(SetAttributes::mode(0o644));
    Compound::begin(2, &mut bytes).add(&Open {
        access: 0x401,
        sequence: 0,
        client: 1,
        owner: b"o",
        how,
        claim: Claim::Name(b"a"),
    });
    let expected = Xdr::new()
        .opaque("")
        .words(&[2, 1, 18, 0, 0x401, 0])
        .u64(1)
        .opaque("o")
        .words(&[1, 0, 2, 0, 2, 4, 0o644, 0])
        .opaque("a");
    assert_eq!(bytes, expected.0);
}

/// RFC 8881 18.16.1, 18.10.1 and 18.34.1 by hand: reclaimed state, and a connection bound to a session.
#[test]
fn what_is_claimed_again_is_what_the_specification_says() {
    let mut bytes = Vec::new();
    Compound::begin(1, &mut bytes)
        .add(&Open { access: 3, sequence: 0, client: 1, owner: b"o", how: How::Existing, claim: Claim::Previous })
        .add(&Lock {
            exclusive: true,
            waits: false,
            reclaim: true,
            offset: 5,
            length: 6,
            owner: Owner::Known(STATE, 0),
        })
        .add(&BindConnection([0xA5; 16]));
    let expected = Xdr::new()
        .opaque("")
        .words(&[1, 3, 18, 0, 3, 0])
        .u64(1)
        .opaque("o")
        // Not created; CLAIM_PREVIOUS, OPEN_DELEGATE_NONE. LOCK: WRITE_LT, reclaim.
        .words(&[0, 1, 0, 12, 2, 1])
        .u64(5)
        .u64(6)
        .u32(0)
        .then(xdr_state())
        .words(&[0, 41])
        .fixed(16)
        .words(&[3, 0]);
    assert_eq!(bytes, expected.0);
}

/// RFC 7530 16.33.1, 16.34.1, 16.29.1, 16.18.1, 16.16.1, 16.2.1, 16.10.1 and 16.12.1 by hand: the operations of 4.0 with their sequence IDs.
#[test]
fn what_4_0_has_of_its_own_is_what_the_specification_says() {
    let mut bytes = Vec::new();
    let (how, claim) = (How::Existing, Claim::Name(b"a"));
    Compound::begin(0, &mut bytes)
        .add(&SetClientId { verifier: [0xA5; 8], owner: b"who", callback: 9 })
        .add(&Unconfirmed { client: 7, verifier: [0xA5; 8] })
        .add(&Renew(7))
        .add(&Open { access: 1, sequence: 4, client: 7, owner: b"o", how, claim })
        .add(&ConfirmOpen { state: STATE, sequence: 5 })
        .add(&Lock {
            exclusive: false,
            waits: false,
            reclaim: false,
            offset: 1,
            length: 2,
            owner: Owner::New { open: STATE, sequences: (6, 70), client: 7, owner: b"o" },
        })
        .add(&Lock {
            exclusive: true,
            waits: false,
            reclaim: false,
            offset: 1,
            length: 2,
            owner: Owner::Known(STATE, 71),
        })
        .add(&Unlock { state: STATE, sequence: 72, offset: 1, length: 2 })
        .add(&Close { state: STATE, sequence: 8 });
    let expected = Xdr::new()
        .opaque("")
        .words(&[0, 9, 35])
        .fixed(8)
        .opaque("who")
        .u32(9)
        .opaque("tcp")
        .opaque("0.0.0.0.0.0")
        .words(&[1, 36])
        .u64(7)
        .fixed(8)
        .u32(30)
        .u64(7)
        .words(&[18, 4, 1, 0])
        .u64(7)
        .opaque("o")
        .words(&[0, 0])
        .opaque("a")
        .u32(20)
        .then(xdr_state())
        .words(&[5, 12, 1, 0])
        .u64(1)
        .u64(2)
        .words(&[1, 6])
        .then(xdr_state())
        .u32(70)
        .u64(7)
        .opaque("o")
        .words(&[12, 2, 0])
        .u64(1)
        .u64(2)
        .u32(0)
        .then(xdr_state())
        .words(&[71, 14, 2, 72])
        .then(xdr_state())
        .u64(1)
        .u64(2)
        .words(&[4, 8])
        .then(xdr_state());
    assert_eq!(bytes, expected.0);
    let mut seen = CompoundCall::new(&bytes).operations();
    let codes: Vec<u32> = seen.by_ref().map(|operation| operation.code).collect();
    assert_eq!((codes, seen.stopped()), (vec![35, 36, 30, 18, 20, 12, 12, 14, 4], None));
}

fn compound(status: u32, results: &[Xdr]) -> Vec<u8> {
    let head = Xdr::new().u32(status).opaque("").u32(results.len() as u32);
    results.iter().fold(head, |xdr, result| xdr.then(result.clone())).0
}

/// Reads results for the requested operations; the strict and the tolerant reader must return the same operations.
fn read_all<'a>(bytes: &'a [u8], asked: &[u32]) -> Result<Vec<Done<'a>>, Malformed> {
    let mut reply = Reply::parse(bytes, bytes.len())?;
    let mut done = Vec::new();
    for &code in asked {
        match reply.next(code)? {
            Some(answered) => done.push(answered.result),
            None => break,
        }
    }
    reply.end()?;
    Ok(done)
}

fn sequence() -> Xdr {
    Xdr::new().words(&[53, 0]).fixed(16).words(&[9, 2, 63, 31, 0])
}

fn attributes() -> Xdr {
    // type 1 (file), size 1,234, mode 0644: bits 1 and 4 of the first word, 33 - 32 of the second.
    Xdr::new().words(&[2, 0x12, 2, 16, 1]).u64(1_234).u32(0o644)
}

fn change() -> Xdr {
    Xdr::new().u32(1).u64(1).u64(2)
}

fn channel() -> Xdr {
    Xdr::new().words(&[0, 1_053_000, 1_053_001, 4_096, 8, 64, 0])
}

/// Servers' answers by operation, and the client's readings of them.
fn answers() -> Vec<(u32, Xdr, Done<'static>)> {
    let state = Done::State(STATE);
    let (kind, size, mode) = (Some(FileType::Regular), Some(1_234), Some(0o644));
    let known = Attributes { kind, size, mode, ..Attributes::default() };
    let opened = |delegation| Done::Opened(Opened { state: STATE, unconfirmed: true, delegation });
    let delegation = |writes| Some(Delegation { state: STATE, recalled: false, writes });
    let open = || xdr_state().then(change()).words(&[2, 1, 0x12]);
    let session = Session { id: [0xA5; 16], sequence: 1, flags: 2, fore: CHANNEL, back: CHANNEL };
    let client = Client { id: 7, sequence: 1, flags: 0x0001_0000, implementation: Some(b"Ganesha") };
    let bound = |back_channel| Done::Bound(Bound { session: [0xA5; 16], back_channel });
    let unconfirmed = Unconfirmed { client: 7, verifier: [0xA5; 8] };
    let written = Written { count: 4, committed: Stable::Unstable, verifier: [0xA5; 8] };
    let sequence = SequenceReply { session: [0xA5; 16], sequence: 9, slot: 2, highest: 63, target: 31, flags: 0 };
    let copied =
        |consecutive| Done::Copied(Copied { count: 9, committed: Stable::FileSync, verifier: [0xA5; 8], consecutive });
    vec![
        (3, Xdr::new().words(&[0x3F, 0x1F]), Done::Access(Granted { supported: 0x3F, granted: 0x1F })),
        (4, xdr_state(), state),
        (5, Xdr::new().fixed(8), Done::Committed([0xA5; 8])),
        (6, change().words(&[1, 2]), Done::Nothing),
        (8, Xdr::new(), Done::Nothing),
        (9, attributes(), Done::Attributes(known)),
        (10, Xdr::new().opaque("handle"), Done::Handle(FileHandle::new(b"handle").unwrap())),
        (11, change(), Done::Nothing),
        (12, xdr_state(), state),
        (13, Xdr::new(), Done::Nothing),
        (14, xdr_state(), state),
        (15, Xdr::new(), Done::Nothing),
        (18, open().u32(0), opened(None)),
        (18, open().words(&[3, 0]), opened(None)),
        (18, open().words(&[3, 2, 1]), opened(None)),
        (18, open().u32(1).then(xdr_state()).words(&[0, 0, 0, 0]).opaque("who"), opened(delegation(false))),
        (18, open().u32(2).then(xdr_state()).words(&[0, 1, 0, 9, 0, 0, 0]).opaque(""), opened(delegation(true))),
        (20, xdr_state(), state),
        (22, Xdr::new(), Done::Nothing),
        (25, Xdr::new().u32(1).opaque("hello"), Done::Data(Data { count: 5, eof: true, kept: b"hello" })),
        (27, Xdr::new().opaque("some/where"), Done::Link(b"some/where")),
        (28, change(), Done::Nothing),
        (29, change().then(change()), Done::Nothing),
        (30, Xdr::new(), Done::Nothing),
        (34, Xdr::new().words(&[1, 0x10]), Done::Nothing),
        (35, Xdr::new().u64(7).fixed(8), Done::Unconfirmed(unconfirmed)),
        (36, Xdr::new(), Done::Nothing),
        (38, Xdr::new().words(&[4, 0]).fixed(8), Done::Written(written)),
        (41, Xdr::new().fixed(16).words(&[1, 0]), bound(false)),
        (41, Xdr::new().fixed(16).words(&[3, 0]), bound(true)),
        (
            42,
            Xdr::new()
                .u64(7)
                .words(&[1, 0x0001_0000, 0])
                .u64(0)
                .opaque("major")
                .opaque("scope")
                .u32(1)
                .then(Xdr::new().opaque("domain").opaque("Ganesha").fixed(12)),
            Done::Client(client),
        ),
        (43, Xdr::new().fixed(16).words(&[1, 2]).then(channel()).then(channel()), Done::Session(session)),
        (44, Xdr::new(), Done::Nothing),
        (45, Xdr::new(), Done::Nothing),
        (53, Xdr::new().fixed(16).words(&[9, 2, 63, 31, 0]), Done::Sequence(sequence)),
        (59, Xdr::new(), Done::Nothing),
        (60, Xdr::new().u32(0).u64(9).u32(2).fixed(8).words(&[1, 1]), copied(true)),
        // Not in order, but complete.
        (60, Xdr::new().u32(0).u64(9).u32(2).fixed(8).words(&[0, 1]), copied(false)),
        (62, Xdr::new(), Done::Nothing),
        (69, Xdr::new().u32(1).u64(1 << 40), Done::Found(Found { eof: true, offset: 1 << 40 })),
        (71, Xdr::new(), Done::Nothing),
        (57, Xdr::new(), Done::Nothing),
        (58, Xdr::new(), Done::Nothing),
    ]
}

#[test]
fn answers_are_read_to_their_end_and_an_observer_agrees() {
    for (code, body, expected) in answers() {
        let bytes = compound(0, &[sequence(), Xdr::new().words(&[code, 0]).then(body)]);
        let done = read_all(&bytes, &[53, code]).unwrap_or_else(|error| panic!("{code}: {error}"));
        assert_eq!(done[1], expected, "{code}");
        let mut seen = CompoundReply::new(&bytes).operations();
        let codes: Vec<u32> = seen.by_ref().map(|operation| operation.code).collect();
        assert_eq!((codes, seen.stopped()), (vec![53, code], None));
        damage(&bytes, |bytes| {
            let _ = read_all(bytes, &[53, code]);
        });
        let mut longer = bytes.clone();
        longer.extend([0; 4]);
        assert_eq!(read_all(&longer, &[53, code]), Err(Malformed), "{code}: bytes are left over");
        for end in 0..bytes.len() {
            assert_eq!(read_all(&bytes[..end], &[53, code]), Err(Malformed), "{code}, cut at {end}");
        }
    }
}

#[test]
fn the_first_refusal_is_the_last_result() {
    let refused = |code: u32, status: u32, body: Xdr| {
        let bytes = compound(status, &[sequence(), Xdr::new().words(&[code, status]).then(body)]).leak();
        read_all(bytes, &[53, code, 9])
    };
    assert_eq!(refused(22, 70, Xdr::new()).unwrap()[1], Done::Nothing);
    assert_eq!(refused(34, 13, Xdr::new().words(&[1, 0])).unwrap()[1], Done::Nothing, "SETATTR says what it has set");
    let taken = Xdr::new().opaque("tcp").opaque("10.0.0.1.3.4");
    assert_eq!(refused(35, 10_017, taken.clone()).unwrap()[1], Done::Nothing, "whose the name is");
    assert_eq!(refused(35, 10_018, taken), Err(Malformed));
    let denied = Xdr::new().u64(0).u64(9).u32(2).u64(7).opaque("other");
    assert_eq!(refused(12, 10_010, denied.clone()).unwrap()[1], Done::Nothing);
    let how = Xdr::new().words(&[1, 0]);
    assert_eq!(refused(60, 10_094, how.clone()).unwrap()[1], Done::Nothing, "COPY says how it can copy");
    assert_eq!((refused(60, 10_004, how.clone()), refused(71, 10_094, how)), (Err(Malformed), Err(Malformed)));
    assert_eq!(refused(12, 10_011, denied), Err(Malformed), "only a denied LOCK says whose lock is in the way");
    // An operation that the server does not know.
    let unknown = compound(10_044, &[sequence(), Xdr::new().words(&[10_044, 10_044])]);
    assert_eq!(read_all(&unknown, &[53, 71]).unwrap().len(), 2);
    // No operation was tried.
    assert_eq!(read_all(&compound(10_021, &[]), &[53]).unwrap().len(), 0);
    let puzzles = [
        // It goes on behind a failure; it says another status than the last one's; another operation than was asked.
        compound(0, &[Xdr::new().words(&[22, 70]), Xdr::new().words(&[15, 0])]),
        compound(0, &[Xdr::new().words(&[22, 70])]),
        compound(70, &[Xdr::new().words(&[22, 0])]),
        compound(0, &[Xdr::new().words(&[24, 0])]),
        compound(0, &[Xdr::new().words(&[10_044, 0])]),
    ];
    puzzles.iter().for_each(|bytes| assert_eq!(read_all(bytes, &[22, 15]), Err(Malformed)));
    // More results than operations.
    assert_eq!(
        read_all(&compound(0, &[Xdr::new().words(&[22, 0]), Xdr::new().words(&[15, 0])]), &[22]),
        Err(Malformed)
    );
}

#[test]
fn data_that_was_dropped_is_counted() {
    let whole = compound(0, &[Xdr::new().words(&[25, 0, 1]).opaque([7; 1_001])]);
    let head = &whole[..28];
    let read = |head: &[u8], length: usize| -> Result<u32, Malformed> {
        let mut reply = Reply::parse(head, length)?;
        let Some(Done::Data(data)) = reply.next(25)?.map(|answered| answered.result) else { return Err(Malformed) };
        reply.end()?;
        Ok(data.count)
    };
    assert_eq!((read(head, whole.len()), read(&whole[..500], whole.len())), (Ok(1_001), Ok(1_001)));
    assert_eq!((read(head, whole.len() + 4), read(head, 20)), (Err(Malformed), Err(Malformed)));
    assert_eq!(read(&whole, whole.len() + 1), Err(Malformed));
}

/// Data at 100 and a hole behind it.
fn contents(count: u32) -> Xdr {
    Xdr::new().words(&[68, 0, 1, count, 0]).u64(100).opaque("hello").u32(1).u64(105).u64(95)
}

#[test]
fn data_and_holes_are_read_one_behind_the_other() {
    let bytes = compound(0, &[contents(2)]);
    let done = read_all(&bytes, &[68]).unwrap();
    let Done::Contents(contents) = done[0] else { panic!("{done:?}") };
    assert_eq!((contents.eof, contents.data), (true, 5));
    assert_eq!((contents.ends_by(100, 100), contents.ends_by(100, 99)), (true, false), "the hole goes on");
    let read = |offset: u64, count: u32| {
        let mut pieces = Vec::new();
        contents.read(offset, count, |piece| pieces.push(piece)).map(|bytes| (bytes, pieces))
    };
    let (data, hole) = (Segment::Data { offset: 100, bytes: b"hello" }, |length| Segment::Hole { offset: 105, length });
    assert_eq!(read(100, 100), Ok((100, vec![data, hole(95)])));
    assert_eq!(read(100, 1_000), Ok((100, vec![data, hole(95)])));
    // A hole may be longer than the range, but data may not, and it begins where it was asked for.
    assert_eq!(read(100, 8), Ok((8, vec![data, hole(3)])));
    assert_eq!((read(100, 4), read(99, 100), read(101, 100)), (Err(Malformed), Err(Malformed), Err(Malformed)));
    assert_eq!(read(u64::MAX, 1), Err(Malformed));
    let mut seen = CompoundReply::new(&bytes).operations();
    assert_eq!((seen.next().unwrap().facts.payload, seen.stopped()), (Some(5), None));
    damage(&bytes, |bytes| {
        if let Ok(done) = read_all(bytes, &[68])
            && let [Done::Contents(contents)] = done[..]
        {
            let of_data = |segment| if let Segment::Data { bytes, .. } = segment { bytes.len() } else { 0 };
            assert_eq!(contents.segments().map(of_data).sum::<usize>(), contents.data as usize);
            for (offset, count) in [(0, 1_000), (100, 100), (u64::MAX - 7, 7)] {
                let read = contents.read(offset, count, |_| {});
                assert!(read.is_err() || read.is_ok_and(|bytes| bytes <= count));
            }
        }
    });
}

#[test]
fn a_hole_may_begin_before_the_range() {
    let hole = |offset: u64, length: u64| {
        let bytes = compound(0, &[Xdr::new().words(&[68, 0, 0, 1, 1]).u64(offset).u64(length)]).leak();
        let Done::Contents(contents) = read_all(bytes, &[68]).unwrap()[0] else { panic!("{bytes:?}") };
        contents.read(50, 10, |piece| assert_eq!(piece, Segment::Hole { offset: 50, length: 10 }))
    };
    assert_eq!((hole(0, 1_000), hole(50, u64::MAX - 50), hole(0, 60)), (Ok(10), Ok(10), Ok(10)));
    assert_eq!((hole(0, 49), hole(51, 9), hole(50, u64::MAX)), (Err(Malformed), Err(Malformed), Err(Malformed)));
    let empty = compound(0, &[Xdr::new().words(&[68, 0, 1, 0])]);
    let Done::Contents(contents) = read_all(&empty, &[68]).unwrap()[0] else { panic!("{empty:?}") };
    assert_eq!(contents.read(50, 10, |_| panic!("it has no piece")), Ok(0));
}

#[test]
fn contents_that_violate_the_specification_are_malformed() {
    for (what, results) in [
        ("fewer segments than there are", contents(1)),
        ("more segments than there are", contents(3)),
        ("four billion segments", contents(u32::MAX)),
        ("a segment of no kind", Xdr::new().words(&[68, 0, 1, 1, 2]).u64(100).u64(5)),
        ("data that is longer than the message", Xdr::new().words(&[68, 0, 1, 1, 0]).u64(100).words(&[9, 0])),
        ("an end that is neither", Xdr::new().words(&[68, 0, 2, 0])),
        ("a copy that goes on", Xdr::new().words(&[60, 0, 1]).then(xdr_state()).u64(9).u32(2).fixed(8).words(&[1, 1])),
        ("an order that is neither", Xdr::new().words(&[60, 0, 0]).u64(9).u32(2).fixed(8).words(&[2, 1])),
        ("a copy without its end", Xdr::new().words(&[60, 0, 0]).u64(9).u32(2).fixed(8).words(&[1, 0])),
    ] {
        let asked = results.0[3];
        assert_eq!(read_all(&compound(0, &[results]), &[asked.into()]), Err(Malformed), "{what}");
    }
}

#[test]
fn a_directory_is_read_page_by_page() {
    let entry = |cookie: u64, name: &str| Xdr::new().u32(1).u64(cookie).opaque(name).then(attributes());
    let page = Xdr::new().words(&[26, 0]).fixed(8).then(entry(4, "a")).then(entry(9, "b\u{e9}")).words(&[0, 1]);
    let bytes = compound(0, &[page]);
    let done = read_all(&bytes, &[26]).unwrap();
    let Done::Page(page) = done[0] else { panic!("{done:?}") };
    assert_eq!((page.verifier, page.cookie, page.eof), ([0xA5; 8], Some(9), true));
    let names: Vec<_> = page.entries().map(|entry| (entry.name, entry.cookie, entry.attributes.size)).collect();
    assert_eq!(names, [(&b"a"[..], 4, Some(1_234)), ("b\u{e9}".as_bytes(), 9, Some(1_234))]);
    damage(&bytes, |bytes| {
        if let Ok(done) = read_all(bytes, &[26])
            && let [Done::Page(page)] = done[..]
        {
            assert_eq!(page.entries().last().map(|entry| entry.cookie), page.cookie);
        }
    });
    let empty = compound(0, &[Xdr::new().words(&[26, 0]).fixed(8).words(&[0, 1])]);
    assert!(matches!(read_all(&empty, &[26]).unwrap()[0], Done::Page(page) if page.entries().count() == 0));
}

#[test]
fn attributes_that_nobody_asks_for_are_malformed() {
    let told = |mask: &[u32], values: Xdr| {
        let bytes = compound(0, &[Xdr::new().words(&[9, 0, mask.len() as u32]).words(mask).opaque(values.0)]);
        read_all(&bytes, &[9]).map(|done| match done[0] {
            Done::Attributes(attributes) => attributes,
            _ => Attributes::default(),
        })
    };
    // lease_time, maxread, maxwrite; space_avail, space_total.
    let server = told(&[0xC000_0400], Xdr::new().u32(60).u64(1 << 20).u64(1 << 19)).unwrap();
    assert_eq!((server.lease_seconds, server.max_read, server.max_write), (Some(60), Some(1 << 20), Some(1 << 19)));
    let space = told(&[0, 0x1400], Xdr::new().u64(5).u64(6)).unwrap();
    assert_eq!((space.space_available, space.space_total), (Some(5), Some(6)));
    assert!(told(&[1], Xdr::new().words(&[1, 2])).is_err(), "supported_attrs");
    assert!(told(&[0x10], Xdr::new().u64(5).u32(0)).is_err(), "values are left over");
    assert!(told(&[0x10], Xdr::new().u32(5)).is_err(), "a value is cut");
    assert!(told(&[0; 9], Xdr::new()).is_err(), "more words than there are attributes");
    // Everything that Linux asks for.
    let usual = Xdr::new().u32(2).u64(1).u64(2).u64(3).u64(4).u64(5).words(&[0o755, 2]).opaque("0").opaque("0");
    let usual = usual.words(&[0, 0]).u64(6).fixed(36).u64(7);
    let usual = told(&[0x0010_011A, 0x00B0_A23A], usual).unwrap();
    let seen = (usual.kind, usual.size, usual.file_id, usual.mode);
    assert_eq!(seen, (Some(FileType::Directory), Some(2), Some(5), Some(0o755)));
}
