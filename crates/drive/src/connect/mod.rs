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

use std::sync::Arc;

use plimsoll_model::{Guarantees, Names};
use plimsoll_workload::scenario::Scenario;

use crate::engine::{ServerAccess, Setup};

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
pub trait Connector: ServerAccess + Send {
    /// The same server for preparing files; `None`: as for all clients.
    fn for_files(&self) -> Option<Arc<dyn Connector>> {
        None
    }
    /// Facts that clients and server have negotiated so far, in words, for the report.
    fn facts(&self) -> Vec<String>;
    /// The accounts that became guests since the last call although they are others, in words; one text per server.
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
    fn server(&self) -> &dyn ServerAccess {
        self.server
    }

    fn scenario(&self, client_index: u32, slot: u32, seed: u64) -> Box<dyn Scenario> {
        (self.scenarios)(client_index, slot, seed)
    }

    fn names(&self) -> &Names {
        &self.names
    }
}
