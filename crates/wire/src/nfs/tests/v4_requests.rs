//! Compounds as a client writes them: an observer's view is the second opinion.

use crate::nfs::v3::write::Stable;
use crate::nfs::v4::access::{ALL_RIGHTS, Access};
use crate::nfs::v4::bind::BindConnection;
use crate::nfs::v4::client_id::{ConfirmOpen, Renew, SetClientId, Unconfirmed};
use crate::nfs::v4::close::{Close, FreeState, ReturnDelegation};
use crate::nfs::v4::copy::{CloneRange, CopyRange, Ranges};
use crate::nfs::v4::create::{Create, Kind};
use crate::nfs::v4::create_session::{Channel, CreateSession};
use crate::nfs::v4::exchange_id::ExchangeId;
use crate::nfs::v4::getattr::{ChangeAttributes, GetAttributes};
use crate::nfs::v4::lock::{Lock, Owner, TestLock, Unlock};
use crate::nfs::v4::names::{Link, Lookup, Remove, Rename};
use crate::nfs::v4::open::{Claim, How, NO_DELEGATION, Open};
use crate::nfs::v4::putfh::PutHandle;
use crate::nfs::v4::read::Read;
use crate::nfs::v4::read_plus::ReadPlus;
use crate::nfs::v4::readdir::ReadDir;
use crate::nfs::v4::sequence::Sequence;
use crate::nfs::v4::session_end::{DestroyClient, DestroySession, ReclaimComplete};
use crate::nfs::v4::sparse::{Allocate, Deallocate, Seek};
use crate::nfs::v4::write::{Commit, Write};
use crate::nfs::v4::{
    Compound, CompoundCall, FileHandle, GetHandle, Mask, PutRoot, ReadLink, Restore, Save, SetAttributes, StateId,
};
use crate::xdr::builder::Xdr;

pub(super) const STATE: StateId = StateId { sequence: 3, other: *b"a state's id" };
const OTHER: StateId = StateId { sequence: 4, other: *b"another's id" };
pub(super) const CHANNEL: Channel =
    Channel { request: 1_053_000, response: 1_053_001, cached: 4_096, operations: 8, slots: 64 };

const LOCK: Lock<'_> =
    Lock { exclusive: true, waits: false, reclaim: false, offset: 1, length: 2, owner: Owner::Known(STATE, 0) };

pub(super) fn xdr_state() -> Xdr {
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
    let new = Owner::New { open: STATE, sequences: (0, 0), client: 7, owner: b"who" };
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
        .add(&Lock { reclaim: true, offset: 10, length: 20, owner: new, ..LOCK })
        .add(&Lock { exclusive: false, waits: true, ..LOCK })
        .add(&TestLock { exclusive: false, offset: 1, length: 2, client: 7, owner: b"who" })
        .add(&Unlock { state: STATE, sequence: 0, offset: 1, length: 2 })
        .add(&ExchangeId { verifier: [1; 8], owner: b"owner", flags: 0 })
        .add(&CreateSession { client: 7, sequence: 1, flags: 2, fore: CHANNEL, back: CHANNEL, callback: 0x4000_0000 })
        .add(&ReclaimComplete)
        .add(&BindConnection([5; 16]))
        .add(&DestroySession([5; 16]))
        .add(&DestroyClient(7))
        .add(&CopyRange(Ranges { from: STATE, to: OTHER, from_offset: 1, to_offset: 2, count: 3 }))
        .add(&CloneRange(Ranges { from: STATE, to: OTHER, from_offset: 4, to_offset: 5, count: 6 }))
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
        .add(&CopyRange(Ranges { from: STATE, to: STATE, from_offset: 1, to_offset: 2, count: 3 }))
        .add(&CloneRange(Ranges { from: STATE, to: STATE, from_offset: 4, to_offset: 5, count: 6 }))
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
    let (how, claim) = (How::Unchecked(SetAttributes::mode(0o644)), Claim::Name(b"a"));
    Compound::begin(2, &mut bytes).add(&Open { access: 0x401, sequence: 0, client: 1, owner: b"o", how, claim });
    let expected = Xdr::new().opaque("").words(&[2, 1, 18, 0, 0x401, 0]).u64(1).opaque("o");
    let expected = expected.words(&[1, 0, 2, 0, 2, 4, 0o644, 0]).opaque("a");
    assert_eq!(bytes, expected.0);
}

/// RFC 8881 18.16.1, 18.10.1 and 18.34.1 by hand: reclaimed state, and a connection bound to a session.
#[test]
fn what_is_claimed_again_is_what_the_specification_says() {
    let mut bytes = Vec::new();
    Compound::begin(1, &mut bytes)
        .add(&Open { access: 3, sequence: 0, client: 1, owner: b"o", how: How::Existing, claim: Claim::Previous })
        .add(&Lock { reclaim: true, offset: 5, length: 6, ..LOCK })
        .add(&BindConnection([0xA5; 16]));
    let expected = Xdr::new().opaque("").words(&[1, 3, 18, 0, 3, 0]).u64(1).opaque("o");
    // Not created; CLAIM_PREVIOUS, OPEN_DELEGATE_NONE. LOCK: WRITE_LT, reclaim.
    let expected = expected.words(&[0, 1, 0, 12, 2, 1]).u64(5).u64(6).u32(0).then(xdr_state());
    let expected = expected.words(&[0, 41]).fixed(16).words(&[3, 0]);
    assert_eq!(bytes, expected.0);
}

/// RFC 7530 16.33.1, 16.34.1, 16.29.1, 16.18.1, 16.16.1, 16.2.1, 16.10.1 and 16.12.1 by hand: the operations of 4.0 with their sequence IDs.
#[test]
fn what_4_0_has_of_its_own_is_what_the_specification_says() {
    let mut bytes = Vec::new();
    let (how, claim) = (How::Existing, Claim::Name(b"a"));
    let new = Owner::New { open: STATE, sequences: (6, 70), client: 7, owner: b"o" };
    Compound::begin(0, &mut bytes)
        .add(&SetClientId { verifier: [0xA5; 8], owner: b"who", callback: 9 })
        .add(&Unconfirmed { client: 7, verifier: [0xA5; 8] })
        .add(&Renew(7))
        .add(&Open { access: 1, sequence: 4, client: 7, owner: b"o", how, claim })
        .add(&ConfirmOpen { state: STATE, sequence: 5 })
        .add(&Lock { exclusive: false, owner: new, ..LOCK })
        .add(&Lock { owner: Owner::Known(STATE, 71), ..LOCK })
        .add(&Unlock { state: STATE, sequence: 72, offset: 1, length: 2 })
        .add(&Close { state: STATE, sequence: 8 });
    let expected = Xdr::new().opaque("").words(&[0, 9, 35]).fixed(8).opaque("who");
    let expected = expected.u32(9).opaque("tcp").opaque("0.0.0.0.0.0").words(&[1, 36]).u64(7).fixed(8).u32(30).u64(7);
    let expected = expected.words(&[18, 4, 1, 0]).u64(7).opaque("o").words(&[0, 0]).opaque("a");
    let expected = expected.u32(20).then(xdr_state()).words(&[5, 12, 1, 0]).u64(1).u64(2).words(&[1, 6]);
    let expected = expected.then(xdr_state()).u32(70).u64(7).opaque("o").words(&[12, 2, 0]).u64(1).u64(2).u32(0);
    let expected = expected.then(xdr_state()).words(&[71, 14, 2, 72]).then(xdr_state()).u64(1).u64(2);
    let expected = expected.words(&[4, 8]).then(xdr_state());
    assert_eq!(bytes, expected.0);
    let mut seen = CompoundCall::new(&bytes).operations();
    let codes: Vec<u32> = seen.by_ref().map(|operation| operation.code).collect();
    assert_eq!((codes, seen.stopped()), (vec![35, 36, 30, 18, 20, 12, 12, 14, 4], None));
}
