//! Requests with an interim answer: the final one may come on another channel of their session. So a request waits until the last
//! connection of its session ends, or, if the session began before the capture, until the capture ends.

use std::collections::{HashMap, HashSet};

use plimsoll_model::{Endpoint, Sink};
use serde::{Deserialize, Serialize};

use super::waiting::Waiting;
use crate::pairing::unfinished::waits_for_lock;
use crate::pairing::{ConnectionContext, Output, Pending};

/// Requests with an interim answer waiting at once over all connections, at most.
const ASYNC_MAX: usize = 65_536;
/// Of these, requests with the same key, at most: one for each connection to a server that uses the same ids.
const MAX_PER_KEY: usize = 256;

/// Server (where the session was set up), session, async id and message id of a request with an interim answer. Servers before SMB 3 number
/// sessions and async ids anew on every connection, so even all four may stand for several requests.
pub(super) type AcrossChannels = (Endpoint, u64, u64, u64);

/// A request with an interim answer.
#[derive(Debug, Serialize, Deserialize)]
struct Held {
    /// Its connection as it was at the interim answer, or when it ended.
    context: ConnectionContext,
    waiting: Waiting,
    /// The connection that holds it: its own, or another open one of its session.
    holder: u32,
}

impl Held {
    /// Its place among others. Members of a compound have the same frame.
    fn order(&self) -> (u64, Option<u64>) {
        (self.waiting.pending.first.frame, self.waiting.id)
    }
}

/// Requests with an interim answer, of all connections.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Asynchronous {
    pending: HashMap<AcrossChannels, Vec<Held>, foldhash::fast::RandomState>,
    count: usize,
    /// Those that each connection holds.
    of_connections: HashMap<u32, WaitingKeys, foldhash::fast::RandomState>,
    /// Requests that wait at the end of the capture, by connection: no other channel answers them any more.
    left: HashMap<u32, Vec<Held>, foldhash::fast::RandomState>,
    /// Those that wait for a lock at the end of the capture, by connection.
    #[serde(skip)]
    locked: HashMap<u32, HashSet<AcrossChannels>, foldhash::fast::RandomState>,
    /// The capture has ended.
    #[serde(skip)]
    has_ended: bool,
}

/// Keys of requests, and how many have each key.
type Keys = HashMap<AcrossChannels, u32, foldhash::fast::RandomState>;

/// The requests of a connection. A connection that ends asks for its own: searching all would cost too much with many connections.
#[derive(Debug, Default, Serialize, Deserialize)]
struct WaitingKeys {
    /// Those that do not wait by design.
    keys: Keys,
    /// Those that do.
    by_design: Keys,
}

impl WaitingKeys {
    fn of(&mut self, by_design: bool) -> &mut Keys {
        if by_design { &mut self.by_design } else { &mut self.keys }
    }

    fn add(&mut self, across: AcrossChannels, by_design: bool) {
        *self.of(by_design).entry(across).or_default() += 1;
    }

    fn remove(&mut self, across: &AcrossChannels, by_design: bool) {
        let keys = self.of(by_design);
        let Some(count) = keys.get_mut(across) else { return };
        *count -= 1;
        if *count == 0 {
            keys.remove(across);
        }
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.by_design.is_empty()
    }
}

impl Asynchronous {
    /// Ends the capture: waiting requests go back to their connections, which know their losses since then. Requests that wait by design
    /// do not: a missing answer does not show that it was lost.
    pub(super) fn give_back(&mut self) {
        self.has_ended = true;
        for (across, alike) in &mut self.pending {
            for held in alike.iter().filter(|held| waits_for_lock(&held.waiting.pending)) {
                self.locked.entry(held.context.connection).or_default().insert(*across);
            }
            for held in alike.extract_if(.., |held| !held.waiting.pending.long_lived) {
                self.left.entry(held.context.connection).or_default().push(held);
            }
        }
        self.of_connections.values_mut().for_each(|held| held.keys.clear());
    }

    /// What waits of a connection that ends, except what waits by design. `is_over` says which requests no other connection answers; once
    /// the capture has ended, this is all.
    pub(super) fn left(&mut self, connection: u32, is_over: impl Fn(&AcrossChannels) -> bool) -> Vec<Waiting> {
        let mut left = self.left.remove(&connection).unwrap_or_default();
        if !self.has_ended {
            let is_own = |held: &Held| held.context.connection == connection && !held.waiting.pending.long_lived;
            let taken = self.take(connection, |across, held| is_own(held) && is_over(across));
            left.extend(taken.into_iter().map(|(_, held)| held));
        }
        left.sort_by_key(Held::order);
        left.into_iter().map(|held| held.waiting).collect()
    }

    /// A connection has ended before the capture. The connection that `next_holder` gives holds its requests from now on. Returns those
    /// without one.
    pub(super) fn leave(
        &mut self,
        ended: &ConnectionContext,
        next_holder: impl Fn(&AcrossChannels) -> Option<u32>,
    ) -> Vec<(ConnectionContext, Waiting)> {
        if self.has_ended {
            return Vec::new();
        }
        let mut over = Vec::new();
        for (across, mut held) in self.take(ended.connection, |_, _| true) {
            if held.context.connection == ended.connection && !held.waiting.pending.long_lived {
                // It knows the losses since the interim answer. Its end did not end this wait.
                held.context = ConnectionContext { ended: None, ..*ended };
            }
            match next_holder(&across) {
                Some(holder) => self.add(across, Held { holder, ..held }),
                None => over.push((held.context, held.waiting)),
            }
        }
        over
    }

    /// Takes out those requests of a connection that `is_taken` selects, in the order of their frames.
    fn take(
        &mut self,
        connection: u32,
        is_taken: impl Fn(&AcrossChannels, &Held) -> bool,
    ) -> Vec<(AcrossChannels, Held)> {
        let Some(of) = self.of_connections.get(&connection) else { return Vec::new() };
        let keys: Vec<AcrossChannels> = of.keys.keys().chain(of.by_design.keys()).copied().collect();
        let mut taken = Vec::new();
        for across in keys {
            let Some(alike) = self.pending.get_mut(&across) else { continue };
            let selected = alike.extract_if(.., |held| held.holder == connection && is_taken(&across, held));
            taken.extend(selected.map(|held| (across, held)));
            if alike.is_empty() {
                self.pending.remove(&across);
            }
        }
        self.count -= taken.len();
        taken.iter().for_each(|(across, held)| self.forget(across, held));
        taken.sort_by_key(|(_, held)| held.order());
        taken
    }

    /// The requests of a connection that still wait for a lock, once the capture has ended.
    pub(super) fn locked(&self, connection: u32) -> Vec<&Pending> {
        let keys = self.locked.get(&connection).into_iter().flatten();
        let all = keys.filter_map(|across| self.pending.get(across)).flatten();
        let own = all.filter(|held| held.context.connection == connection && waits_for_lock(&held.waiting.pending));
        let mut own: Vec<&Waiting> = own.map(|held| &held.waiting).collect();
        own.sort_by_key(|waiting| (waiting.pending.first.frame, waiting.id));
        own.into_iter().map(|waiting| &waiting.pending).collect()
    }

    /// The capture and its connections have ended: what still waits, also of connections that had ended before, was not answered.
    pub(super) fn end<S: Sink>(&mut self, output: &mut Output<S>) {
        let left = self.left.drain().flat_map(|(_, waiting)| waiting);
        let mut all: Vec<_> = self.pending.drain().flat_map(|(_, waiting)| waiting).chain(left).collect();
        all.sort_by_key(Held::order);
        for Held { context, waiting, .. } in all {
            output.unanswered(&context, waiting.id, &waiting.pending);
        }
    }

    /// Passes all requests except notifications to `take`, with their connections as they were at the interim answer.
    pub(super) fn waiting(&self, mut take: impl FnMut(&ConnectionContext, &Pending)) {
        let is_shown = |request: &Pending| !request.long_lived || waits_for_lock(request);
        let all = self.pending.values().flatten();
        let mut all: Vec<&Held> = all.filter(|held| is_shown(&held.waiting.pending)).collect();
        all.sort_by_key(|held| (held.context.connection, held.order()));
        all.into_iter().for_each(|held| take(&held.context, &held.waiting.pending));
    }

    /// Whether a connection has such requests.
    pub(super) fn has_any_of(&self, connection: u32) -> bool {
        self.of_connections.contains_key(&connection)
    }

    /// Passes the requests of one connection that do not wait by design to `take`.
    pub(super) fn waiting_of(&self, connection: u32, mut take: impl FnMut(&Pending)) {
        let keys = self.of_connections.get(&connection).into_iter().flat_map(|held| held.keys.keys());
        let all = keys.filter_map(|across| self.pending.get(across)).flatten();
        let own = all.filter(|held| held.context.connection == connection && !held.waiting.pending.long_lived);
        let left = self.left.get(&connection).into_iter().flatten();
        own.chain(left).for_each(|held| take(&held.waiting.pending));
    }

    /// Whether there is room for one more request with this key. The limit per key prevents crafted input from making every lookup scan a
    /// long list.
    pub(super) fn has_room(&self, across: &AcrossChannels) -> bool {
        self.count < ASYNC_MAX && self.pending.get(across).is_none_or(|alike| alike.len() < MAX_PER_KEY)
    }

    pub(super) fn hold(&mut self, across: AcrossChannels, context: ConnectionContext, waiting: Waiting) {
        self.add(across, Held { holder: context.connection, context, waiting });
    }

    fn add(&mut self, across: AcrossChannels, held: Held) {
        self.of_connections.entry(held.holder).or_default().add(across, held.waiting.pending.long_lived);
        self.pending.entry(across).or_default().push(held);
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
        let alike = self.pending.get_mut(&across)?;
        let own = alike.iter().position(|held| held.context.connection == connection);
        let other = || match alike.as_slice() {
            [only] => is_of_session(&only.context, &only.waiting.pending).then_some(0),
            _ => None,
        };
        let at = own.or_else(other).filter(|&at| alike[at].waiting.command == command)?;
        let found = alike.swap_remove(at);
        if alike.is_empty() {
            self.pending.remove(&across);
        }
        self.count -= 1;
        self.forget(&across, &found);
        Some((found.context, found.waiting))
    }

    /// A connection holds this request no longer.
    fn forget(&mut self, across: &AcrossChannels, held: &Held) {
        let Some(of) = self.of_connections.get_mut(&held.holder) else { return };
        of.remove(across, held.waiting.pending.long_lived);
        if of.is_empty() {
            self.of_connections.remove(&held.holder);
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

    fn context(connection: u32) -> ConnectionContext {
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
        let pending = Pending::of(&message, 0, &context(connection), Procedure::of(Protocol::Smb2, command));
        let waiting = Waiting { pending, command, id: Some(id), may_wait: false, binding: Binding::None };
        all.hold(key(id), context(connection), waiting);
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

    #[test]
    fn requests_of_a_connection_that_ended_leave_or_wait_for_another_one_of_their_session() {
        let mut all = Asynchronous::default();
        for (id, command) in [(1, READ), (2, CHANGE_NOTIFY), (3, READ)] {
            hold(&mut all, 1, id, command);
        }
        let left: Vec<_> = all.left(1, |across| across.2 != 3).into_iter().map(|waiting| waiting.id).collect();
        assert_eq!(left, [Some(1)], "the last one may be answered");
        assert!(all.leave(&context(1), |_| Some(2)).is_empty());
        assert_eq!((all.count, all.has_any_of(1), all.has_any_of(2)), (2, false, true));
        assert!(frames(&all, 2).is_empty(), "they are not its own");
        assert!(all.release(key(3), 2, READ, |_, _| true).is_some());
        let over = all.leave(&context(2), |_| None);
        let over: Vec<_> = over.into_iter().map(|(context, waiting)| (context.connection, waiting.id)).collect();
        assert_eq!(over, [(1, Some(2))]);
        assert_eq!((all.count, all.pending.len(), all.of_connections.len()), (0, 0, 0));
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
