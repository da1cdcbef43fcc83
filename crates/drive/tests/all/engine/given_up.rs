//! Connections that are given up.

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{ClientTally, ConnectionFailure, Plan};
use plimsoll_drive::network::memory::{Accept, Delivery, Reply};

use super::failures::{ITERATION, bytes, except, plan};
use super::memory::{MS, ToyServer, door, over};
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
    let toys = Toys { gives_up: true, ..Toys::new(&ITERATION) };
    let ran = over(&plan(2), &toys, |_| except(0, 3, |_, _| Vec::new()));
    ran.clients.iter().for_each(|tally| lost_once(tally, Cause::TimedOut));
    assert_eq!(ran.generator.overdue, 2);
}

#[test]
fn the_cause_of_a_client_that_gives_up_is_not_replaced_by_the_bytes_that_follow() {
    for clients in [1, 2] {
        let ran = over(&plan(clients), &Toys::new(&ITERATION), |_| {
            except(0, 3, |at, id| bytes(at, [message(id, GONE, 0), message(id + 1, 0, 0)].concat()))
        });
        ran.clients.iter().for_each(|tally| lost_once(tally, Cause::SessionLost));
    }
}

/// The load continues, and no action fails: only these counts show that it had fewer connections.
#[test]
fn channels_that_are_not_bound_again_are_counted_with_their_cause() {
    let toys = Toys { binds: 3, ..Toys::new(&ITERATION) };
    let plan = Plan { channels: 4, ..plan(1) };
    let ran = over(&plan, &toys, |_| {
        door(|key, _, _| match key.0 {
            0 => Accept::Serve(Box::new(ToyServer::new(|_| MS)), 0),
            _ => Accept::Serve(
                Box::new(|at: i64, _: &[u8], replies: &mut Vec<Reply>| {
                    replies.push(Reply { at: at + 50 * MS, what: Delivery::Reset });
                }),
                0,
            ),
        })
    });
    assert_eq!(
        (ran.generator.channels_lost, &ran.generator.channels_given_up[..]),
        (3, &[(Cause::LogonRefused, 3)][..])
    );
    let cause = Cause::LogonRefused;
    let refused = ConnectionFailure { cause, was_up: false, measured: true, kept: true, count: 3 };
    let tally = &ran.clients[0];
    assert_eq!((tally.connection_failures.as_slice(), tally.connections_failed()), (&[refused][..], [0, 0]));
    assert!(tally.actions > 10 && tally.errors.is_empty() && tally.connected);
}
