//! Opens and locks of several clients.

use super::*;

#[test]
fn opens_exclude_each_other_and_allow_what_they_say() {
    let server = server();
    let (mut one, mut two) = (Client::new(&server, b"one"), Client::new(&server, b"two"));
    let (state, handle) = one.open(b"o", b"file", open::READ).unwrap();
    let write = |state| Write { state, offset: 0, count: 0, stable: Stable::Unstable };
    assert_eq!(one.on(&handle, &write(state)), Status::OPENMODE);
    assert_eq!(two.on(&handle, &Read { state, offset: 0, count: 1 }), Status::BAD_STATEID, "it belongs to another");
    let (both, _) = one.open(b"o", b"file", open::WRITE).unwrap();
    assert_eq!((both.other, both.sequence), (state.other, state.sequence + 1), "the same open, extended");
    assert_eq!((one.on(&handle, &write(both)), one.on(&handle, &write(state))), (Status::OK, Status::OLD_STATEID));
    assert_eq!(one.on(&handle, &write(StateId { sequence: both.sequence + 1, ..both })), Status::BAD_STATEID);
    assert_eq!(two.on(&handle, &Close { state: both, sequence: 0 }), Status::BAD_STATEID);
    // Removed while it is open, it is still there for those who have it.
    let root = one.export();
    assert_eq!(two.on(&root, &Remove { name: b"file" }), Status::OK);
    assert_eq!(one.on(&handle, &write(both)), Status::OK);
    assert_eq!(one.on(&handle, &Close { state: both, sequence: 0 }), Status::OK);
    assert_eq!(one.on(&handle, &GetAttributes(Mask::USUAL)), Status::STALE);
    // The directory above the export cannot be changed.
    let results = one.ask(|compound| {
        compound.add(&PutRoot).add(&Remove { name: b"export" });
    });
    assert_eq!(status(&results), Status::ROFS);
}

#[test]
fn a_client_that_starts_again_has_nothing_of_before() {
    let server = server();
    let mut old = Client::new(&server, b"one");
    let (open, handle) = old.open(b"o", b"file", 3).unwrap();
    let owner = |owner| Owner::New { open, sequences: (0, 0), client: 0, owner };
    let lock = |owner| Lock { exclusive: true, waits: false, reclaim: false, offset: 0, length: 9, owner };
    assert_eq!(old.on(&handle, &lock(owner(b"a"))), Status::OK);
    assert_eq!(old.on(&handle, &lock(owner(b"b"))), Status::DENIED);
    assert_eq!(server.opens.read().node(handle_number(&handle)).map(|node| node.id()), Some(handle_number(&handle)));
    let results = answer(&server, 1, |compound| {
        compound.add(&ExchangeId { verifier: [2; 8], owner: b"one", flags: 0 });
    });
    let [Done::Client(again)] = done(&results, &[42])[..] else { panic!("{results:?}") };
    assert_eq!(status(&old.ask(|_| {})), Status::OK, "until the new one has a session");
    assert_eq!(status(&Client::create(&server, again.id, again.sequence)), Status::OK);
    assert_eq!(status(&old.ask(|_| {})), Status::BADSESSION);
    assert!(server.opens.read().node(handle_number(&handle)).is_none());
}

fn handle_number(handle: &FileHandle) -> u64 {
    u64::from_be_bytes(handle.as_bytes()[8..].try_into().unwrap())
}
