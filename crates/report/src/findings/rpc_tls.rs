//! RPC over TLS, whose messages are not known.

use serde::{Deserialize, Serialize};

/// Connections with RPC over TLS (`plimsoll_model::RpcTls`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcTls {
    /// How many.
    pub connections: u64,
    /// TLS records with application data from clients.
    pub request_records: u64,
    /// The same to clients.
    pub response_records: u64,
    /// Bytes of the records from clients.
    pub request_bytes: u64,
    /// The same to clients.
    pub response_bytes: u64,
    /// Requests in them, estimated from the records' lengths.
    pub requests: u64,
    /// The first connections.
    pub named: Vec<RpcTlsConnection>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcTlsConnection {
    /// Its client, `address:port`.
    pub client: String,
    /// Its server, `address:port`.
    pub server: String,
    /// TLS records with application data from the client.
    pub request_records: u64,
    /// The same to the client.
    pub response_records: u64,
    /// Bytes of the records from the client.
    pub request_bytes: u64,
    /// The same to the client.
    pub response_bytes: u64,
}
