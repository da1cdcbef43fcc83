//! What encrypted SMB 3 traffic tells without its keys: the headers around encrypted messages give session, direction and size.

use serde::{Deserialize, Serialize};

/// Encrypted messages whose contents were not read, over connections of which the client is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encrypted {
    /// Connections.
    pub connections: u64,
    /// Messages from clients, and to clients.
    pub messages: [u64; 2],
    /// Bytes of SMB in them, headers included.
    pub bytes: [u64; 2],
    /// First byte of the first one, ns since the Unix epoch.
    pub first_ns: Option<i64>,
    /// Last byte of the last one, ns since the Unix epoch.
    pub last_ns: Option<i64>,
    /// All requests with a response; each response is assigned to the request that waited longest.
    pub all: Waited,
    /// Lower and upper bound of the sum of their times, ns: equal if each request has one response, in any order.
    pub sum_ns: [u64; 2],
    /// Those that are reads by the sizes of both messages.
    pub reads: Waited,
    /// Those that are writes.
    pub writes: Waited,
    /// Responses beside those that requests have: interim ones, breaks, and those to requests before the capture.
    pub besides: u64,
    /// Of these, responses that have the size of neither: with them nothing is known of the sum.
    pub unexplained: u64,
    /// Requests left without a response.
    pub unanswered: u64,
    /// Requests that were taken for CANCEL, which has no response.
    pub cancels: u64,
    /// Number of times that bytes were missing, or too many requests outstanding. Requests outstanding then, or sent before the connection
    /// was idle again, have no time.
    pub interrupted: u64,
}

/// Times from requests to responses; each response is assigned to the request that waited longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// How many.
    pub count: u64,
    /// Their sum, ns.
    pub sum_ns: u64,
    /// Bytes of the messages that carry data.
    pub bytes: u64,
    /// Percentiles 50, 90 and 99 within 2 %, ns.
    pub percentiles_ns: [Option<u64>; 3],
    /// The longest, ns.
    pub longest_ns: u64,
}
