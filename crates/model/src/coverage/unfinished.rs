//! Connections with requests that got no response.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Endpoint, Procedure, Symbol};

/// What ended the wait for responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WaitEnd {
    /// The server ended the connection, by FIN or RST, before the client did.
    Server,
    /// The client did.
    Client,
    /// The capture ended.
    Capture,
    /// The capture ended while the request waited for a byte-range lock. It waits by design, so this shows nothing about the server.
    CaptureLocked,
}

impl WaitEnd {
    /// All of them.
    pub const ALL: [WaitEnd; 4] = [WaitEnd::Server, WaitEnd::Client, WaitEnd::Capture, WaitEnd::CaptureLocked];
}

/// A connection with requests that got no response. The capture lost nothing that could be the responses. Long-lived requests do not count,
/// except that each request for a lock that waited until the capture ended is one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// The server.
    pub server: Endpoint,
    /// The client.
    pub client: IpAddr,
    /// What ended the wait,
    pub end: WaitEnd,
    /// and when, ns.
    pub end_ns: i64,
    /// When the server last sent a response to anybody before this end, readable or not, ns; `None` if it sent none, or this is not known.
    pub responded_ns: Option<i64>,
    /// The requests.
    pub requests: u64,
    /// When the first of them was sent, ns.
    pub first_ns: i64,
    /// When the last of them was sent, ns.
    pub last_ns: i64,
    /// The capture has acknowledgements of all of them: the server's system received them, and packets of this direction were captured.
    pub is_acknowledged: bool,
    /// The last one: its procedure,
    pub procedure: Procedure,
    /// its share,
    pub share: Symbol,
    /// and its path.
    pub path: Symbol,
}

impl Unfinished {
    /// Adds another request of the same connection.
    pub fn add(&mut self, other: &Unfinished) {
        let (requests, first_ns) = (self.requests.saturating_add(other.requests), self.first_ns.min(other.first_ns));
        let is_acknowledged = self.is_acknowledged && other.is_acknowledged;
        if other.last_ns >= self.last_ns {
            *self = *other;
        }
        (self.requests, self.first_ns, self.is_acknowledged) = (requests, first_ns, is_acknowledged);
    }
}
