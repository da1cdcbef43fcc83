//! Factories of clients and scenarios.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_model::{Endpoint, Names, Symbol};

use plimsoll_client::Client;
use plimsoll_client::calls::Identity;
use plimsoll_client::tls::Tls;
use plimsoll_workload::scenario::Scenario;

/// How clients reach a server, or several. Called from every worker thread.
pub trait ServerAccess: Sync {
    /// Where it is; `None` where clients need no connection (they do all in [`Client::begin`], and block there).
    fn address(&self) -> Option<SocketAddr>;
    /// Where the server of a client is, where there are several.
    fn address_of(&self, _client_index: u32) -> Option<SocketAddr> {
        self.address()
    }
    /// The names of the targets in messages, if there are several. Client `i` uses target `i` modulo their number.
    fn targets(&self) -> Vec<String> {
        Vec::new()
    }
    /// The account of a client, where there are several.
    fn account_of(&self, _client_index: u32) -> Option<String> {
        None
    }
    /// Whether the server requires source ports below 1024.
    fn reserved_ports(&self) -> bool {
        false
    }
    /// Servers whose connections use TLS.
    fn tls(&self) -> Vec<(SocketAddr, Arc<Tls>)> {
        Vec::new()
    }
    /// The protocol machine of a connection that was just made: the first, and each one after a loss.
    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client>;
}

/// The server and the scenarios of a run. Called from every worker thread.
pub trait Setup: Sync {
    /// How clients reach the server.
    fn server(&self) -> &dyn ServerAccess;
    /// The scenario of one slot of a client. `seed` is unique to the slot.
    fn scenario(&self, client_index: u32, slot: u32, seed: u64) -> Box<dyn Scenario>;
    /// Resolves every symbol that clients and scenarios use.
    fn names(&self) -> &Names;
}

/// The circumstances of a new connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionInfo {
    /// The client it belongs to; the first one where several share it.
    pub client_index: u32,
    /// Which of the client's connections it is, from 0.
    pub connection_index: u32,
    /// How many the client has.
    pub connections: u32,
    /// Connections that its session will have.
    pub channels: u32,
    /// Number in this run, from 0, as transactions carry it; a connection made again has a new one.
    pub connection: u32,
    /// How many times it was made before.
    pub generation: u32,
    /// Our side; [`Endpoint::NOWHERE`] where there is no connection.
    pub client: Endpoint,
    /// The server; [`Endpoint::NOWHERE`] where there is no connection.
    pub server: Endpoint,
}

impl ConnectionInfo {
    /// The common fields of its transactions, with the share and the account.
    #[must_use]
    pub fn identity(&self, share: Symbol, user: Symbol) -> Identity {
        Identity { client: self.client, server: self.server, connection: self.connection, share, user }
    }
}
