//! What happens at the limits of the server.

use plimsoll_wire::nfs::v4::lock::Unlock;

use super::*;
use crate::memory::{Change, New};
use crate::nfs4::opens::Share;
use crate::nfs4::ranges::Span;

#[test]
fn a_new_session_gets_the_slots_of_silent_clients() {
    let mut server = server();
    let identify = |server: &Server, owner: &[u8]| {
        let results = answer(server, 1, |compound| {
            compound.add(&ExchangeId { verifier: [1; 8], owner, flags: 0 });
        });
        let [Done::Client(client)] = done(&results, &[42])[..] else { panic!("{results:?}") };
        client.id
    };
    let most = Channel { slots: 256, ..CHANNEL };
    for number in 0..256_u32 {
        let id = identify(&server, &number.to_be_bytes());
        for sequence in 1..=16 {
            assert_eq!(status(&Client::create_with(&server, id, sequence, most)), Status::OK);
        }
        assert_eq!(status(&Client::create_with(&server, id, 17, most)), Status::NOSPC, "it has 16");
    }
    let late = identify(&server, b"late");
    assert_eq!(status(&Client::create(&server, late, 1)), Status::DELAY);
    server.pass(91);
    assert_eq!(status(&Client::create(&server, late, 1)), Status::OK);
}

#[test]
fn a_destroyed_client_opens_nothing_more() {
    let server = server();
    let client = Client::new(&server, b"one");
    let node = server.system.make(server.system.root(), b"file", New::File, &Change::default()).unwrap();
    // As a compound holds it that is still running.
    let session = server.sessions.get(&client.session).unwrap();
    let open = || server.opens.write().open(&session.client, b"o", &node, Share { access: 3, deny: 3 });
    let state = open().unwrap();
    let number = server.opens.read().find(client.id, state).unwrap().0;
    let destroy = || {
        status(&answer(&server, 1, |compound| {
            compound.add(&DestroyClient(client.id));
        }))
    };
    let results = answer(&server, 1, |compound| {
        compound.add(&DestroySession(client.session));
    });
    assert_eq!((status(&results), destroy()), (Status::OK, Status::CLIENTID_BUSY));
    server.opens.write().close(number);
    assert!(open().is_ok(), "it is not gone yet");
    server.opens.write().close(number + 1);
    assert_eq!((destroy(), open()), (Status::OK, Err(Status::BADSESSION)));
}

#[test]
fn a_file_full_of_locks_can_be_unlocked() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let (open, handle) = client.open(b"o", b"file", 3).unwrap();
    let from = server.opens.read().find(client.id, open).unwrap().0;
    let lock = |first, length, exclusive| {
        server.opens.write().lock(from, Some(b"a"), Span::new(first, length).unwrap(), exclusive)
    };
    for number in 0..4094 {
        lock(number * 20, 10, true).unwrap();
    }
    // Of another kind, in the middle of one: two more.
    let mut state = lock(4, 2, false).unwrap();
    assert_eq!(lock(4094 * 20, 10, true), Err(Status::DELAY));
    let mut unlock = |offset, length| {
        let done = client.on(&handle, &Unlock { state, sequence: 0, offset, length });
        state.sequence += u32::from(done == Status::OK);
        done
    };
    assert_eq!(unlock(24, 2), Status::DELAY, "it would be two");
    assert_eq!((unlock(28, 2), unlock(20, 2)), (Status::OK, Status::OK), "it gets shorter");
    assert_eq!((unlock(40, 10), unlock(24, 2)), (Status::OK, Status::OK), "there is room again");
    assert_eq!((unlock(64, 2), unlock(0, u64::MAX)), (Status::DELAY, Status::OK));
}
