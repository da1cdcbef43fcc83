//! Finds the server of a target and makes protocol clients for it.
//!
//! ```text
//! target ─ resolve, portmap, MOUNT ─ Connector ─┐
//! workload ─ scenario ──────────────────────────┴─ Work (an engine's Setup)
//! ```

mod control_client;
mod lease;
mod nfs;
mod nfs4;
mod open;
mod owner;
mod path;
mod several;
mod smb;
mod version;

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_client::Client;
use plimsoll_client::tls::Tls;
use plimsoll_model::{Guarantees, Names};
use plimsoll_workload::scenario::Scenario;

use crate::engine::{ConnectionInfo, Setup};

pub use lease::{Lease, LeaseError};
pub use nfs::NfsServer;
pub use nfs4::{Nfs4Server, SessionError};
pub use open::{ConnectError, ConnectOptions, open};
pub use owner::OwnerId;
pub use path::PathServer;
pub use several::{Several, common_facts_first};
pub use smb::SmbServer;
pub use version::find_version;

/// A server that was found.
pub trait Connector: Send + Sync {
    /// Where it is; `None` where clients need no connection.
    fn address(&self) -> Option<SocketAddr>;
    /// Where the server of a client is, where there are several.
    fn address_of(&self, _client_index: u32) -> Option<SocketAddr> {
        self.address()
    }
    /// The names of the targets in messages, if there are several.
    fn targets(&self) -> Vec<String> {
        Vec::new()
    }
    /// The account of a client, where there are several.
    fn account_of(&self, _client_index: u32) -> Option<String> {
        None
    }
    /// Whether it wants to be called from source ports below 1024.
    fn reserved_ports(&self) -> bool {
        false
    }
    /// Servers whose connections use TLS.
    fn tls(&self) -> Vec<(SocketAddr, Arc<Tls>)> {
        Vec::new()
    }
    /// The protocol machine of a connection that was just made.
    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client>;
    /// The same server for preparing files; `None`: as for all clients.
    fn for_files(&self) -> Option<Arc<dyn Connector>> {
        None
    }
    /// Facts that clients and server have negotiated so far, in words, for the report.
    fn facts(&self) -> Vec<String>;
    /// The accounts of a file that became guests since the last call, in words; one text per server.
    fn take_guest_logons(&self) -> Vec<String> {
        Vec::new()
    }
    /// The guarantees that clients received since the last call, without those of connected clients.
    fn take_guarantees(&self) -> Guarantees {
        Guarantees::default()
    }
}

/// Creates the scenario of a slot from its client, its number within the client, and its seed.
pub type Scenarios<'a> = Box<dyn Fn(u32, u32, u64) -> Box<dyn Scenario> + Sync + 'a>;

/// A server and the scenarios for it.
pub struct Work<'a> {
    /// The server.
    pub server: &'a dyn Connector,
    /// The scenarios.
    pub scenarios: Scenarios<'a>,
    /// Resolves every symbol of both.
    pub names: Arc<Names>,
}

impl std::fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("address", &self.server.address()).finish_non_exhaustive()
    }
}

impl Setup for Work<'_> {
    fn address(&self) -> Option<SocketAddr> {
        self.server.address()
    }

    fn address_of(&self, client_index: u32) -> Option<SocketAddr> {
        self.server.address_of(client_index)
    }

    fn targets(&self) -> Vec<String> {
        self.server.targets()
    }

    fn account_of(&self, client_index: u32) -> Option<String> {
        self.server.account_of(client_index)
    }

    fn reserved_ports(&self) -> bool {
        self.server.reserved_ports()
    }

    fn tls(&self) -> Vec<(SocketAddr, Arc<Tls>)> {
        self.server.tls()
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        self.server.client(info)
    }

    fn scenario(&self, client_index: u32, slot: u32, seed: u64) -> Box<dyn Scenario> {
        (self.scenarios)(client_index, slot, seed)
    }

    fn names(&self) -> &Names {
        &self.names
    }
}
