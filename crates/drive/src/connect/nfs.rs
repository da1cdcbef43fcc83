//! An NFS server.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};

use plimsoll_client::nfs3::{Mounted, NfsClient, NfsLimits, NfsOptions, unmount};
use plimsoll_client::tls::Tls;
use plimsoll_client::{Client, Composed, Gss};
use plimsoll_model::{Guarantees, Symbol};
use plimsoll_wire::rpc::{Caller, Protection};

use super::Connector;
use crate::engine::{ConnectionInfo, ServerAccess};

/// The fact about a version that was found, in reports.
pub(super) const HIGHEST: &str = "highest version the server speaks";

/// An NFS server with an export that is mounted; unmounted when dropped.
#[derive(Debug)]
pub struct NfsServer {
    /// Where it is.
    pub address: SocketAddr,
    /// How clients call.
    pub options: Arc<NfsOptions>,
    /// The version was found by asking the server.
    pub version_found: bool,
    /// The export's name in transactions.
    pub share: Symbol,
    /// The caller's name in transactions: its user id.
    pub user: Symbol,
    /// The mounted export.
    pub mounted: Mounted,
    /// Its connections use TLS; those to MOUNT do not.
    pub tls: Option<Arc<Tls>>,
}

impl ServerAccess for NfsServer {
    fn address(&self) -> Option<SocketAddr> {
        Some(self.address)
    }

    fn reserved_ports(&self) -> bool {
        self.mounted.reserved_port
    }

    fn tls(&self) -> Vec<(SocketAddr, Arc<Tls>)> {
        self.tls.iter().map(|tls| (self.address, Arc::clone(tls))).collect()
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        let identity = info.identity(self.share, self.user);
        Box::new(Composed::new(NfsClient::new(Arc::clone(&self.options), identity)))
    }
}

impl Connector for NfsServer {
    fn facts(&self) -> Vec<String> {
        let mut facts = vec!["NFS 3".to_owned()];
        facts.extend(self.version_found.then(|| HIGHEST.to_owned()));
        facts.extend(authentication(self.options.security.as_ref()));
        facts.extend(self.tls.as_ref().and_then(|tls| tls.agreed()).map(str::to_owned));
        if self.mounted.reserved_port {
            facts.push("source ports below 1024".to_owned());
        }
        if let Some(NfsLimits { read, write, .. }) = self.options.limits.get() {
            facts.push(format!("reads up to {} KiB, writes up to {} KiB", read >> 10, write >> 10));
        }
        facts
    }

    fn take_guarantees(&self) -> Guarantees {
        let seen = std::mem::take(&mut *self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner));
        Guarantees {
            dialect: Some("NFS 3".to_owned()),
            encryption: cipher(self.tls.as_ref(), self.options.security.as_ref()),
            ..seen
        }
    }
}

impl Drop for NfsServer {
    fn drop(&mut self) {
        // UNMOUNT is a courtesy: servers list mounts, and nothing depends on the list (RFC 1813 5.2.3).
        let _ = unmount(&self.mounted, &caller());
    }
}

/// The cipher of TLS or of Kerberos, for the report. Without them nothing is said, as of NFS in general.
pub(super) fn cipher(tls: Option<&Arc<Tls>>, security: Option<&Gss>) -> Option<String> {
    let kerberos = security.filter(|gss| gss.protection() == Protection::Privacy).map(Gss::encryption);
    tls.and_then(|tls| tls.cipher()).or(kerberos).map(str::to_owned)
}

/// How calls are authenticated, for the report.
pub(super) fn authentication(security: Option<&Gss>) -> Vec<String> {
    let Some(gss) = security else { return vec!["AUTH_SYS".to_owned()] };
    let mut facts = vec![format!("Kerberos ({})", gss.protection().kerberos_name())];
    let renewed = gss.renewed();
    facts.extend((renewed > 0).then(|| format!("expired Kerberos contexts replaced: {renewed}")));
    facts
}

/// The caller: the user who runs Plimsoll.
pub(super) fn caller() -> Caller<'static> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Caller::User { stamp: 0, machine: "plimsoll", uid, gid, groups: &[] }
}
