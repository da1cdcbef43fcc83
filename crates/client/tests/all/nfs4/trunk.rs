//! Several connections of one session.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plimsoll_client::nfs4::{Nfs4Client, Nfs4Options, Trunk};
use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::{Client, Failure, Operation, Reply, Tag};
use plimsoll_model::Outcome;
use plimsoll_testkit::nfs4::SESSION;
use plimsoll_wire::nfs::status_name;
use plimsoll_wire::rpc::Caller;

use super::play::Play;
use super::recovery::Server;
use crate::nfs::script::identity;

pub(super) fn shared() -> (Arc<Nfs4Options>, Arc<Trunk>) {
    let options = Arc::new(Nfs4Options::new("/", 1, &Caller::Nobody).unwrap());
    let trunk = options.trunk("one", 2);
    (options, trunk)
}

fn member((options, trunk): &(Arc<Nfs4Options>, Arc<Trunk>), nth: u32) -> Play {
    Play::of(Nfs4Client::trunked(options.clone(), identity(), trunk.clone(), nth))
}

/// Two connections that are ready.
pub(super) fn both(of: &(Arc<Nfs4Options>, Arc<Trunk>)) -> [Play; 2] {
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
    // The first connection creates the session, whichever it is.
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
fn connections_without_a_slot_each_have_separate_sessions_and_this_is_noted() {
    let (options, _) = shared();
    // The server grants 4 slots.
    let trunk = options.trunk("many", 5);
    let of = (options, trunk);
    // A connection that ends leaves its session.
    let mut plays = Vec::new();
    for nth in 0..2 {
        let mut play = member(&of, nth);
        play.connect();
        assert_eq!(play.calls[0].operations, [42], "EXCHANGE_ID");
        play.serve();
        assert_eq!(play.done(Tag::CONNECT), Some(Ok(Reply::Nothing)));
        assert_eq!(of.0.separate_sessions.load(Relaxed), 5);
        assert_eq!(of.0.load_slots.load(Relaxed), 4);
        plays.push(play);
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

/// The connection that begins to leave last may have nothing to close: the session remains until the other one has closed its files.
#[test]
fn the_session_remains_until_every_connection_has_closed_its_files() {
    let of = shared();
    let mut plays = both(&of);
    let (access, caching) = (Access::Read, Caching::None);
    for tag in 10..13 {
        let open = Operation::Open { path: "file", access, disposition: Disposition::Open, caching };
        plays[0].begin(tag, &open);
        plays[0].serve();
        assert!(plays[0].done(Tag(tag)).unwrap().is_ok());
    }
    for play in &mut plays {
        play.client.leave(play.now, &mut play.out, &mut play.seen);
        play.receive();
    }
    let mut left = Vec::new();
    while plays.iter().any(|play| !play.calls.is_empty()) {
        for play in plays.iter_mut().filter(|play| !play.calls.is_empty()) {
            let call = play.calls.remove(0);
            left.extend(call.operations.last().copied());
            play.answer(&call, &call.fine());
        }
    }
    assert_eq!(left, [4, 4, 4, 44, 57], "CLOSE, DESTROY_SESSION, DESTROY_CLIENTID");
    for play in &plays {
        assert_eq!(play.done(Tag::LEAVE), Some(Ok(Reply::Nothing)));
    }
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

/// Two connections with a file and a lock each.
fn holders(of: &(Arc<Nfs4Options>, Arc<Trunk>)) -> [Play; 2] {
    both(of).map(|mut play| {
        let file = play.open();
        play.begin(2, &Operation::Lock { file, offset: 0, length: 9, exclusive: true, wait: false });
        play.serve();
        assert!(play.done(Tag(2)).unwrap().is_ok());
        play.file = Some(file);
        play
    })
}

/// The server answers both, and time passes, until both have ended what has this tag, or for a minute.
fn settle(server: &mut Server, plays: &mut [Play], tag: u64) {
    let begun = plays.iter().map(|play| play.now).max().unwrap();
    loop {
        let served: usize = plays.iter_mut().map(|play| server.serve(play, 1)).sum();
        if served > 0 {
            continue;
        }
        let waiting = |play: &&mut Play| {
            play.client.over().is_none() && (play.done(Tag(tag)).is_none() || play.client.outstanding() > 0)
        };
        let next = plays.iter_mut().filter(waiting).min_by_key(|play| play.client.wakes_at());
        match next {
            Some(play) if play.client.wakes_at() < begun + 60_000_000_000 => play.wake(),
            _ => return,
        }
    }
}

fn times(server: &Server, what: &str) -> usize {
    server.log.iter().filter(|said| **said == what).count()
}

/// Requests that both have on their way, and what becomes of them.
fn begin(plays: &mut [Play]) {
    for play in plays {
        let file = play.file.unwrap();
        play.begin(9, &Operation::GetattrOpen { file });
        play.begin(10, &Operation::Unlock { file, offset: 0, length: 9 });
    }
}

fn check(plays: &[Play], what: &str) {
    for play in plays {
        for tag in [9, 10] {
            assert!(play.done(Tag(tag)).is_some_and(|done| done.is_ok()), "{what}: {:?}", play.done(Tag(tag)));
        }
        assert_eq!((play.client.over(), play.client.outstanding()), (None, 0), "{what}");
        play.check_rows(what);
    }
}

#[test]
fn a_session_that_is_destroyed_is_made_again_by_one_connection_and_has_the_others() {
    for (loses, first) in [[false, false], [true, false], [true, true]].into_iter().flat_map(|it| [(it, 0), (it, 1)]) {
        let of = shared();
        let mut plays = holders(&of);
        begin(&mut plays);
        let mut server = Server { knows_client: true, ..Server::restarted(false) };
        for (play, loses) in plays.iter_mut().zip(loses) {
            if loses {
                assert!(play.lose());
                play.rejoin();
            }
        }
        // Whichever notices first.
        plays.rotate_left(first);
        settle(&mut server, &mut plays, 10);
        let what = format!("{loses:?}, {first}: {:?}", server.log);
        assert_eq!(
            (times(&server, "created"), times(&server, "bound"), times(&server, "identified")),
            (1, 1, 0),
            "{what}"
        );
        check(&plays, &what);
    }
}

#[test]
fn after_a_restart_both_connections_claim_their_files_before_one_says_so() {
    for (loses, grace) in
        [[true, true], [true, false], [false, false]].into_iter().flat_map(|it| [(it, true), (it, false)])
    {
        let of = shared();
        let mut plays = holders(&of);
        begin(&mut plays);
        let mut server = Server::restarted(grace);
        for (play, loses) in plays.iter_mut().zip(loses) {
            if loses {
                assert!(play.lose());
                play.rejoin();
            }
        }
        settle(&mut server, &mut plays, 10);
        let what = format!("{loses:?}, {grace}: {:?}", server.log);
        let once = ["identified", "created", "bound", "complete"].map(|it| times(&server, it));
        assert_eq!(once, [1; 4], "{what}");
        let (opens, locks) = if grace { ("reclaimed", "lock reclaimed") } else { ("opened anew", "locked") };
        assert_eq!((times(&server, opens), times(&server, locks)), (2, 2), "{what}");
        check(&plays, &what);
    }
}

/// Either connection breaks again after any of the server's answers, and the server restarts again, or does not.
#[test]
fn a_recovery_of_two_connections_that_is_interrupted_anywhere_begins_again() {
    let cases = (0..16).flat_map(|n| [0, 1].map(|which| (n, which)));
    for (breaks, which) in cases {
        for (again, grace) in [(false, true), (true, true), (false, false), (true, false)] {
            let of = shared();
            let mut plays = holders(&of);
            begin(&mut plays);
            let mut server = Server::restarted(grace);
            for play in &mut plays {
                assert!(play.lose());
                play.rejoin();
            }
            let mut left = breaks;
            while left > 0 {
                let served: usize = plays.iter_mut().map(|play| server.serve(play, 1)).sum();
                if served == 0 {
                    plays.iter_mut().for_each(Play::wake);
                }
                left -= 1;
            }
            let what = format!("after {breaks}, {which}, {again}, {grace}: {:?}", server.log);
            if again {
                // With the server all of its connections end.
                server = Server::restarted(grace);
                assert!(plays[1 - which].lose(), "{what}");
            }
            assert!(plays[which].lose(), "{what}");
            plays[which].rejoin();
            if again {
                plays[1 - which].rejoin();
            }
            settle(&mut server, &mut plays, 10);
            check(&plays, &what);
        }
    }
}

#[test]
fn connections_that_do_not_come_back_hold_up_nobody() {
    // It is given up, or has nothing to send and does not notice.
    for is_over in [true, false] {
        let of = shared();
        let mut plays = holders(&of);
        begin(&mut plays[..1]);
        if is_over {
            assert!(plays[1].lose());
            plays[1].client.broken(plays[1].now, Cause::ConnectionRefused, &mut plays[1].seen);
        }
        let mut server = Server { life: 100, ..Server::restarted(true) };
        let begun = plays[0].now;
        settle(&mut server, &mut plays[..1], 10);
        assert_eq!(times(&server, "complete"), 1, "{:?}", server.log);
        check(&plays[..1], "alone");
        let took = plays[0].now - begun;
        assert_eq!(took > 5_000_000_000, !is_over, "it waits five seconds for one that may come: {took}");
        if !is_over {
            // Too late to claim: it opens its file anew.
            begin(&mut plays[1..]);
            settle(&mut server, &mut plays, 10);
            check(&plays, "late");
            assert_eq!((times(&server, "opened anew"), times(&server, "complete")), (1, 1), "{:?}", server.log);
        }
    }
}

#[test]
fn a_connection_made_anew_leaves_the_claims_to_the_others() {
    let of = shared();
    let mut plays = holders(&of);
    begin(&mut plays[..1]);
    assert!(plays[0].lose());
    plays[1].client.broken(plays[1].now, Cause::ConnectionReset, &mut plays[1].seen);
    let mut server = Server { life: 100, ..Server::restarted(true) };
    let mut next = member(&of, 1);
    next.connect();
    settle(&mut server, std::slice::from_mut(&mut next), Tag::CONNECT.0);
    assert_eq!(next.done(Tag::CONNECT), Some(Ok(Reply::Nothing)));
    assert_eq!((times(&server, "created"), times(&server, "complete")), (1, 0), "the other one has something to claim");
    plays[0].rejoin();
    settle(&mut server, &mut plays[..1], 10);
    check(&plays[..1], "claims");
    assert_eq!((times(&server, "reclaimed"), times(&server, "complete")), (1, 1), "{:?}", server.log);
}

/// Every status in answer to every request of a recovery of two connections, at two places of its compound: whatever waits for it ends,
/// and no connection hangs.
#[test]
fn every_status_in_answer_to_every_request_of_a_shared_recovery_ends_it() {
    let statuses = (1..100).chain(10_001..10_100).filter(|&it| status_name(4, it).is_some());
    let steps = (0..8).flat_map(|step| [(step, 0, true), (step, 1, true), (step, 0, false), (step, 1, false)]);
    let mut cases = 0;
    for (status, (step, place, grace)) in statuses.flat_map(|status| steps.clone().map(move |it| (status, it))) {
        let of = shared();
        let mut plays = holders(&of);
        begin(&mut plays);
        let mut server = Server::restarted(grace);
        for play in &mut plays {
            assert!(play.lose());
            play.rejoin();
        }
        for _ in 0..step {
            let served: usize = plays.iter_mut().map(|play| server.serve(play, 1)).sum();
            if served == 0 {
                plays.iter_mut().for_each(Play::wake);
            }
        }
        let Some(play) = plays.iter_mut().find(|play| !play.calls.is_empty()) else { continue };
        let call = play.calls.remove(0);
        if place >= call.operations.len() {
            continue;
        }
        play.answer(&call, &call.failing(place, status));
        settle(&mut server, &mut plays, 10);
        let what = format!("status {status} at {place} of request {step}, {grace}: {:?}", server.log);
        for play in &mut plays {
            if play.client.over().is_none() && play.done(Tag(10)).is_none() {
                play.time_out();
                play.serve();
            }
            for tag in [9, 10] {
                let done = play.done(Tag(tag)).unwrap_or_else(|| panic!("{what}: {tag} never ends"));
                let refused =
                    |failure: &Failure| failure.cause == Cause::Status || failure.outcome == Outcome::NeverSent;
                assert!(
                    done.as_ref()
                        .err()
                        .is_none_or(|failure| refused(failure) || play.client.over() == Some(failure.cause)),
                    "{what}: {done:?}"
                );
            }
            assert_eq!(play.client.outstanding(), 0, "{what}");
            play.check_rows(&what);
        }
        cases += 1;
    }
    assert!(cases > 2_000, "{cases}");
}
