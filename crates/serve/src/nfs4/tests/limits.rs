//! What happens at the limits of the server and of a session.

use plimsoll_wire::nfs::v4::getattr::ChangeAttributes;
use plimsoll_wire::nfs::v4::lock::Unlock;
use plimsoll_wire::nfs::v4::read_plus::ReadPlus;

use super::*;
use crate::memory::{Change, New};
use crate::nfs4::limits::LONGEST_RECORD;
use crate::nfs4::opens::Share;
use crate::nfs4::ranges::Span;

/// The first request of a slot of another session, whose answer need not be kept.
fn another_session(client: &Client<'_>, sequence: u32, fore: Channel) -> Sequence {
    let results = Client::create_with(client.server, client.id, sequence, fore);
    let [Done::Session(session)] = done(&results, &[43])[..] else { panic!("{results:?}") };
    Sequence { session: session.id, sequence: 1, slot: 0, highest: 0, cache: false }
}

#[test]
fn a_new_session_gets_the_slots_of_silent_clients() {
    let server = server();
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

#[test]
fn a_denied_lock_obeys_the_limits_of_the_answer() {
    let server = server();
    let (mut one, mut two) = (Client::new(&server, b"one"), Client::new(&server, b"two"));
    let lock = |open, owner| {
        let owner = Owner::New { open, sequences: (0, 0), client: 0, owner };
        Lock { exclusive: true, waits: false, reclaim: false, offset: 0, length: 9, owner }
    };
    let (open, handle) = one.open(b"o", b"file", 3).unwrap();
    assert_eq!(one.on(&handle, &lock(open, &[b'a'; 1000])), Status::OK);
    let (open, _) = two.open(b"o", b"file", 3).unwrap();
    assert_eq!(two.on(&handle, &lock(open, b"b")), Status::REP_TOO_BIG_TO_CACHE);
    for (sequence, response, expected) in [(2, 1024, Status::REP_TOO_BIG), (3, 2048, Status::DENIED)] {
        let slot = another_session(&two, sequence, Channel { response, ..CHANNEL });
        let results = answer(&server, 1, |compound| {
            compound.add(&slot).add(&PutHandle(&handle)).add(&lock(open, b"b"));
        });
        assert_eq!(statuses(&results), (expected.0, vec![53, 22, 12]));
        assert_eq!(results.len() > 1024, expected == Status::DENIED);
    }
}

#[test]
fn a_read_plus_obeys_the_limit_of_the_answer() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let (state, handle) = client.open(b"o", b"file", 3).unwrap();
    let node = server.node(handle.as_bytes()).unwrap();
    // Data and a hole in each page: no range of this length has more segments.
    (0..16).for_each(|page| node.write(page << 16, &[7; 1000]).unwrap());
    let read = |sequence: u32, response: u32| {
        let slot = another_session(&client, sequence, Channel { response, ..CHANNEL });
        let results = answer(&server, 2, |compound| {
            compound.add(&slot).add(&PutHandle(&handle)).add(&ReadPlus { state, offset: 0, count: 1 << 20 });
        });
        assert!(results.len() <= response as usize, "{response}: {}", results.len());
        results
    };
    for (sequence, response) in [(2, 512), (3, 16 << 10)] {
        assert_eq!(statuses(&read(sequence, response)), (Status::REP_TOO_BIG.0, vec![53, 22, 68]));
    }
    let bytes = |results: &[u8]| match done(results, &[53, 22, 68])[2] {
        Done::Contents(contents) => (contents.segments().count(), contents.data),
        ref other => panic!("{other:?}"),
    };
    assert_eq!(bytes(&read(4, 32 << 10)), (31, 15 * 1024 + 1000));
    node.write(0, &[7; 1 << 20]).unwrap();
    assert_eq!(statuses(&read(5, 1 << 20)).0, Status::REP_TOO_BIG.0);
    assert_eq!(bytes(&read(6, LONGEST_RECORD as u32)), (1, 1 << 20));
}

#[test]
fn an_answer_that_was_not_kept_has_as_many_results_as_operations() {
    let server = server();
    let client = Client::new(&server, b"one");
    let slot = another_session(&client, 2, Channel { cached: 0, ..CHANNEL });
    let ask = || {
        answer(&server, 1, |compound| {
            compound.add(&slot);
        })
    };
    let first = ask();
    assert_eq!((statuses(&first), ask()), ((0, vec![53]), first));
}

#[test]
fn a_setattr_that_is_not_tried_says_that_it_set_nothing() {
    let server = server();
    let client = Client::new(&server, b"one");
    let set = ChangeAttributes { state: StateId::ANONYMOUS, attributes: SetAttributes::size(0) };
    let alone = answer(&server, 1, |compound| {
        compound.add(&set);
    });
    assert_eq!(alone[12..], [&34_u32.to_be_bytes()[..], &Status::OP_NOT_IN_SESSION.0.to_be_bytes(), &[0; 4]].concat());
    let slot = another_session(&client, 2, Channel { cached: 0, ..CHANNEL });
    let ask = || {
        answer(&server, 1, |compound| {
            compound.add(&slot).add(&set);
        })
    };
    assert_eq!(statuses(&ask()), (Status::NOFILEHANDLE.0, vec![53, 34]));
    let again = ask();
    assert_eq!(statuses(&again), (Status::RETRY_UNCACHED_REP.0, vec![53, 34]));
    assert!(again.ends_with(&[0; 4]), "no attributes");
}

#[test]
fn times_can_be_set_and_the_server_says_so() {
    let server = server();
    let mut out = Vec::new();
    server.put_attributes(server.system.root(), [1 << 15, 0, 0], &mut out);
    // A bitmap of one word with cansettime, and four bytes: true.
    assert_eq!(out, [1_u32, 1 << 15, 4, 1].map(u32::to_be_bytes).concat());
}
