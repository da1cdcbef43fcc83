//! The key of a transaction in one dimension.

use std::net::IpAddr;

use plimsoll_model::{Endpoint, Names, Operation, Outcome, Protocol, StatusFamily, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::Dimension;
use crate::state::{Reader, State, StateError, Writer};

const SECOND_NS: i64 = 1_000_000_000;

/// One key of a breakdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Key {
    /// Client address.
    Client(IpAddr),
    /// Server address and port.
    Server(Endpoint),
    /// Share or export.
    Share(Symbol),
    /// Account or numeric uid.
    User(Symbol),
    /// Share (where known) and path.
    Path(Symbol, Symbol),
    /// Number, client, server.
    Connection(u32, Endpoint, Endpoint),
    /// Operation.
    Operation(Operation),
    /// Status, of a protocol that numbers it so.
    Status(Protocol, u32),
    /// How a request without a status ended.
    Outcome(Outcome),
    /// Protocol.
    Protocol(Protocol),
    /// When a second, minute or hour began, ns since the Unix epoch.
    Time(i64),
}

impl Key {
    /// The key of a transaction; `None` where it is not known.
    #[inline]
    pub(super) fn of(dimension: Dimension, t: &Transaction) -> Option<Key> {
        let known = |symbol: Symbol| symbol.is_some().then_some(symbol);
        let time = |width_ns: i64| {
            let start = t.timeline.request_first?;
            start.checked_sub(start.rem_euclid(width_ns)).map(Key::Time)
        };
        match dimension {
            Dimension::Client => t.client.is_somewhere().then_some(Key::Client(t.client.ip)),
            Dimension::Server => t.server.is_somewhere().then_some(Key::Server(t.server)),
            Dimension::Share => known(t.share).map(Key::Share),
            Dimension::User => known(t.user).map(Key::User),
            Dimension::Path => known(t.path).map(|path| Key::Path(t.share, path)),
            Dimension::Connection => Some(Key::Connection(t.connection, t.client, t.server)),
            Dimension::Operation => Some(Key::Operation(t.procedure.row().operation)),
            Dimension::Status => Some(status(t)),
            Dimension::Protocol => Some(Key::Protocol(t.procedure.row().protocol)),
            Dimension::Second => time(SECOND_NS),
            Dimension::Minute => time(60 * SECOND_NS),
            Dimension::Hour => time(3600 * SECOND_NS),
        }
    }

    /// A name that it holds, unescaped; `None` where it holds another kind of key.
    pub fn name<'n>(&self, names: &'n Names) -> Option<&'n str> {
        match *self {
            Key::Share(symbol) | Key::User(symbol) | Key::Path(_, symbol) => names.text(symbol),
            _ => None,
        }
    }
}

/// SMB1 and SMB2 use the same NTSTATUS values, so they share a key.
fn status(t: &Transaction) -> Key {
    let protocol = t.procedure.row().protocol;
    match t.status {
        Some(status) if StatusFamily::of(protocol, status) == Some(StatusFamily::Nt) => {
            Key::Status(Protocol::Smb2, status)
        }
        Some(status) => Key::Status(protocol, status),
        None => Key::Outcome(t.outcome),
    }
}

impl State for Key {
    fn put(&self, out: &mut Writer) {
        match *self {
            Key::Client(ip) => (0u8, ip).put(out),
            Key::Server(server) => (1u8, server).put(out),
            Key::Share(share) => (2u8, share).put(out),
            Key::User(user) => (3u8, user).put(out),
            Key::Path(share, path) => (4u8, (share, path)).put(out),
            Key::Connection(number, client, server) => (5u8, (number, (client, server))).put(out),
            Key::Operation(operation) => (6u8, operation).put(out),
            Key::Status(protocol, status) => (7u8, (protocol, status)).put(out),
            Key::Outcome(outcome) => (8u8, outcome).put(out),
            Key::Protocol(protocol) => (9u8, protocol).put(out),
            Key::Time(start_ns) => (10u8, start_ns).put(out),
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(match u8::take(from)? {
            0 => Key::Client(State::take(from)?),
            1 => Key::Server(State::take(from)?),
            2 => Key::Share(State::take(from)?),
            3 => Key::User(State::take(from)?),
            4 => Key::Path(State::take(from)?, State::take(from)?),
            5 => Key::Connection(State::take(from)?, State::take(from)?, State::take(from)?),
            6 => Key::Operation(State::take(from)?),
            7 => Key::Status(State::take(from)?, State::take(from)?),
            8 => Key::Outcome(State::take(from)?),
            9 => Key::Protocol(State::take(from)?),
            10 => Key::Time(State::take(from)?),
            _ => return Err(from.no("key")),
        })
    }
}
