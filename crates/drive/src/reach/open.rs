//! From a target to a server that was found.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

use plimsoll_model::Names;

use super::{Reached, SmbServer};
use crate::client::smb::{Dialect, SmbOptions, Wish};
use crate::target::{SmbTarget, Target};

/// What is asked of the server besides what its target says.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// SMB dialects to offer; one alone is forced.
    pub dialects: RangeInclusive<Dialect>,
    /// SMB signatures on everything.
    pub signing: Wish,
    /// SMB encryption of everything.
    pub encryption: Wish,
    /// What client GUIDs follow from.
    pub seed: u64,
}

impl Default for Wishes {
    fn default() -> Self {
        let (signing, encryption) = (Wish::AsServerSays, Wish::AsServerSays);
        Self { dialects: Dialect::V202..=Dialect::V311, signing, encryption, seed: 0 }
    }
}

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// Its name has no address.
    #[error("{host}: {source}")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// It stands for a server in this process, which must be started first and reached under its own address.
    #[error("an embedded server is reached under the address that it was started at")]
    Embedded,
}

/// Finds the server of a target: resolves its name, asks its portmapper, mounts. `names` takes share and account.
///
/// # Errors
/// It cannot be found.
pub fn open(target: &Target, wishes: &Wishes, names: &mut Names) -> Result<Box<dyn Reached>, ReachError> {
    match target {
        Target::Smb(target) => smb(target, wishes, names),
        Target::Nfs(_) | Target::Path(_) => Err(ReachError::Embedded),
        Target::Embedded(_) => Err(ReachError::Embedded),
    }
}

fn smb(target: &SmbTarget, wishes: &Wishes, names: &mut Names) -> Result<Box<dyn Reached>, ReachError> {
    let resolved = target.server.resolve();
    let address = resolved.map_err(|source| ReachError::Resolve { host: target.server.host.clone(), source })?;
    let options = SmbOptions {
        dialects: wishes.dialects.clone(),
        signing: wishes.signing,
        encryption: wishes.encryption,
        ..SmbOptions::new(&target.server.host, &target.share, target.credentials.clone())
    };
    Ok(Box::new(SmbServer {
        address,
        options: Arc::new(options),
        share: names.intern(&target.share),
        user: names.intern(&target.credentials.user),
        seed: wishes.seed,
    }))
}
