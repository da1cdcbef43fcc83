//! Common parts of the NFS clients of all versions: path walks and data transfers.

mod entries;
mod handles;
mod highest_version;
mod last_identity;
mod transfer;
mod unstable;
mod walk;
mod wanted;

pub(crate) use handles::Handles;
pub use highest_version::{VersionError, VersionQuestion, of_unreached};
pub(crate) use last_identity::LastIdentity;
pub(crate) use transfer::Transfer;
pub(crate) use unstable::{Unstable, durability};
pub(crate) use walk::{Facts, SpareWalks, Walk, Walks, paths};
pub(crate) use wanted::Wanted;
