//! One session of several connections (nconnect): the first connection that is ready creates the session, and the others are bound to it.
//! Each connection uses separate slots, so it never waits for requests of another one. If the server grants fewer slots than there are
//! connections, each connection has a separate session of the common client ID.
//!
//! A connection that is lost goes on in the session. Where the session is lost, the first connection that notices makes another one, and
//! the others are bound to that. Where the server has forgotten the client, each connection claims its own files, and the last one says
//! that nothing more is claimed: after that, the server would refuse the claims of the others.
//!
//! Spec: RFC 8881 2.10.5, RFC 8881 2.10.3, RFC 8881 18.51

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_wire::nfs::v4::create_session::Session as Created;

/// The common state of the connections of a client.
#[derive(Debug)]
pub struct Trunk {
    connections: u32,
    /// Client owner and verifier.
    owner: Arc<[u8]>,
    verifier: [u8; 8],
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The session and its number. (A server that has restarted may assign the same session ID again.)
    made: Option<(Created, u32)>,
    /// Number of sessions created so far.
    sessions: u32,
    /// Client ID, and the sequence ID of its next CREATE_SESSION, after the first session.
    client: Option<(u64, u32)>,
    /// A connection is creating the session, or a separate one. Sessions of a client ID are created one after the other: each has the next
    /// sequence ID, and the server would answer two requests with the same one alike.
    making: bool,
    /// The server grants a session fewer slots than there are connections.
    separate: bool,
    /// Number of times that the server has lost the client's state.
    forgotten: u32,
    /// Connections with a session, and the number of the session.
    members: Vec<(u32, u32)>,
    /// Connections that may have state to reclaim.
    claiming: Vec<u32>,
    /// The connection that sends RECLAIM_COMPLETE.
    completing: Option<u32>,
    /// RECLAIM_COMPLETE has yet to be sent.
    incomplete: bool,
}

/// The next action of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// Creates the session for all; with the client ID of an earlier session, if any.
    Make(Option<(u64, u32)>),
    /// Joins this session.
    Bind(Bound),
    /// Waits for another connection to create it.
    Wait,
    /// Creates a separate session, because a common one has fewer slots than connections.
    MakeOwn,
}

/// The session to which a connection is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) session: Created,
    pub(super) number: u32,
    pub(super) client: (u64, u32),
    /// Number of times that the server has lost the client's state.
    pub(super) forgotten: u32,
}

/// The next action of a connection that has reclaimed everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claims {
    /// Sends RECLAIM_COMPLETE.
    Complete,
    /// Waits: other connections still reclaim, or one is sending RECLAIM_COMPLETE.
    Wait,
    /// RECLAIM_COMPLETE was sent.
    Over,
    /// The session was lost again.
    Lost,
}

/// What a leaving connection must return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) of_session: bool,
    pub(super) of_client: bool,
}

impl Trunk {
    /// The common state of this number of connections.
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
        if let (Some((session, number)), Some(client), false) = (state.made, state.client, state.separate) {
            return Join::Bind(Bound { session, number, client, forgotten: state.forgotten });
        }
        if std::mem::replace(&mut state.making, true) {
            return Join::Wait;
        }
        if state.separate { Join::MakeOwn } else { Join::Make(state.client) }
    }

    /// Notes a new session and its number. `forgotten`: the server may have lost the state of the connections.
    pub(super) fn made(&self, session: Created, client: (u64, u32), forgotten: bool) -> Bound {
        let mut guard = self.state();
        let state = &mut *guard;
        let another = state.client.is_some_and(|(id, _)| id != client.0);
        state.sessions += 1;
        let number = state.sessions;
        (state.made, state.client, state.making) = (Some((session, number)), Some(client), false);
        if (forgotten || another) && !state.members.is_empty() {
            state.forgotten = state.forgotten.wrapping_add(1);
            state.claiming = state.members.iter().map(|(member, _)| *member).collect();
            (state.completing, state.incomplete) = (None, true);
        }
        Bound { session, number, client, forgotten: state.forgotten }
    }

    /// Each connection needs a separate session from now on.
    pub(super) fn separate(&self) {
        self.state().separate = true;
    }

    /// Notes the separate session of one connection. Returns its number.
    pub(super) fn made_own(&self) -> u32 {
        let mut state = self.state();
        state.sessions += 1;
        state.making = false;
        state.sessions
    }

    /// The connection that was creating the session has failed.
    pub(super) fn not_made(&self) {
        self.state().making = false;
    }

    /// A session is unusable for all connections.
    pub(super) fn lost(&self, number: u32) {
        self.state().made.take_if(|(_, made)| *made == number);
    }

    /// Whether any connection has a session.
    pub(super) fn is_used(&self) -> bool {
        !self.state().members.is_empty()
    }

    /// Notes that a connection has joined a session.
    pub(super) fn joined(&self, member: u32, number: u32) {
        let mut state = self.state();
        state.members.retain(|(one, _)| *one != member);
        state.members.push((member, number));
    }

    /// Notes that a connection has reclaimed all its state in this session. If `patient`, it waits for the others.
    pub(super) fn claimed(&self, member: u32, number: u32, patient: bool) -> Claims {
        let mut guard = self.state();
        let state = &mut *guard;
        if state.made.is_none_or(|(_, made)| made != number) {
            return Claims::Lost;
        }
        state.claiming.retain(|one| *one != member);
        let others = patient && !state.claiming.is_empty() || state.completing.is_some_and(|one| one != member);
        match (state.incomplete, others) {
            (false, _) => Claims::Over,
            (true, true) => Claims::Wait,
            (true, false) => {
                state.completing = Some(member);
                Claims::Complete
            }
        }
    }

    /// Notes that RECLAIM_COMPLETE was sent.
    pub(super) fn completed(&self, member: u32) {
        let mut state = self.state();
        if state.completing.take_if(|one| *one == member).is_some() {
            state.incomplete = false;
        }
    }

    /// A connection was lost while it created a session or reclaimed state: another connection may create the session, and this one
    /// reclaims again.
    pub(super) fn interrupted(&self, member: u32, makes: bool) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.making &= !makes;
        state.completing.take_if(|one| *one == member);
        if state.incomplete && !state.claiming.contains(&member) {
            state.claiming.push(member);
        }
    }

    /// A connection ended without leaving. New connections cannot use the session, because the sequence IDs of its slots are lost.
    pub(super) fn forget(&self, member: u32, number: u32) {
        let mut state = self.state();
        state.made.take_if(|(_, made)| *made == number);
        state.part(member);
    }

    /// A connection leaves, and has no open files.
    pub(super) fn leave(&self, member: u32, number: u32) -> Last {
        let mut state = self.state();
        state.part(member);
        let of_session = state.members.iter().all(|(_, other)| *other != number);
        Last { of_session, of_client: state.members.is_empty() }
    }
}

impl State {
    /// Removes a connection from the session.
    fn part(&mut self, member: u32) {
        self.members.retain(|(one, _)| *one != member);
        self.claiming.retain(|one| *one != member);
        self.completing.take_if(|one| *one == member);
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::{BACK, fore};
    use super::*;

    fn session(id: u8, slots: u32) -> Created {
        Created { id: [id; 16], sequence: 1, flags: 0, fore: fore(1 << 20, slots), back: BACK }
    }

    fn of(connections: u32) -> Trunk {
        Trunk::new(connections, b"who".to_vec().into(), [1; 8])
    }

    fn bound(session: Created, number: u32, client: (u64, u32), forgotten: u32) -> Bound {
        Bound { session, number, client, forgotten }
    }

    #[test]
    fn one_makes_the_session_and_the_last_gives_it_back() {
        let trunk = of(2);
        assert_eq!((trunk.join(), trunk.join()), (Join::Make(None), Join::Wait));
        trunk.not_made();
        assert_eq!((trunk.join(), trunk.join()), (Join::Make(None), Join::Wait), "the next one makes it");
        let one = bound(session(1, 8), 1, (7, 2), 0);
        assert_eq!((trunk.made(session(1, 8), (7, 2), false), trunk.join()), (one, Join::Bind(one)));
        (0..2).for_each(|member| trunk.joined(member, 1));
        assert_eq!(trunk.leave(0, 1), Last { of_session: false, of_client: false });
        assert_eq!(trunk.leave(1, 1), Last { of_session: true, of_client: true });
    }

    #[test]
    fn a_session_that_is_forgotten_is_made_anew() {
        let trunk = of(4);
        trunk.join();
        trunk.made(session(1, 8), (7, 2), false);
        (0..2).for_each(|member| trunk.joined(member, 1));
        trunk.forget(0, 1);
        assert_eq!(trunk.join(), Join::Make(Some((7, 2))), "of the same client");
        trunk.made(session(2, 8), (7, 3), false);
        trunk.lost(1);
        assert!(matches!(trunk.join(), Join::Bind(_)), "another one's is not forgotten");
        trunk.joined(1, 2);
        assert_eq!(trunk.leave(1, 2), Last { of_session: true, of_client: true });
        trunk.lost(2);
        assert_eq!(trunk.join(), Join::Make(Some((7, 3))));
        assert_eq!(trunk.made(session(3, 8), (8, 2), true).forgotten, 0, "nobody had anything that was forgotten");
    }

    #[test]
    fn separate_sessions_are_made_one_after_the_other() {
        let trunk = of(4);
        assert_eq!(trunk.join(), Join::Make(None));
        // The server grants 3 slots.
        trunk.separate();
        assert_eq!(trunk.join(), Join::Wait);
        let first = trunk.made_own();
        trunk.joined(3, first);
        assert_eq!((trunk.join(), trunk.join()), (Join::MakeOwn, Join::Wait));
        trunk.not_made();
        assert_eq!((trunk.join(), trunk.join()), (Join::MakeOwn, Join::Wait), "the next one");
        let second = trunk.made_own();
        trunk.joined(0, second);
        assert_ne!(first, second);
        assert_eq!(trunk.leave(3, first), Last { of_session: true, of_client: false });
        assert_eq!(trunk.leave(0, second), Last { of_session: true, of_client: true });
    }

    #[test]
    fn the_last_one_that_claims_says_so() {
        let trunk = of(3);
        trunk.join();
        trunk.made(session(1, 8), (7, 2), false);
        (0..3).for_each(|member| trunk.joined(member, 1));
        assert_eq!(trunk.claimed(0, 1, true), Claims::Over, "nothing was forgotten");
        trunk.lost(1);
        assert_eq!(trunk.claimed(0, 1, true), Claims::Lost);
        assert_eq!(trunk.made(session(1, 8), (8, 2), true).forgotten, 1, "with the id of before");
        let claimed = |member| trunk.claimed(member, 2, true);
        assert_eq!((claimed(0), claimed(1)), (Claims::Wait, Claims::Wait));
        trunk.interrupted(1, false);
        assert_eq!((claimed(2), claimed(1), claimed(0)), (Claims::Wait, Claims::Complete, Claims::Wait));
        trunk.interrupted(1, false);
        assert_eq!((claimed(0), claimed(1), claimed(2)), (Claims::Wait, Claims::Complete, Claims::Wait));
        trunk.forget(1, 9);
        assert_eq!((claimed(0), claimed(2)), (Claims::Complete, Claims::Wait), "another one says it");
        trunk.completed(0);
        assert_eq!((claimed(0), claimed(2)), (Claims::Over, Claims::Over));
    }

    #[test]
    fn who_does_not_come_is_not_waited_for_without_end() {
        let trunk = of(2);
        trunk.join();
        trunk.made(session(1, 8), (7, 2), false);
        (0..2).for_each(|member| trunk.joined(member, 1));
        trunk.made(session(2, 8), (8, 2), true);
        assert_eq!(trunk.claimed(0, 2, true), Claims::Wait);
        assert_eq!(trunk.claimed(0, 2, false), Claims::Complete);
        assert_eq!(trunk.claimed(1, 2, false), Claims::Wait, "one says it already");
    }
}
