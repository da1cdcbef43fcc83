//! A server that still executes a request of a lost connection, and therefore delays its repeat.

use plimsoll_client::operation::Cause;
use plimsoll_client::{Client, Operation, Reply, Tag};
use plimsoll_testkit::nfs4::Asked;

use super::play::Play;

const DELAY: u32 = 10_008;
const BADSESSION: u32 = 10_052;

/// A client whose REMOVE was sent again on another connection and delayed; the call, and the time of the refusal.
fn delayed() -> (Play, Asked) {
    let mut play = Play::connected();
    play.begin(9, &Operation::Remove { path: "gone" });
    let call = play.calls.remove(0);
    assert!(play.lose());
    play.rejoin();
    play.serve_last();
    refuse(&mut play, &call);
    (play, call)
}

/// SEQUENCE of the same request is refused once more.
fn refuse(play: &mut Play, call: &Asked) {
    let again = play.calls.remove(0);
    assert_eq!((again.slot, &again.arguments), (call.slot, &call.arguments));
    play.answer(&again, &again.failing(0, DELAY));
}

#[test]
fn each_pause_is_twice_as_long_and_the_request_remains_outstanding() {
    let (mut play, call) = delayed();
    for pause in [100, 200, 400] {
        assert_eq!((play.client.outstanding(), play.calls.len()), (1, 0));
        let before = play.now;
        play.wake();
        assert!((play.now - before - pause * 1_000_000).abs() < 1_000, "{pause}");
        refuse(&mut play, &call);
    }
    play.wake();
    play.serve();
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Nothing)));
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
    play.check_rows("delayed");
}

/// The operation fails with the status, and the client finds out what became of its slot.
#[test]
fn a_request_that_is_delayed_for_longer_than_the_timeout_fails() {
    let (mut play, call) = delayed();
    play.wake();
    refuse(&mut play, &call);
    play.time_out();
    let failure = play.done(Tag(9)).unwrap().unwrap_err();
    assert_eq!((failure.cause, failure.status), (Cause::Status, Some(DELAY)));
    play.wake();
    // The probe is delayed, too.
    for _ in 0..2 {
        let probe = play.calls.remove(0);
        assert_eq!((probe.slot, probe.operations.as_slice()), (call.slot, &[53][..]));
        play.answer(&probe, &probe.failing(0, DELAY));
        play.begin(10, &Operation::Fsinfo);
        assert_ne!(play.calls[0].slot.unwrap().0, call.slot.unwrap().0);
        play.serve_last();
        play.wake();
    }
    play.serve();
    play.begin(11, &Operation::Fsinfo);
    let (slot, sequence) = call.slot.unwrap();
    assert_eq!(play.calls[0].slot, Some((slot, sequence + 1)));
    play.serve();
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
    play.check_rows("delayed too long");
}

#[test]
fn a_delayed_request_is_sent_again_on_the_next_connection() {
    let (mut play, call) = delayed();
    assert!(play.lose());
    play.rejoin();
    play.serve_last();
    let again = play.calls.remove(0);
    assert_eq!(again.arguments, call.arguments);
    play.answer(&again, &again.fine());
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Nothing)));
    assert_eq!(play.client.outstanding(), 0);
    play.check_rows("lost again");
}

/// The session is lost during the pause: the first sending may have been executed.
#[test]
fn a_delayed_request_of_a_lost_session_may_have_been_done() {
    let (mut play, _) = delayed();
    play.begin(10, &Operation::Fsinfo);
    let other = play.calls.remove(0);
    play.answer(&other, &other.failing(0, BADSESSION));
    // CREATE_SESSION, and the other operation.
    play.serve();
    assert!(play.done(Tag(10)).unwrap().is_ok() && play.done(Tag(9)).is_none());
    play.wake();
    let anew = play.calls.remove(0);
    assert_eq!(anew.operations, [53, 22, 28]);
    play.answer(&anew, &anew.failing(2, 2));
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Nothing)), "NFS4ERR_NOENT");
    play.check_rows("another session");
}

#[test]
fn a_delayed_request_without_another_connection_fails() {
    let (mut play, _) = delayed();
    play.client.broken(play.now, Cause::ConnectionReset, &mut play.seen);
    assert_eq!(play.done(Tag(9)).unwrap().unwrap_err().cause, Cause::ConnectionReset);
    assert_eq!(play.client.outstanding(), 0);
    play.check_rows("no connection");
}
