//! Connections that were reset while they were in use.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::Endpoint;

/// Connections of a client to a server that ended with a TCP reset while they were in use, after which the client connected again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resets {
    /// The server, with its port.
    pub server: Endpoint,
    /// The client.
    pub client: IpAddr,
    /// Connections that ended so.
    pub count: u64,
    /// Of these, connections whose captured reset has the client's address as source.
    pub from_client: u64,
    /// The first and the last reset, ns.
    pub span_ns: (i64, i64),
    /// The longest time until the client connected again, ns.
    pub back_after_ns: u64,
    /// Other clients of the server.
    pub others: u64,
    /// Of these, clients that had such resets too.
    pub others_reset: u64,
}
