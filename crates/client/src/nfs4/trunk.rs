//! One session of several connections (nconnect): the first one that is ready makes it, the others are bound to it. Each connection has
//! slots of its own, so that none waits for what another one has on its way.
//!
//! A connection that is lost goes on in the session. A session that is lost ends all its connections, as each has state in it: they
//! connect again as the same client.
//!
//! Spec: RFC 8881 2.10.5, RFC 8881 2.10.3

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_wire::nfs::v4::create_session::Session as Created;
use plimsoll_wire::nfs::v4::sequence::SessionId;

/// What the connections of a client have in common.
#[derive(Debug)]
pub struct Trunk {
    connections: u32,
    /// What the client calls itself, and this time.
    owner: Arc<[u8]>,
    verifier: [u8; 8],
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The session, and the client's id with the number of its next session.
    made: Option<(Created, (u64, u32))>,
    /// A connection is about to make it.
    making: bool,
    /// The sessions of connections that have one.
    members: Vec<SessionId>,
}

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// It makes a session, for all.
    Make,
    /// It is bound to this one, of this client.
    Bind(Created, (u64, u32)),
    /// Another one makes it.
    Wait,
    /// The session has fewer slots than there are connections: it makes one for itself.
    MakeOwn,
}

/// What is given back where a connection leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) of_session: bool,
    pub(super) of_client: bool,
}

impl Trunk {
    /// Of so many connections.
    pub(super) fn new(connections: u32, owner: Arc<[u8]>, verifier: [u8; 8]) -> Self {
        Self { connections: connections.max(1), owner, verifier, state: Mutex::default() }
    }

    pub(super) fn connections(&self) -> u32 {
        self.connections
    }

    pub(super) fn name(&self) -> (Arc<[u8]>, [u8; 8]) {
        (self.owner.clone(), self.verifier)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn join(&self) -> Join {
        let mut state = self.state();
        match state.made {
            Some((session, _)) if session.fore.slots < self.connections => Join::MakeOwn,
            Some((session, client)) => Join::Bind(session, client),
            None if state.making => Join::Wait,
            None => {
                state.making = true;
                Join::Make
            }
        }
    }

    /// The session is there.
    pub(super) fn made(&self, session: Created, client: (u64, u32)) {
        let mut state = self.state();
        (state.made, state.making) = (Some((session, client)), false);
    }

    /// The connection that was to make the session cannot.
    pub(super) fn not_made(&self) {
        self.state().making = false;
    }

    /// A connection has a session from now on.
    pub(super) fn joined(&self, session: SessionId) {
        self.state().members.push(session);
    }

    /// A session is of no use for connections to come: it is lost, or one of its connections is, with the numbers of its slots.
    pub(super) fn forget(&self, session: SessionId) {
        let mut state = self.state();
        state.made.take_if(|(made, _)| made.id == session);
        remove(&mut state.members, session);
    }

    /// A connection gives back what it has.
    pub(super) fn leave(&self, session: SessionId) -> Last {
        let mut state = self.state();
        remove(&mut state.members, session);
        Last { of_session: !state.members.contains(&session), of_client: state.members.is_empty() }
    }
}

fn remove(members: &mut Vec<SessionId>, session: SessionId) {
    if let Some(at) = members.iter().position(|one| *one == session) {
        members.swap_remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::{BACK, fore};
    use super::*;

    fn session(id: u8, slots: u32) -> Created {
        Created { id: [id; 16], sequence: 1, flags: 0, fore: fore(1 << 20, slots), back: BACK }
    }

    #[test]
    fn one_makes_the_session_and_the_last_gives_it_back() {
        let trunk = Trunk::new(2, b"who".to_vec().into(), [1; 8]);
        assert_eq!((trunk.join(), trunk.join()), (Join::Make, Join::Wait));
        trunk.not_made();
        assert_eq!((trunk.join(), trunk.join()), (Join::Make, Join::Wait), "the next one makes it");
        trunk.made(session(1, 8), (7, 2));
        assert_eq!(trunk.join(), Join::Bind(session(1, 8), (7, 2)));
        [1, 1].iter().for_each(|id| trunk.joined([*id; 16]));
        assert_eq!(trunk.leave([1; 16]), Last { of_session: false, of_client: false });
        assert_eq!(trunk.leave([1; 16]), Last { of_session: true, of_client: true });
    }

    #[test]
    fn a_session_that_is_forgotten_is_made_anew() {
        let trunk = Trunk::new(4, b"who".to_vec().into(), [1; 8]);
        trunk.join();
        trunk.made(session(1, 8), (7, 2));
        (0..2).for_each(|_| trunk.joined([1; 16]));
        trunk.forget([1; 16]);
        assert_eq!(trunk.join(), Join::Make);
        trunk.made(session(2, 3), (7, 3));
        assert_eq!(trunk.join(), Join::MakeOwn, "3 slots for 4 connections");
        trunk.forget([1; 16]);
        assert!(matches!(trunk.join(), Join::MakeOwn), "another one's is not forgotten");
        trunk.joined([2; 16]);
        assert_eq!(trunk.leave([2; 16]), Last { of_session: true, of_client: true });
    }
}
