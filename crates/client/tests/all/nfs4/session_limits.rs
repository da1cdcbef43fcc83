//! The session that replaces a lost one may take shorter requests.

use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::{Operation, Reply, Tag};

use super::play::Play;
use super::trunk::{both, shared};

const BADSESSION: u32 = 10_052;
/// Maximum size of requests and responses of the next session, bytes.
const LONGEST: u32 = 20 << 10;
/// Length of a write that the first session takes in one request, bytes.
const WRITTEN: u32 = 60_000;

/// Begins a write. The server answers that the session is lost.
fn begin(play: &mut Play) {
    let (file, content) = (play.open(), Arc::new(Content::new(1)));
    play.begin(9, &Operation::Write { file, offset: 0, length: WRITTEN, content: &content, key: 1 });
    let call = play.calls.remove(0);
    assert!(play.calls.is_empty() && call.arguments.len() > WRITTEN as usize, "one request");
    play.answer(&call, &call.failing(0, BADSESSION));
}

/// The server creates the next session.
fn create(play: &mut Play) {
    let call = play.calls.remove(0);
    assert_eq!(call.operations, [43]);
    let mut results = call.fine();
    // They follow status, tag, number of results; number and status of the operation; session, sequence ID, flags and padding.
    for at in [48, 52] {
        results[at..at + 4].copy_from_slice(&LONGEST.to_be_bytes());
    }
    play.answer(&call, &results);
}

/// Answers the requests of the write.
fn check(play: &mut Play) {
    let mut requests = 0;
    while !play.calls.is_empty() {
        let call = play.calls.remove(0);
        assert!(call.arguments.len() < LONGEST as usize, "{} bytes", call.arguments.len());
        play.answer(&call, &call.fine());
        requests += 1;
    }
    assert_eq!((requests, play.done(Tag(9))), (4, Some(Ok(Reply::Written { bytes: WRITTEN }))));
    play.check_rows("shorter");
}

#[test]
fn a_write_of_the_lost_session_is_split() {
    let mut play = Play::connected();
    begin(&mut play);
    create(&mut play);
    check(&mut play);
}

#[test]
fn a_connection_that_joins_the_next_session_has_its_limits() {
    let of = shared();
    let mut plays = both(&of);
    plays.iter_mut().for_each(begin);
    let [one, other] = &mut plays;
    create(one);
    other.wake();
    let bind = other.calls.remove(0);
    assert_eq!(bind.operations, [41]);
    other.answer(&bind, &bind.fine());
    check(one);
    check(other);
}
