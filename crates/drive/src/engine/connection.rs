//! A place for a connection: consecutive connections of one client use the same place.

use std::net::SocketAddr;

use plimsoll_client::{Client, Inbox, Outbox};

use crate::network::{ConnectionKey, Take};
use crate::tap::Stream;

/// Bytes to read of a message that is probably mostly unwanted.
const HEAD: usize = 1024;

/// A place for a connection. Where a session has several, the place of the first has the client, and its outbox all that goes out.
pub(super) struct Connection {
    /// The place that has the client: this one, or that of the session's first connection.
    pub(super) home: u32,
    /// Which of the session's connections it is; 0 for the first.
    pub(super) channel: u32,
    /// The network's key of the connection.
    pub(super) key: ConnectionKey,
    /// The server's address that it is made to.
    pub(super) to: Option<SocketAddr>,
    pub(super) state: ConnectionState,
    /// Counts up whenever the state changes, so that a deadline knows whether it is still meant.
    pub(super) epoch: u32,
    pub(super) client: Option<Box<dyn Client>>,
    pub(super) out: Outbox,
    pub(super) inbox: Inbox,
    /// Since when there is no room to write; `None` while there is.
    pub(super) full_since: Option<i64>,
    /// Since when actions can be begun.
    pub(super) up_since: i64,
    /// When it was last lost, ns; 0 if it was never up.
    pub(super) lost_at: i64,
    /// The last bytes that were received brought several messages.
    pub(super) several: bool,
    /// The last received bytes contained several messages, and their answers were sent. The next ones probably will be too.
    pub(super) answers: bool,
    /// Wake-up time of its client, `i64::MAX` for never. A timer exists for it.
    pub(super) wakes_at: i64,
    /// Whether it is in the list of connections with data to send.
    pub(super) dirty: bool,
    /// Since when its client, which keeps its operations, has no connection that is up, ns.
    pub(super) suspended: Option<i64>,
    /// Connections made here before.
    pub(super) made: u32,
    /// Failures in a row.
    pub(super) failed: u32,
    /// It was connected, or given up, once.
    pub(super) settled: bool,
    /// It was given up once while its session continued on other connections.
    pub(super) given_up: bool,
    /// Its connection in the tap.
    pub(super) tapped: Option<Stream>,
}

/// The places of `sessions` sessions, followed by those of their further channels.
pub(super) fn places(sessions: u32, channels: u32) -> Vec<Connection> {
    let first = (0..sessions).map(|at| Connection::new(at, at, 0));
    let others = (0..sessions).flat_map(|home| (1..channels).map(move |channel| (home, channel)));
    let others = (sessions..).zip(others).map(|(at, (home, channel))| Connection::new(at, home, channel));
    first.chain(others).collect()
}

/// A connection with the client and the outbox that are its, wherever they are.
pub(super) struct Wired<'a> {
    pub(super) key: ConnectionKey,
    pub(super) home: u32,
    pub(super) channel: u32,
    pub(super) alive: bool,
    pub(super) client: &'a mut Option<Box<dyn Client>>,
    /// Of all channels.
    pub(super) out: &'a mut Outbox,
    pub(super) inbox: &'a mut Inbox,
    pub(super) full_since: &'a mut Option<i64>,
    pub(super) several: &'a mut bool,
    pub(super) answers: &'a mut bool,
    pub(super) tapped: &'a mut Option<Stream>,
}

/// The connection at `at`.
pub(super) fn wired(connections: &mut [Connection], at: u32) -> Option<Wired<'_>> {
    let home = connections.get(at as usize)?.home;
    let (own, first) = if home == at {
        (connections.get_mut(at as usize)?, None)
    } else {
        let [own, first] = connections.get_disjoint_mut([at as usize, home as usize]).ok()?;
        (own, Some(first))
    };
    let (alive, key, channel) = (own.alive(), own.key, own.channel);
    let Connection { client, out, inbox, full_since, several, answers, tapped, .. } = own;
    let (client, out) = first.map_or((client, out), |first| (&mut first.client, &mut first.out));
    Some(Wired { key, home, channel, alive, client, out, inbox, full_since, several, answers, tapped })
}

/// The state of a place for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// It waits until it may connect.
    Waiting,
    /// A connection is being made.
    Opening,
    /// The client logs on.
    LoggingOn,
    /// Actions can be begun.
    Up,
    /// The client logs off.
    Leaving,
    /// It is closed for good.
    Closed,
}

impl Connection {
    /// The place at `at`, of this channel of the client that is at home at `home`. Nothing was done yet.
    pub(super) fn new(at: u32, home: u32, channel: u32) -> Self {
        Self {
            home,
            channel,
            key: ConnectionKey(at),
            to: None,
            state: ConnectionState::Waiting,
            epoch: 0,
            client: None,
            out: Outbox::new(),
            inbox: Inbox::of(channel),
            full_since: None,
            up_since: 0,
            lost_at: 0,
            several: false,
            answers: false,
            wakes_at: i64::MAX,
            dirty: false,
            suspended: None,
            made: 0,
            failed: 0,
            settled: false,
            given_up: false,
            tapped: None,
        }
    }

    /// Changes the state, and invalidates the deadlines of the previous state.
    pub(super) fn enter(&mut self, state: ConnectionState) {
        self.state = state;
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// How to read: how many bytes at most, if there is room for `room`, and in which way.
    pub(super) fn manner(&self, room: usize) -> (usize, Take) {
        if self.inbox.expects_bulk() {
            return (HEAD.min(room), Take::AtOnce);
        }
        (room, if self.answers { Take::BeforeSending } else { Take::AtOnce })
    }

    /// Whether operations may be outstanding here.
    pub(super) fn has_operations(&self) -> bool {
        self.state == ConnectionState::Up || self.suspended.is_some()
    }

    /// Whether there is a client that bytes and actions can be given to.
    pub(super) fn alive(&self) -> bool {
        matches!(self.state, ConnectionState::LoggingOn | ConnectionState::Up | ConnectionState::Leaving)
    }
}
