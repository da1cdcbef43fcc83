//! What RPC over TLS (RFC 9289) shows without its keys: connections and the sizes of their TLS records.

use serde::{Deserialize, Serialize};

use crate::Endpoint;

/// Connections whose messages are in TLS records, which were not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcTls {
    /// How many.
    pub connections: u64,
    /// Records with application data from clients, and to clients; the handshake is left out where it was captured.
    pub records: [u64; 2],
    /// Bytes of these records, headers included.
    pub bytes: [u64; 2],
    /// Requests in them, estimated; see [`RpcTlsConnection::requests`].
    pub requests: u64,
    /// The first ones, at most [`RpcTls::NAMED`].
    pub named: Vec<RpcTlsConnection>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcTlsConnection {
    /// Its client.
    pub client: Endpoint,
    /// Its server.
    pub server: Endpoint,
    /// Records with application data from the client, and to the client.
    pub records: [u64; 2],
    /// Their bytes, headers included.
    pub bytes: [u64; 2],
    /// The client's records that are not full: a message goes on in the next record only if its record is full. A record may hold several
    /// requests, and some clients send the parts of a request in separate records. Without the client's records, the server's.
    pub requests: u64,
    /// As many requests as fit into the records, if each was as short as possible.
    pub most_requests: u64,
}

impl RpcTls {
    /// Connections that are kept in `named`, at most.
    pub const NAMED: usize = 16;

    /// Adds a connection.
    pub fn add_connection(&mut self, one: &RpcTlsConnection) {
        let named = vec![*one];
        let &RpcTlsConnection { records, bytes, requests, .. } = one;
        self.add(&RpcTls { connections: 1, records, bytes, requests, named });
    }

    /// Adds other connections.
    pub fn add(&mut self, other: &RpcTls) {
        self.connections += other.connections;
        for way in 0..2 {
            self.records[way] = self.records[way].saturating_add(other.records[way]);
            self.bytes[way] = self.bytes[way].saturating_add(other.bytes[way]);
        }
        self.requests = self.requests.saturating_add(other.requests);
        let room = Self::NAMED.saturating_sub(self.named.len());
        self.named.extend(other.named.iter().take(room));
    }
}
