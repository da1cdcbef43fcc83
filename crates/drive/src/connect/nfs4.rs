//! An NFSv4 server.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use plimsoll_client::nfs4::{Negotiated, Nfs4Client, Nfs4Options, Trunk};
use plimsoll_client::operation::{Cause, Failure};
use plimsoll_client::tls::Tls;
use plimsoll_client::{Client, Composed, of_unreached};
use plimsoll_model::{Guarantees, Symbol};
use plimsoll_wire::nfs::status::{NFS4ERR_ACCESS, NFS4ERR_NOENT, NFS4ERR_PERM, NFS4ERR_WRONGSEC};

use super::Connector;
use super::control_client::{ControlClient, NO_CLIENT, Trouble};
use super::nfs::{HIGHEST, authentication, cipher};
use crate::engine::{ConnectionInfo, ServerAccess};

/// An NFSv4 server whose export was seen.
#[derive(Debug)]
pub struct Nfs4Server {
    /// Where it is.
    pub address: SocketAddr,
    /// How clients call.
    pub options: Arc<Nfs4Options>,
    /// The version was found by asking the server.
    pub version_found: bool,
    /// The export's name in transactions.
    pub share: Symbol,
    /// The caller's name in transactions: its user id.
    pub user: Symbol,
    /// It is called from source ports below 1024.
    pub reserved_port: bool,
    /// Its connections use TLS.
    pub tls: Option<Arc<Tls>>,
    /// Sessions of clients with several connections, by client.
    pub(super) trunks: Mutex<HashMap<u32, Weak<Trunk>>>,
}

/// Why there is no session with an NFSv4 server, or no export.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The connection failed.
    #[error("NFS at {0}: {1}{hint}", hint = of_unreached(.1))]
    Connection(SocketAddr, std::io::Error),
    /// The server does not speak this minor version.
    #[error(
        "the NFS server at {0} does not offer NFS 4.{1}: give another version in the target (?version=3, 4.0, 4.1 or 4.2)"
    )]
    Version(SocketAddr, u32),
    /// There is no such export, or it is not for this caller.
    #[error("cannot find the export {export} at {address}: {failure}{hint}")]
    Export {
        /// Where.
        address: SocketAddr,
        /// Its path.
        export: String,
        /// The server's answer.
        failure: Failure,
        /// Advice, if there is any.
        hint: &'static str,
    },
    /// Any other failure.
    #[error("cannot open a session at {0}: {1}{hint}", hint = of_another_protocol(.1))]
    Failed(SocketAddr, Failure),
}

/// Advice for a refusal.
const FROM_BELOW: &str = "; the server may accept only source ports below 1024 (default on Linux): add ?resvport to the target (after \
    other options: &resvport) and run as root";

/// Advice where version 4 was not asked for.
const OTHER_PATH: &str =
    "; an export can have different paths in NFS 4 and NFS 3: if this is the NFS 3 path, add ?version=3 to the target";

/// Advice where the export requires other credentials.
const OTHER_SECURITY: &str = "; the path or a directory above it requires another security flavor: give one that the export accepts (sys, \
    krb5, krb5i or krb5p) with sec= in the target";

/// Advice for an export that the server refused with this status.
fn of_refused_export(status: Option<u32>, reserved_port: bool, version_found: bool) -> &'static str {
    match status {
        Some(NFS4ERR_PERM | NFS4ERR_ACCESS) if !reserved_port => FROM_BELOW,
        Some(NFS4ERR_NOENT) if version_found => OTHER_PATH,
        Some(NFS4ERR_WRONGSEC) => OTHER_SECURITY,
        _ => "",
    }
}

/// Advice for a port that may be of another service.
fn of_another_protocol(failure: &Failure) -> &'static str {
    match failure.cause {
        Cause::Malformed | Cause::ConnectionClosed | Cause::ConnectionReset => "; check that this port speaks NFS",
        _ => "",
    }
}

impl Nfs4Server {
    /// Opens a session and finds the export, once, before anything is timed.
    pub(super) fn try_out(&self, timeout: Duration) -> Result<(), SessionError> {
        let address = self.address;
        let minor = self.options.minor_version;
        let refused = |failure: Failure| match failure.cause {
            Cause::NotOffered => SessionError::Version(address, minor),
            Cause::ShareRefused => {
                let hint = of_refused_export(failure.status, self.reserved_port, self.version_found);
                SessionError::Export { address, export: format!("/{}", self.options.export), failure, hint }
            }
            _ => SessionError::Failed(address, failure),
        };
        match ControlClient::new(self, timeout) {
            Ok(client) => client.leave(),
            Err(Trouble::Connection(error)) => return Err(SessionError::Connection(address, error)),
            Err(Trouble::Failed(failure)) => return Err(refused(failure)),
        }
        // Waits for slots in this test session do not count for the load.
        self.options.slot_waits.store(0, Relaxed);
        Ok(())
    }
}

impl Nfs4Server {
    /// The session that all connections of a client share.
    fn trunk(&self, info: &ConnectionInfo) -> Arc<Trunk> {
        let mut trunks = self.trunks.lock().unwrap_or_else(PoisonError::into_inner);
        // Drops the trunks of clients that ended: the next level has new clients.
        if let Some(trunk) = trunks.get(&info.client_index).and_then(Weak::upgrade) {
            return trunk;
        }
        let trunk = self.options.trunk(&format!("{}.all", info.client_index), info.connections);
        trunks.insert(info.client_index, Arc::downgrade(&trunk));
        trunk
    }
}

impl ServerAccess for Nfs4Server {
    fn address(&self) -> Option<SocketAddr> {
        Some(self.address)
    }

    fn reserved_ports(&self) -> bool {
        self.reserved_port
    }

    fn tls(&self) -> Vec<(SocketAddr, Arc<Tls>)> {
        self.tls.iter().map(|tls| (self.address, Arc::clone(tls))).collect()
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        let identity = info.identity(self.share, self.user);
        // Without sessions, each connection is a separate client.
        let has_sessions = self.options.minor_version > 0;
        if info.connections > 1 && info.client_index != NO_CLIENT && has_sessions {
            let (options, trunk) = (Arc::clone(&self.options), self.trunk(info));
            return Box::new(Composed::new(Nfs4Client::trunked(options, identity, trunk, info.connection_index)));
        }
        let name = format!("{}.{}", info.client_index, info.connection_index);
        let name = (info.client_index != NO_CLIENT).then_some(name.as_str());
        Box::new(Composed::new(Nfs4Client::new(Arc::clone(&self.options), identity, name)))
    }
}

impl Connector for Nfs4Server {
    fn facts(&self) -> Vec<String> {
        let mut facts = vec![format!("NFS 4.{}", self.options.minor_version)];
        facts.extend(self.version_found.then(|| HIGHEST.to_owned()));
        facts.extend(authentication(self.options.security.as_ref()));
        facts.extend(self.tls.as_ref().and_then(|tls| tls.agreed()).map(str::to_owned));
        if self.reserved_port {
            facts.push("source ports below 1024".to_owned());
        }
        if let Some(&Negotiated { slots, read, write, back_channel, lease_seconds, .. }) = self.options.agreed.get() {
            // The first session belongs to no client of the load, so it has no slot per connection.
            let of_load = Some(self.options.load_slots.load(Relaxed)).filter(|&of_load| of_load > 0);
            facts.push(match of_load.unwrap_or(slots) {
                0 => "no sessions, no slots".to_owned(),
                1 => "1 slot per session".to_owned(),
                slots => format!("{slots} slots per session"),
            });
            facts.push(format!("reads up to {} KiB, writes up to {} KiB", read >> 10, write >> 10));
            facts.push(if back_channel { "back channel" } else { "no back channel" }.to_owned());
            facts.push(format!("lease of {lease_seconds} s"));
        }
        facts.extend(self.options.server_slots.get().map(|limit| format!("server limit: {limit} slots per session")));
        let separate = self.options.separate_sessions.load(Relaxed);
        facts.extend((separate > 0).then(|| {
            format!("{separate} sessions per client, because the server granted fewer slots than connections")
        }));
        let waits = self.options.slot_waits.load(Relaxed);
        facts.extend((waits > 0).then(|| format!("waits for a slot: {waits}")));
        if self.options.delegations {
            facts.push("read delegations requested".to_owned());
            let counts = self.options.delegation_counts.lock().unwrap_or_else(PoisonError::into_inner);
            facts.extend(counts.facts());
        }
        facts.extend(self.options.recoveries.lock().unwrap_or_else(PoisonError::into_inner).facts());
        facts
    }

    fn take_guarantees(&self) -> Guarantees {
        let seen = std::mem::take(&mut *self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner));
        let dialect = Some(format!("NFS 4.{}", self.options.minor_version));
        Guarantees { dialect, encryption: cipher(self.tls.as_ref(), self.options.security.as_ref()), ..seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_that_is_refused_has_advice() {
        let said = |status, reserved_port, version_found| of_refused_export(Some(status), reserved_port, version_found);
        assert!(said(NFS4ERR_WRONGSEC, true, false).contains("with sec= in the target"));
        assert!(said(NFS4ERR_ACCESS, false, false).contains("?resvport"));
        assert!(said(NFS4ERR_NOENT, false, true).contains("?version=3"));
        assert_eq!([said(NFS4ERR_ACCESS, true, true), said(NFS4ERR_NOENT, false, false)], ["", ""]);
    }
}
