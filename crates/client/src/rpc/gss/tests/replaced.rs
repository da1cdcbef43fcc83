//! Contexts that expire while an NFSv4 client returns a delegation or recovers a session, and requests that time out meanwhile.

use plimsoll_testkit::nfs4::{Asked, DELEGATION, SLOTS, recall_of};
use plimsoll_wire::nfs::status::{NFS4ERR_BADSESSION, NFS4ERR_NOENT};

use super::resent::Play;
use super::*;
use crate::operation::{Access, Caching, Disposition};

const RETURN: u32 = 8;

const EXPIRED: Wrong = Wrong::Denied(CONTEXT_PROBLEM);

/// A client that holds a delegation.
fn holder(protection: Protection, window: u32) -> Play {
    let mut play = Play::connected_with(protection, window, true);
    let (access, disposition, caching) = (Access::Read, Disposition::Open, Caching::None);
    play.perform(1, &Operation::Open { path: "file", access, disposition, caching });
    play.serve();
    assert!(matches!(play.seen.take_done(Tag(1)), Some(Ok(Reply::Opened { .. }))));
    play
}

fn timed_out(play: &mut Play, tag: u64) {
    assert_eq!(play.seen.take_done(Tag(tag)).unwrap().unwrap_err().cause, Cause::TimedOut);
}

#[test]
fn a_delegation_counts_as_returned_only_after_the_return() {
    for protection in ALL {
        let mut play = holder(protection, SLOTS);
        play.feed(&recall_of(1, DELEGATION));
        let mut returns = 0;
        while let Some((_, asked)) = play.waiting.last() {
            let is_return = asked.operations.contains(&RETURN);
            let expires = is_return && play.server.contexts == 1;
            returns += u32::from(is_return && !expires);
            play.reply(Asked::fine, if expires { EXPIRED } else { Wrong::Nothing });
        }
        let options = play.options.clone();
        drop(play);
        let counts = options.delegation_counts.lock().unwrap();
        assert_eq!((returns, counts.returned, counts.recall_ns.0, counts.unreturned), (1, 1, 1, 0), "{protection:?}");
    }
}

#[test]
fn a_recall_does_not_overtake_a_recovery_that_waits_for_room() {
    let mut play = holder(Protection::None, 2);
    (2..6).for_each(|tag| play.begin(tag));
    assert_eq!(play.waiting.len(), 2);
    // After the newest answer the oldest call still fills the window.
    play.answer(|asked| asked.failing(0, NFS4ERR_BADSESSION));
    play.feed(&recall_of(1, DELEGATION));
    play.answer(|asked| asked.failing(0, NFS4ERR_BADSESSION));
    play.serve();
    (2..6).for_each(|tag| play.succeeded(tag));
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
}

/// The client cannot read it, so it asks whether the server has used the sequence ID.
#[test]
fn a_late_answer_in_a_replaced_context_does_not_free_its_slot() {
    for protection in ALL {
        let mut play = Play::connected(protection, SLOTS);
        play.begin(1);
        let (call, asked) = play.waiting.pop().unwrap();
        let late = play.server.reply(&call, &asked.fine(), Wrong::Nothing);
        play.now += 10;
        play.time_out();
        timed_out(&mut play, 1);
        play.begin(2);
        play.reply(Asked::fine, EXPIRED);
        play.serve();
        play.succeeded(2);
        play.feed(&late);
        let probe = &play.waiting.last().unwrap().1;
        assert_eq!((probe.operations.as_slice(), probe.slot), (&[53][..], asked.slot), "{protection:?}");
        play.serve();
        play.begin(3);
        let (slot, sequence) = asked.slot.unwrap();
        assert_eq!(play.waiting.last().unwrap().1.slot, Some((slot, sequence + 1)), "{protection:?}");
        play.serve();
        play.succeeded(3);
        assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
    }
}

fn wake(play: &mut Play) {
    assert!(play.client.wakes_at() <= play.now, "it has something to send");
    play.client.wake(play.now, &mut play.out, &mut play.seen);
    assert!(play.client.wakes_at() > play.now, "once");
    play.receive();
}

#[test]
fn what_waits_for_room_is_sent_when_the_calls_before_it_time_out() {
    let mut play = Play::connected(Protection::None, 1);
    play.begin(1);
    play.now += 10;
    play.begin(2);
    play.waiting.clear();
    play.time_out();
    timed_out(&mut play, 1);
    assert_eq!(play.waiting.len(), 0);
    wake(&mut play);
    play.serve();
    play.succeeded(2);
}

/// Slots whose state is unknown are asked about, and do not hold back new requests.
#[test]
fn slots_are_asked_about_when_the_calls_before_them_time_out() {
    let mut play = Play::connected(Protection::None, SLOTS);
    (0..SLOTS.into()).for_each(|tag| play.begin(tag));
    play.reconnect(1);
    play.receive();
    (0..2).for_each(|_| play.answer(Asked::fine));
    play.waiting.clear();
    play.now += 10;
    play.time_out();
    (0..SLOTS.into()).for_each(|tag| timed_out(&mut play, tag));
    wake(&mut play);
    play.serve();
    play.begin(9);
    play.serve();
    play.succeeded(9);
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
}

#[test]
fn a_call_for_a_context_that_times_out_is_repeated() {
    let mut play = Play::connected(Protection::Integrity, SLOTS);
    play.begin(1);
    play.reply(Asked::fine, EXPIRED);
    play.waiting.clear();
    play.now += 10;
    play.time_out();
    timed_out(&mut play, 1);
    play.begin(2);
    assert_eq!(play.waiting.last().unwrap().0.purpose, GssProcedure::Init);
    play.serve();
    play.succeeded(2);
    assert_eq!(play.options.security.as_ref().unwrap().renewed(), 1);
}

#[test]
fn a_context_of_another_connection_replaces_none() {
    let mut play = Play::connected(Protection::None, SLOTS);
    play.begin(1);
    play.reply(Asked::fine, EXPIRED);
    play.answer(Asked::fine);
    play.reconnect(SLOTS);
    play.serve();
    play.succeeded(1);
    assert_eq!(play.options.security.as_ref().unwrap().renewed(), 1);
}

#[test]
fn a_request_that_is_sent_again_counts_once() {
    let mut play = Play::connected(Protection::None, SLOTS);
    play.begin(1);
    play.reconnect(SLOTS);
    play.receive();
    // INIT and BIND_CONN_TO_SESSION.
    (0..2).for_each(|_| play.answer(Asked::fine));
    play.reply(Asked::fine, EXPIRED);
    play.serve();
    play.succeeded(1);
    let options = play.options.clone();
    drop(play);
    assert_eq!(options.recoveries.lock().unwrap().resent, 1);
}

/// The server executes a REMOVE whose answer is lost with the connection, then loses the session, and refuses the second sending.
#[test]
fn a_refused_context_does_not_hide_that_a_request_was_sent_before() {
    let mut play = Play::connected(Protection::None, SLOTS);
    play.perform(1, &Operation::Remove { path: "gone" });
    play.begin(2);
    play.reconnect(SLOTS);
    play.receive();
    (0..2).for_each(|_| play.answer(Asked::fine));
    assert_eq!(play.waiting.len(), 2, "both are sent again");
    play.answer(|asked| asked.failing(0, NFS4ERR_BADSESSION));
    // CREATE_SESSION, and the other operation in the new session.
    (0..2).for_each(|_| play.answer(Asked::fine));
    play.succeeded(2);
    play.reply(Asked::fine, EXPIRED);
    play.answer(Asked::fine);
    play.answer(|asked| asked.failing(2, NFS4ERR_NOENT));
    assert_eq!(play.seen.take_done(Tag(1)), Some(Ok(Reply::Nothing)));
    assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
}
