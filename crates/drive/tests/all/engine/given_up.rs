//! Clients that give up their connection themselves.

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{ClientTally, ConnectionFailure};

use super::failures::{TURN, bytes, except, plan};
use super::memory::over;
use super::toy::{GONE, Toys, message};

/// The client lost its connection once for this cause, with one operation, and went on over another one.
fn lost_once(tally: &ClientTally, cause: Cause) {
    let lost = ConnectionFailure { cause, was_up: true, measured: true, kept: false, count: 1 };
    assert_eq!(tally.errors, [(cause, 1)], "no operation was begun on a connection that was given up");
    assert_eq!((tally.connection_failures.as_slice(), tally.errors_outside.len()), (&[lost][..], 0));
    assert_eq!((tally.reconnects, tally.connected), (1, true));
}

/// A thread with several connections waits for the events of all: the server's silence is no event.
#[test]
fn a_client_that_gives_up_for_lack_of_answers_gets_another_connection() {
    let toys = Toys { gives_up: true, ..Toys::new(&TURN) };
    let ran = over(&plan(2), &toys, |_| except(0, 3, |_, _| Vec::new()));
    ran.clients.iter().for_each(|tally| lost_once(tally, Cause::TimedOut));
    assert_eq!(ran.generator.overdue, 2);
}

#[test]
fn the_cause_of_a_client_that_gives_up_is_not_replaced_by_the_bytes_that_follow() {
    for clients in [1, 2] {
        let ran = over(&plan(clients), &Toys::new(&TURN), |_| {
            except(0, 3, |at, id| bytes(at, [message(id, GONE, 0), message(id + 1, 0, 0)].concat()))
        });
        ran.clients.iter().for_each(|tally| lost_once(tally, Cause::SessionLost));
    }
}
