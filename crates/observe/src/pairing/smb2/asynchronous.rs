//! Requests with an interim answer: the final one may come on another channel of their session.

use std::collections::{HashMap, HashSet};

use plimsoll_model::{Endpoint, Sink};
use serde::{Deserialize, Serialize};

use super::Waiting;
use crate::pairing::unfinished::waits_for_lock;
use crate::pairing::{ConnectionContext, Output, Pending};

/// Requests with an interim answer waiting at once over all connections, at most.
const ASYNC_MAX: usize = 65_536;
/// Of these, requests with the same key, at most: one for each connection to a server that uses the same ids.
const MAX_PER_KEY: usize = 256;

/// Server (where the session was set up), session, async id and message id of a request with an interim answer. Servers before SMB 3 number
/// sessions and async ids anew on every connection, so even all four may stand for several requests.
pub(super) type AcrossChannels = (Endpoint, u64, u64, u64);

/// Requests with an interim answer, of all connections.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Asynchronous {
    pending: HashMap<AcrossChannels, Vec<(ConnectionContext, Waiting)>, foldhash::fast::RandomState>,
    count: usize,
    /// Those of each connection.
    of_connections: HashMap<u32, WaitingKeys, foldhash::fast::RandomState>,
    /// Requests that wait at the end of the capture, by connection: no other channel answers them any more.
    left: HashMap<u32, Vec<(ConnectionContext, Waiting)>, foldhash::fast::RandomState>,
    /// Those that wait for a lock at the end of the capture, by connection.
    #[serde(skip)]
    locked: HashMap<u32, HashSet<AcrossChannels>, foldhash::fast::RandomState>,
}

/// The requests of a connection. A connection that ends asks for its own: searching all would cost too much with many connections.
#[derive(Debug, Default, Serialize, Deserialize)]
struct WaitingKeys {
    /// Keys of those that do not wait by design, and how many have each key.
    keys: HashMap<AcrossChannels, u32, foldhash::fast::RandomState>,
    /// How many wait by design.
    by_design: u32,
}

impl WaitingKeys {
    fn add(&mut self, across: AcrossChannels, by_design: bool) {
        match by_design {
            true => self.by_design += 1,
            false => *self.keys.entry(across).or_default() += 1,
        }
    }

    fn remove(&mut self, across: &AcrossChannels, by_design: bool) {
        if by_design {
            self.by_design = self.by_design.saturating_sub(1);
        } else if let Some(count) = self.keys.get_mut(across) {
            *count -= 1;
            if *count == 0 {
                self.keys.remove(across);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.by_design == 0
    }
}

impl Asynchronous {
    /// Ends the capture: waiting requests go back to their connections, which know their losses since then. Requests that wait by design
    /// do not: a missing answer does not show that it was lost.
    pub(super) fn give_back(&mut self) {
        for (across, alike) in &mut self.pending {
            for (link, _) in alike.iter().filter(|(_, waiting)| waits_for_lock(&waiting.pending)) {
                self.locked.entry(link.connection).or_default().insert(*across);
            }
            for one in alike.extract_if(.., |(_, waiting)| !waiting.pending.long_lived) {
                self.left.entry(one.0.connection).or_default().push(one);
            }
        }
        self.of_connections.values_mut().for_each(|held| held.keys.clear());
    }

    /// What waits of a connection, once the capture has ended.
    pub(super) fn left(&mut self, connection: u32) -> Vec<Waiting> {
        let mut left = self.left.remove(&connection).unwrap_or_default();
        left.sort_by_key(|(_, waiting)| waiting.pending.first.frame);
        left.into_iter().map(|(_, waiting)| waiting).collect()
    }

    /// The requests of a connection that still wait for a lock, once the capture has ended.
    pub(super) fn locked(&self, connection: u32) -> Vec<&Pending> {
        let keys = self.locked.get(&connection).into_iter().flatten();
        let all = keys.filter_map(|across| self.pending.get(across)).flatten();
        let own = all.filter(|(link, waiting)| link.connection == connection && waits_for_lock(&waiting.pending));
        let mut own: Vec<&Waiting> = own.map(|(_, waiting)| waiting).collect();
        own.sort_by_key(|waiting| (waiting.pending.first.frame, waiting.id));
        own.into_iter().map(|waiting| &waiting.pending).collect()
    }

    /// The capture and its connections have ended: what still waits, also of connections that had ended before, was not answered.
    pub(super) fn end<S: Sink>(&mut self, output: &mut Output<S>) {
        let left = self.left.drain().flat_map(|(_, waiting)| waiting);
        let mut all: Vec<_> = self.pending.drain().flat_map(|(_, waiting)| waiting).chain(left).collect();
        all.sort_by_key(|(_, waiting)| waiting.pending.first.frame);
        for (link, waiting) in all {
            output.unanswered(&link, waiting.id, &waiting.pending);
        }
    }

    /// Passes all requests to `take`, with their connections as they were at the interim answer.
    pub(super) fn waiting(&self, mut take: impl FnMut(&ConnectionContext, &Pending)) {
        self.pending.values().flatten().for_each(|(link, waiting)| take(link, &waiting.pending));
    }

    /// Whether a connection has such requests.
    pub(super) fn has_any_of(&self, connection: u32) -> bool {
        self.of_connections.contains_key(&connection)
    }

    /// Passes the requests of one connection that do not wait by design to `take`.
    pub(super) fn waiting_of(&self, connection: u32, mut take: impl FnMut(&Pending)) {
        let keys = self.of_connections.get(&connection).into_iter().flat_map(|held| held.keys.keys());
        let all = keys.filter_map(|across| self.pending.get(across)).flatten();
        let held = all.filter(|(link, waiting)| link.connection == connection && !waiting.pending.long_lived);
        let left = self.left.get(&connection).into_iter().flatten();
        held.chain(left).for_each(|(_, waiting)| take(&waiting.pending));
    }

    /// Whether there is room for one more request with this key. The limit per key prevents crafted input from making every lookup scan a
    /// long list.
    pub(super) fn has_room(&self, across: &AcrossChannels) -> bool {
        self.count < ASYNC_MAX && self.pending.get(across).is_none_or(|alike| alike.len() < MAX_PER_KEY)
    }

    pub(super) fn hold(&mut self, across: AcrossChannels, link: ConnectionContext, waiting: Waiting) {
        self.of_connections.entry(link.connection).or_default().add(across, waiting.pending.long_lived);
        self.pending.entry(across).or_default().push((link, waiting));
        self.count += 1;
    }

    /// The request that a final asynchronous answer on this connection is for: one of this connection, or the only
    /// one on another channel of the session. `is_of_session` says whether a request on another connection is of the session of this one.
    pub(super) fn release(
        &mut self,
        across: AcrossChannels,
        connection: u32,
        command: u16,
        is_of_session: impl FnOnce(&ConnectionContext, &Pending) -> bool,
    ) -> Option<(ConnectionContext, Waiting)> {
        let held = self.pending.get_mut(&across)?;
        let own = held.iter().position(|(link, _)| link.connection == connection);
        let other = || match held.as_slice() {
            [(link, only)] => is_of_session(link, &only.pending).then_some(0),
            _ => None,
        };
        let at = own.or_else(other).filter(|&at| held[at].1.command == command)?;
        let found = held.swap_remove(at);
        if held.is_empty() {
            self.pending.remove(&across);
        }
        self.count -= 1;
        self.forget(&across, &found);
        Some(found)
    }

    /// A connection has this request no longer.
    fn forget(&mut self, across: &AcrossChannels, (link, waiting): &(ConnectionContext, Waiting)) {
        let Some(held) = self.of_connections.get_mut(&link.connection) else { return };
        held.remove(across, waiting.pending.long_lived);
        if held.is_empty() {
            self.of_connections.remove(&link.connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};

    use super::*;
    use crate::message::whole;
    use crate::packet::Stamp;
    use crate::pairing::smb2::context::Binding;

    const SERVER: [u8; 4] = [10, 0, 0, 2];
    const CHANGE_NOTIFY: u16 = 15;
    const READ: u16 = 8;

    fn link(connection: u32) -> ConnectionContext {
        let end = |ip: [u8; 4], port| Endpoint { ip: ip.into(), port };
        let ends = [end([10, 0, 0, 1], 700), end(SERVER, 445)];
        ConnectionContext { from_start: true, ..ConnectionContext::new(connection, ends) }
    }

    fn key(id: u64) -> AcrossChannels {
        (Endpoint { ip: SERVER.into(), port: 445 }, 7, id, id)
    }

    /// A request of this connection with an interim answer.
    fn hold(all: &mut Asynchronous, connection: u32, id: u64, command: u16) {
        let message = whole(&[], Stamp { time_ns: 0, frame: id });
        let pending = Pending::of(&message, 0, &link(connection), Procedure::of(Protocol::Smb2, command));
        let waiting = Waiting { pending, command, id: Some(id), may_wait: false, binding: Binding::None };
        all.hold(key(id), link(connection), waiting);
    }

    /// The frames of what waits of this connection.
    fn frames(all: &Asynchronous, connection: u32) -> Vec<u64> {
        let mut frames = Vec::new();
        all.waiting_of(connection, |pending| frames.push(pending.first.frame));
        frames
    }

    #[test]
    fn a_connection_with_no_request_that_should_be_answered_searches_for_none() {
        let mut all = Asynchronous::default();
        hold(&mut all, 1, 1, CHANGE_NOTIFY);
        assert_eq!((frames(&all, 1), all.has_any_of(1), all.has_any_of(2)), (vec![], true, false));
        hold(&mut all, 1, 2, READ);
        hold(&mut all, 2, 3, READ);
        assert_eq!((frames(&all, 1), frames(&all, 2)), (vec![2], vec![3]));
        assert!(all.release(key(2), 1, READ, |_, _| true).is_some());
        assert!(all.release(key(1), 1, CHANGE_NOTIFY, |_, _| true).is_some());
        assert_eq!((frames(&all, 1), all.has_any_of(1)), (vec![], false));
        all.give_back();
        assert_eq!(frames(&all, 2), [3]);
    }

    /// Servers before SMB 3 number sessions and async ids anew on every connection.
    #[test]
    fn requests_with_the_same_key_are_told_apart_by_their_connections() {
        let mut all = Asynchronous::default();
        for connection in [1, 1, 2] {
            hold(&mut all, connection, 1, READ);
        }
        assert_eq!((frames(&all, 1), frames(&all, 2)), (vec![1, 1], vec![1]), "each once");
        assert!(all.release(key(1), 1, READ, |_, _| true).is_some());
        assert_eq!((frames(&all, 1), frames(&all, 2)), (vec![1], vec![1]));
        assert!(all.release(key(1), 1, READ, |_, _| true).is_some());
        assert_eq!((frames(&all, 1), all.has_any_of(1), frames(&all, 2)), (vec![], false, vec![1]));
        let known = (all.of_connections.len(), all.of_connections[&2].keys.len());
        assert_eq!(known, (1, 1), "each connection knows its own");
    }

    /// A client that waits for the response may be gone, and another one may have the same session ID.
    #[test]
    fn a_response_of_a_new_session_ends_no_request_of_an_earlier_one() {
        let mut all = Asynchronous::default();
        hold(&mut all, 1, 5, READ);
        let begins = |begun: u64| move |_: &ConnectionContext, request: &Pending| request.first.frame > begun;
        assert!(all.release(key(5), 2, READ, begins(6)).is_none(), "the session of connection 2 began later");
        assert_eq!(frames(&all, 1), [5]);
        assert!(all.release(key(5), 2, READ, begins(4)).is_some(), "another channel of the session");
        hold(&mut all, 1, 7, READ);
        assert!(all.release(key(7), 1, READ, begins(8)).is_some(), "message IDs belong to connections");
    }
}
