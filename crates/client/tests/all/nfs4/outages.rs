//! Outages: the time without service, and its end.

use std::sync::Arc;

use plimsoll_client::nfs4::{Nfs4Client, Nfs4Options};
use plimsoll_client::operation::Cause;
use plimsoll_client::{Client, Operation, Tag};
use plimsoll_testkit::nfs4::Asked;
use plimsoll_wire::rpc::Caller;

use super::play::Play;
use super::recovery::{GRACE, Server};
use crate::nfs::script::identity;

/// The outage begins with the last response, although the loss is detected later, and ends with the first success after the last refusal.
#[test]
fn an_outage_is_the_time_without_service() {
    for refusals in 0..3 {
        let options = Arc::new(Nfs4Options::new("/", 1, &Caller::Nobody).unwrap());
        let mut play = Play::of(Nfs4Client::new(Arc::clone(&options), identity(), Some("one")));
        play.connect();
        play.serve();
        (9..12).for_each(|tag| play.begin(tag, &Operation::Getattr { path: "file" }));
        play.serve_last();
        let from = last_response(&play);
        // Nothing arrives for 5 s before the loss is detected.
        play.now += 5_000_000_000;
        assert!(play.lose());
        play.rejoin();
        Server::restarted(true).serve(&mut play, 5);
        let mut until = None;
        for round in 0..refusals {
            let asked: Vec<Asked> = play.calls.drain(..).collect();
            assert_eq!(asked.len(), 2);
            asked.iter().for_each(|call| play.answer(call, &call.failing(1, GRACE)));
            // One that is not refused ends the outage, unless others are refused later.
            play.begin(20 + round, &Operation::Fsinfo);
            play.serve();
            until = Some(last_response(&play));
            while play.calls.len() < 2 {
                play.wake();
            }
        }
        let first = play.calls.remove(0);
        play.answer(&first, &first.fine());
        let until = until.unwrap_or_else(|| last_response(&play));
        // Later successes are no part of it.
        play.now += 1_000_000_000;
        play.serve();
        assert!((9..12).all(|tag| play.done(Tag(tag)).unwrap().is_ok()));
        drop(play);
        assert_eq!(options.recoveries.lock().unwrap().outage_ns, (until - from) as u64, "{refusals}");
    }
}

/// Without outstanding requests no response was missed before the client detected the loss.
#[test]
fn an_outage_of_an_idle_client_begins_when_it_detects_the_loss() {
    let options = Arc::new(Nfs4Options::new("/", 1, &Caller::Nobody).unwrap());
    let mut play = Play::of(Nfs4Client::new(Arc::clone(&options), identity(), Some("one")));
    play.connect();
    play.serve();
    play.now += 5_000_000_000;
    assert!(play.lose());
    let from = play.now;
    play.rejoin();
    play.begin(9, &Operation::Fsinfo);
    play.serve();
    assert!(play.done(Tag(9)).unwrap().is_ok());
    let until = last_response(&play);
    drop(play);
    assert_eq!(options.recoveries.lock().unwrap().outage_ns, (until - from) as u64);
}

/// A client with a name, whose recoveries count.
fn counted() -> (Play, Arc<Nfs4Options>) {
    let options = Arc::new(Nfs4Options::new("/", 1, &Caller::Nobody).unwrap());
    (Play::connected_with(options.clone()), options)
}

/// SEQUENCE says EXPIRED until the client gets another client ID, also of a client without open files.
#[test]
fn a_client_id_that_has_expired_is_replaced() {
    let (mut play, options) = counted();
    play.begin(9, &Operation::Getattr { path: "file" });
    let mut asked = Vec::new();
    while let Some(call) = (!play.calls.is_empty()).then(|| play.calls.remove(0)) {
        asked.push(call.operations[0]);
        let expired = call.slot.is_some() && !asked.contains(&42);
        play.answer(&call, &if expired { call.failing(0, 10_011) } else { call.fine() });
    }
    assert!(play.done(Tag(9)).unwrap().is_ok());
    assert_eq!(asked, [53, 42, 43, 53, 53], "EXCHANGE_ID, CREATE_SESSION, RECLAIM_COMPLETE, and the request again");
    play.check_rows("expired");
    drop(play);
    assert_eq!(options.recoveries.lock().unwrap().restarts, 1);
}

/// Requests that timed out before the client detected the loss were missed, too.
#[test]
fn an_outage_includes_the_requests_that_timed_out() {
    for responds in [false, true] {
        let (mut play, options) = counted();
        play.begin(9, &Operation::Getattr { path: "one" });
        let mut from = play.now;
        play.calls.clear();
        play.time_out();
        assert!(play.done(Tag(9)).unwrap().is_err());
        if responds {
            play.begin(10, &Operation::Getattr { path: "two" });
            play.serve();
        }
        play.now += 1_000_000_000;
        play.begin(11, &Operation::Getattr { path: "three" });
        if responds {
            // What timed out before a response does not count.
            from = play.now;
        }
        play.now += 5_000_000_000;
        assert!(play.lose());
        play.rejoin();
        play.serve();
        assert!(play.done(Tag(11)).unwrap().is_ok());
        let until = last_response(&play);
        drop(play);
        assert_eq!(options.recoveries.lock().unwrap().outage_ns, (until - from) as u64, "{responds}");
    }
}

#[test]
fn an_outage_that_never_ends_lasts_until_the_client_is_given_up() {
    for leaves in [false, true] {
        let (mut play, options) = counted();
        assert!(play.lose());
        let from = play.now;
        play.now += 90_000_000_000;
        match leaves {
            true => play.client.leave(play.now, &mut play.out, &mut play.seen),
            false => play.client.broken(play.now, Cause::ConnectionRefused, &mut play.seen),
        }
        let until = play.now;
        drop(play);
        let recoveries = options.recoveries.lock().unwrap();
        assert_eq!(recoveries.outage_ns, (until - from) as u64, "{leaves}");
        let stated = "recovered sessions: 0 replaced by a new session, 0 restored after the server lost the client's \
            state; longest outage 90.00 s, longest recovery of a session and its state 0.00 s";
        assert_eq!(recoveries.facts(), [stated], "{leaves}");
    }
}

/// A client in its think time has service again, although it makes no use of it.
#[test]
fn an_outage_without_another_action_ends_with_the_recovery() {
    for (asks, refuses) in [(false, false), (true, false), (true, true)] {
        let (mut play, options) = counted();
        assert!(play.lose());
        let from = play.now;
        play.rejoin();
        play.serve();
        let mut until = last_response(&play);
        play.now += 1_000_000_000;
        if asks {
            play.begin(9, &Operation::Fsinfo);
        }
        if refuses {
            let call = play.calls.remove(0);
            // ACCESS.
            play.answer(&call, &call.failing(1, 13));
        }
        play.now += 30_000_000_000;
        if asks {
            until = play.now;
        }
        play.client.leave(play.now, &mut play.out, &mut play.seen);
        // What leaves is no action.
        play.now += 5_000_000_000;
        play.serve();
        drop(play);
        assert_eq!(options.recoveries.lock().unwrap().outage_ns, (until - from) as u64, "{asks} {refuses}");
    }
}

fn last_response(play: &Play) -> i64 {
    play.seen.rows.last().unwrap().timeline.response_last.unwrap()
}
