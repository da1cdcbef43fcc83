//! The version of NFS of a target that names none.

use std::sync::Arc;

use plimsoll_client::VersionQuestion;
use plimsoll_client::target::{NfsTarget, Target};
use plimsoll_client::tls::{Tls, TrustError};
use plimsoll_wire::rpc::Program;

use super::ConnectOptions;
use super::nfs::caller;
use super::open::{ConnectError, resolve, security};

/// Asks the server of an NFS target without a version for the highest version that it offers, and puts it into the target. Any other target
/// stays as it is.
///
/// # Errors
/// The server cannot be reached, has no version that Plimsoll supports, or does not say.
pub fn find_version(target: &mut Target, options: &ConnectOptions) -> Result<(), ConnectError> {
    match target {
        Target::Nfs(target) => find(target, options),
        Target::Smb(_) | Target::Path(_) | Target::Embedded(_) => Ok(()),
    }
}

pub(super) fn find(target: &mut NfsTarget, options: &ConnectOptions) -> Result<(), ConnectError> {
    if target.version.is_some() {
        return Ok(());
    }
    let security = security(target, options)?;
    let tls = |version| tls_of(target, version, options);
    let tls = tls(4)?.zip(tls(3)?);
    let question = VersionQuestion {
        address: resolve(&target.server, options.timeout)?,
        reserved_port: target.reserved_port,
        with_sessions: target.slots.is_some() || target.delegations,
        tls: tls.as_ref().map(|(of_4, of_3)| [of_4, of_3]),
        security: security.as_ref(),
        caller: caller(),
        timeout: options.timeout,
    };
    (target.version, target.version_found) = (Some(question.ask()?), true);
    Ok(())
}

/// How connections to a target use TLS; `None`: not at all.
pub(super) fn tls_of(
    target: &NfsTarget,
    version: u32,
    options: &ConnectOptions,
) -> Result<Option<Arc<Tls>>, TrustError> {
    let tls = || Tls::new(&target.server.host, (Program::Nfs.number(), version), &options.trust).map(Arc::new);
    target.tls.then(tls).transpose()
}
