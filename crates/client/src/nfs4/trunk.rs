//! One session of several connections (nconnect): the first one that is ready makes it, the others are bound to it. Each connection has
//! slots of its own, so that none waits for what another one has on its way.
//!
//! A connection that is lost goes on in the session. Where the session is lost, the first connection that notices makes another one, and
//! the others are bound to that. Where the server has forgotten the client, each connection claims its own files, and the last one says
//! that nothing more is claimed: after that, the server would refuse the claims of the others.
//!
//! Spec: RFC 8881 2.10.5, RFC 8881 2.10.3, RFC 8881 18.51

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_wire::nfs::v4::create_session::Session as Created;

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
    /// The session, and its number. (A server that has restarted may give out the id that it had given before.)
    made: Option<(Created, u32)>,
    /// Sessions that were made so far.
    sessions: u32,
    /// The client's id, with the number of its next session, once there was a session.
    client: Option<(u64, u32)>,
    /// A connection is about to make it.
    making: bool,
    /// So often has the server forgotten the client.
    forgotten: u32,
    /// Connections that have a session, and its number.
    members: Vec<(u32, u32)>,
    /// Connections that may have something to claim.
    claiming: Vec<u32>,
    /// The connection that says that nothing more is claimed.
    completing: Option<u32>,
    /// That is to be said.
    incomplete: bool,
}

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// It makes a session, for all; of this client where there was one before.
    Make(Option<(u64, u32)>),
    /// It is bound to this one.
    Bind(Bound),
    /// Another one makes it.
    Wait,
    /// The session has fewer slots than there are connections: it makes one for itself.
    MakeOwn,
}

/// The session that a connection is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) session: Created,
    pub(super) number: u32,
    pub(super) client: (u64, u32),
    /// So often has the server forgotten the client.
    pub(super) forgotten: u32,
}

/// What a connection does that has claimed everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claims {
    /// It says that nothing more is claimed.
    Complete,
    /// Others have something to claim, or one is saying so.
    Wait,
    /// That was said.
    Over,
    /// The session is lost again.
    Lost,
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
        match (state.made, state.client) {
            (Some((session, _)), _) if session.fore.slots < self.connections => Join::MakeOwn,
            (Some((session, number)), Some(client)) => {
                Join::Bind(Bound { session, number, client, forgotten: state.forgotten })
            }
            _ if state.making => Join::Wait,
            (_, client) => {
                state.making = true;
                Join::Make(client)
            }
        }
    }

    /// The session is there, with its number. The server may have `forgotten` what its connections had: so often it has in all.
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

    /// The number of a session that a connection has for itself.
    pub(super) fn made_own(&self) -> u32 {
        let mut state = self.state();
        state.sessions += 1;
        state.sessions
    }

    /// The connection that was to make the session cannot.
    pub(super) fn not_made(&self) {
        self.state().making = false;
    }

    /// A session is of no use for anybody any more.
    pub(super) fn lost(&self, number: u32) {
        self.state().made.take_if(|(_, made)| *made == number);
    }

    /// Whether a connection has a session.
    pub(super) fn is_used(&self) -> bool {
        !self.state().members.is_empty()
    }

    /// A connection has a session from now on.
    pub(super) fn joined(&self, member: u32, number: u32) {
        let mut state = self.state();
        state.members.retain(|(one, _)| *one != member);
        state.members.push((member, number));
    }

    /// A connection has claimed everything that it had in this session. It waits for those that have not, if it is `patient`.
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

    /// It was said that nothing more is claimed.
    pub(super) fn completed(&self, member: u32) {
        let mut state = self.state();
        if state.completing.take_if(|one| *one == member).is_some() {
            state.incomplete = false;
        }
    }

    /// A connection is lost while it makes a session or claims: another one may make it, and this one claims again.
    pub(super) fn interrupted(&self, member: u32, makes: bool) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.making &= !makes;
        state.completing.take_if(|one| *one == member);
        if state.incomplete && !state.claiming.contains(&member) {
            state.claiming.push(member);
        }
    }

    /// A connection is over without having left. The session is of no use for connections to come: the numbers of its slots are lost.
    pub(super) fn forget(&self, member: u32, number: u32) {
        let mut state = self.state();
        state.made.take_if(|(_, made)| *made == number);
        state.part(member);
    }

    /// A connection gives back what it has.
    pub(super) fn leave(&self, member: u32, number: u32) -> Last {
        let mut state = self.state();
        state.part(member);
        let of_session = state.members.iter().all(|(_, other)| *other != number);
        Last { of_session, of_client: state.members.is_empty() }
    }
}

impl State {
    /// A connection has nothing of the session any more.
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
        trunk.made(session(2, 3), (7, 3), false);
        assert_eq!(trunk.join(), Join::MakeOwn, "3 slots for 4 connections");
        trunk.lost(1);
        assert_eq!(trunk.join(), Join::MakeOwn, "another one's is not forgotten");
        trunk.joined(1, 2);
        assert_eq!(trunk.leave(1, 2), Last { of_session: true, of_client: true });
        trunk.lost(2);
        assert_eq!(trunk.join(), Join::Make(Some((7, 3))));
        assert_eq!(trunk.made(session(3, 8), (8, 2), true).forgotten, 0, "nobody had anything that was forgotten");
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
