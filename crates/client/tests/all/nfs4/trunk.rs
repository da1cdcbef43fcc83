//! Several connections of one session.

use std::sync::Arc;

use plimsoll_client::nfs4::{Nfs4Client, Nfs4Options, Trunk};
use plimsoll_client::operation::Cause;
use plimsoll_client::{Client, Operation, Reply, Tag};
use plimsoll_wire::rpc::Caller;

use super::play::Play;
use super::script::SESSION;
use crate::nfs::script::identity;

fn shared() -> (Arc<Nfs4Options>, Arc<Trunk>) {
    let options = Arc::new(Nfs4Options::new("/", 1, &Caller::Nobody).unwrap());
    let trunk = options.trunk("one", 2);
    (options, trunk)
}

fn member((options, trunk): &(Arc<Nfs4Options>, Arc<Trunk>), nth: u32) -> Play {
    Play::of(Nfs4Client::trunked(options.clone(), identity(), trunk.clone(), nth))
}

/// Two connections that are ready.
fn both(of: &(Arc<Nfs4Options>, Arc<Trunk>)) -> [Play; 2] {
    [0, 1].map(|nth| {
        let mut play = member(of, nth);
        play.connect();
        play.serve();
        assert_eq!(play.done(Tag::CONNECT), Some(Ok(Reply::Nothing)));
        play
    })
}

#[test]
fn one_makes_the_session_and_others_wait_for_it() {
    let of = shared();
    let (mut one, mut other) = (member(&of, 0), member(&of, 1));
    // Whoever is first makes it, whichever it is.
    other.connect();
    one.connect();
    assert!(one.calls.is_empty(), "it waits");
    one.wake();
    assert!(one.calls.is_empty(), "still");
    other.serve();
    one.wake();
    assert_eq!(one.calls[0].operations, [41], "BIND_CONN_TO_SESSION");
    assert_eq!(one.calls[0].arguments[16..32], SESSION);
    one.serve();
    for play in [&one, &other] {
        assert_eq!(play.done(Tag::CONNECT), Some(Ok(Reply::Nothing)));
        play.check_rows("trunk");
    }
}

#[test]
fn slots_and_owners_of_connections_are_their_own_and_the_last_one_gives_the_session_back() {
    let of = shared();
    let mut plays = both(&of);
    let mut slots = Vec::new();
    for play in &mut plays {
        let file = play.open();
        for tag in 10..13 {
            play.begin(tag, &Operation::GetattrOpen { file });
        }
        assert_eq!(play.calls.len(), 2, "four slots for two connections");
        slots.extend(play.calls.iter().map(|call| call.slot.unwrap().0));
        assert!(play.calls.iter().all(|call| call.session == Some(SESSION)));
        play.serve();
        assert!((10..13).all(|tag| play.done(Tag(tag)).unwrap().is_ok()));
    }
    assert_eq!(slots, [0, 2, 1, 3]);
    let left = plays.map(|mut play| {
        play.client.leave(play.now, &mut play.out, &mut play.seen);
        play.receive();
        let mut left = Vec::new();
        while let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
            left.extend(call.operations.last().copied());
            play.answer(&call, &call.fine());
        }
        assert_eq!(play.done(Tag::LEAVE), Some(Ok(Reply::Nothing)));
        left
    });
    assert_eq!(left, [vec![4], vec![4, 44, 57]], "CLOSE; DESTROY_SESSION and DESTROY_CLIENTID once");
}

#[test]
fn a_connection_that_is_lost_goes_on_and_the_others_notice_nothing() {
    let of = shared();
    let [mut one, mut other] = both(&of);
    let files = [one.open(), other.open()];
    one.begin(9, &Operation::GetattrOpen { file: files[0] });
    other.begin(9, &Operation::GetattrOpen { file: files[1] });
    let lost = one.calls[0].clone();
    assert!(one.lose());
    one.rejoin();
    one.serve_last();
    assert_eq!(one.calls[0].arguments, lost.arguments);
    one.serve();
    other.serve();
    for play in [&one, &other] {
        assert!(play.done(Tag(9)).unwrap().is_ok());
        play.check_rows("lost");
    }
}

#[test]
fn a_session_that_is_lost_ends_its_connections_and_the_next_ones_make_another() {
    let of = shared();
    let plays = both(&of);
    for (mut play, rejoins) in plays.into_iter().zip([false, true]) {
        let file = play.open();
        play.begin(9, &Operation::GetattrOpen { file });
        if rejoins {
            assert!(play.lose());
            play.rejoin();
        }
        let call = play.calls.remove(0);
        play.answer(&call, &call.failing(0, 10_052));
        assert_eq!(play.client.over(), Some(Cause::SessionLost));
        assert_eq!(play.done(Tag(9)).unwrap().unwrap_err().cause, Cause::SessionLost);
        assert_eq!(play.client.outstanding(), 0);
        play.check_rows("session lost");
    }
    let mut next = member(&of, 1);
    next.connect();
    assert_eq!(next.calls[0].operations, [42], "EXCHANGE_ID");
    next.serve();
    let mut behind = member(&of, 0);
    behind.connect();
    assert_eq!(behind.calls[0].operations, [41]);
}
