//! Sessions with several connections: SMB multichannel, NFSv4.1 session trunking.

use serde::{Deserialize, Serialize};

/// Sessions that are listed.
pub const MOST_SESSIONS: usize = 16;
/// Channels of a session that are listed.
pub const MOST_LISTED: usize = 64;

/// Sessions with several connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Channels {
    /// Sessions in all.
    pub sessions_in_all: u64,
    /// Those with several connections and at least one request.
    pub sessions_with_several: u64,
    /// Number of connections with less than a hundredth of their session's mean per connection, over all sessions.
    pub idle_channels: u64,
    /// The largest `balance` of all sessions; null if none has one.
    pub worst_balance: Option<f64>,
    /// Requests on connections without separate counts, because there were too many.
    pub requests_left_out: u64,
    /// The sessions that carried most, at most [`MOST_SESSIONS`].
    pub sessions: Vec<Session>,
}

/// A session with several connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// SMB: its ID; NFS 4.1: a hash of its ID. Hexadecimal.
    pub id: String,
    /// Account, where known.
    pub user: Option<String>,
    /// From its first request to its last answer, s; of a load level the measured phase.
    pub elapsed_s: Option<f64>,
    /// Requests of the busiest connection divided by those of the least busy one, among connections that were used for nine tenths of
    /// this time; null with fewer than two of these, or if one carried nothing.
    pub balance: Option<f64>,
    /// Its connections, at most [`MOST_LISTED`].
    pub channels: Vec<Channel>,
}

/// A connection's traffic for a session: without requests that wait by design, and without the session's setup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// Its number in the capture or run.
    pub connection: u32,
    /// The client's address and port.
    pub client: String,
    /// The server's.
    pub server: String,
    /// Requests.
    pub requests: u64,
    /// Fraction of the requests of all its session's connections, 0..=1.
    pub share: f64,
    /// Answers that were errors.
    pub errors: u64,
    /// Requests without an answer: of a connection that was lost, those that were outstanding then.
    pub unanswered: u64,
    /// File data moved, bytes; null if part of it is unknown.
    pub data_bytes: Option<u64>,
    /// Request and response messages, bytes; null if part of it is unknown.
    pub wire_bytes: Option<u64>,
    /// Mean requests outstanding: the sum of the response times over the session's time (Little's law).
    pub depth_mean: Option<f64>,
    /// Mean response time, s.
    pub response_mean_s: Option<f64>,
    /// p95 of the response times, s.
    pub response_p95_s: Option<f64>,
    /// Largest response time, s.
    pub response_max_s: Option<f64>,
    /// From its first request to its last answer, s.
    pub used_s: Option<f64>,
    /// It carried less than a hundredth of its session's mean per connection.
    pub is_idle: bool,
}
