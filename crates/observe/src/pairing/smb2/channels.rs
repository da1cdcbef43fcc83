//! The open connections of each session: any of them may bring the final response to a request with an interim one.

use std::collections::HashMap;

use plimsoll_model::{Endpoint, Sink};
use serde::{Deserialize, Serialize};

use super::Smb2Shared;
use super::asynchronous::AcrossChannels;
use super::waiting::Waiting;
use crate::names::{Origin, Smb2Names};
use crate::pairing::{ConnectionContext, Output};

/// Sessions of connections that are remembered, at most: some 100 bytes each. The requests of further ones end with their connection.
const SESSIONS_MAX: usize = 65_536;
/// Connections of a session, at most: far more than clients open.
const PER_SESSION_MAX: usize = 64;

/// A session, and where its ID is valid.
type Session = (Origin, u64);

/// The connections on which sessions were set up, or which were bound to them, and which have not ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Channels {
    of_sessions: HashMap<Session, Vec<u32>, foldhash::fast::RandomState>,
    of_connections: HashMap<u32, Vec<Session>, foldhash::fast::RandomState>,
    count: usize,
}

impl Channels {
    fn add(&mut self, connection: u32, session: Session) {
        if self.count >= SESSIONS_MAX {
            return;
        }
        let connections = self.of_sessions.entry(session).or_default();
        if connections.len() < PER_SESSION_MAX && !connections.contains(&connection) {
            connections.push(connection);
            self.of_connections.entry(connection).or_default().push(session);
            self.count += 1;
        }
    }

    /// The connection has ended.
    fn remove(&mut self, connection: u32) {
        let sessions = self.of_connections.remove(&connection).unwrap_or_default();
        self.count -= sessions.len();
        for session in sessions {
            let Some(connections) = self.of_sessions.get_mut(&session) else { continue };
            connections.retain(|one| *one != connection);
            if connections.is_empty() {
                self.of_sessions.remove(&session);
            }
        }
    }

    /// The connection that holds this request once `connection` has ended: another open one of its session. If the session began before
    /// the capture, other connections may be unknown, and the request stays where it is.
    fn next_holder(&self, connection: u32, &(server, session, ..): &AcrossChannels, names: &Smb2Names) -> Option<u32> {
        let origin = names.origin(connection, server, Some(session));
        let known = self.of_sessions.get(&(origin, session)).into_iter().flatten();
        let other = known.copied().find(|one| *one != connection);
        let is_begun = names.begun_frame(origin.server, session).is_some();
        other.or_else(|| (!is_begun).then_some(connection))
    }
}

impl Smb2Shared {
    /// A session was set up on a connection, or the connection was bound to it.
    pub(super) fn note_channel(&mut self, connection: u32, server: Endpoint, session: Option<u64>) {
        if let Some(session) = session.filter(|session| *session != 0) {
            let origin = self.names.origin(connection, server, Some(session));
            self.channels.add(connection, (origin, session));
        }
    }

    /// The requests with an interim response of a connection that ends, which no other connection can answer.
    pub(super) fn left(&mut self, context: &ConnectionContext) -> Vec<Waiting> {
        let Self { names, channels, asynchronous, .. } = self;
        asynchronous.left(context.connection, |across| next_holder(context, across, channels, names).is_none())
    }

    /// The connection has ended, and was settled. Its further requests with an interim response wait for another connection of their
    /// session, or were not answered.
    pub(crate) fn leave<S: Sink>(&mut self, context: &ConnectionContext, output: &mut Output<S>) {
        let Self { names, channels, asynchronous, .. } = self;
        for (context, waiting) in asynchronous.leave(context, |across| next_holder(context, across, channels, names)) {
            output.unanswered(&context, waiting.id, &waiting.pending);
        }
        channels.remove(context.connection);
    }
}

/// The connection that holds a request of `context`, which has ended or is no longer followed: then its packets may go on, as another one.
fn next_holder(context: &ConnectionContext, across: &AcrossChannels, all: &Channels, names: &Smb2Names) -> Option<u32> {
    match context.ended {
        None => Some(context.connection),
        Some(_) => all.next_holder(context.connection, across, names),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};

    use super::*;
    use crate::connection_context::Ended;
    use crate::message::whole;
    use crate::packet::Stamp;
    use crate::pairing::Pending;
    use crate::pairing::smb2::context::Binding;

    #[test]
    fn a_connection_that_was_not_closed_may_go_on() {
        let end = |last: u8| Endpoint { ip: [10, 0, 0, last].into(), port: 445 };
        let (open, mut shared) = (ConnectionContext::new(1, [end(1), end(2)]), Smb2Shared::default());
        shared.names.begin_session(1, end(2), 7, 1);
        let message = whole(&[], Stamp { time_ns: 0, frame: 2 });
        let pending = Pending::of(&message, 0, &open, Procedure::of(Protocol::Smb2, 8));
        let waiting = Waiting { pending, command: 8, id: Some(5), may_wait: false, binding: Binding::None };
        shared.asynchronous.hold((end(2), 7, 5, 5), open, waiting);
        assert!(shared.left(&open).is_empty(), "it is only no longer followed");
        let ended = Some(Ended::Closed { direction: 0, at_ns: 1, responded_ns: None });
        assert_eq!(shared.left(&ConnectionContext { ended, ..open }).len(), 1);
    }

    #[test]
    fn connections_that_have_ended_are_forgotten() {
        let (mut channels, mut names) = (Channels::default(), Smb2Names::default());
        let server = Endpoint { ip: [10, 0, 0, 2].into(), port: 445 };
        [7, 8].into_iter().for_each(|id| names.begin_session(1, server, id, id));
        let session = |id: u64| (names.origin(1, server, Some(id)), id);
        [(1, 7), (1, 8), (2, 7), (2, 7)].into_iter().for_each(|(connection, id)| channels.add(connection, session(id)));
        let next = |channels: &Channels, connection, id| channels.next_holder(connection, &(server, id, 0, 0), &names);
        assert_eq!((next(&channels, 1, 7), next(&channels, 2, 7), next(&channels, 1, 8)), (Some(2), Some(1), None));
        assert_eq!(next(&channels, 1, 9), Some(1), "this session began before the capture");
        channels.remove(1);
        assert_eq!((next(&channels, 2, 7), channels.count), (None, 1));
        channels.remove(2);
        assert_eq!((channels.of_sessions.len(), channels.of_connections.len(), channels.count), (0, 0, 0));
        (0..200).for_each(|connection| channels.add(connection, session(7)));
        assert_eq!(channels.count, PER_SESSION_MAX);
    }
}
