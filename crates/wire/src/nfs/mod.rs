//! NFS 2, 3 and 4 and the programs beside them, as a passive observer sees their arguments and results.
//!
//! Each version is a table of layouts: which items stand in which procedure's arguments and results, and which of them
//! an observer wants ([`Facts`]). One walk reads them all, borrowing what it finds, allocating nothing, and stopping
//! without complaint where the captured bytes end.
//!
//! [`arguments`] and [`results`] serve every program except NFS 4, whose compounds are in [`v4`].

mod facts;
mod handle;
mod layout;
pub(crate) mod marks;
mod procedure;
mod status;

pub mod acl;
pub mod mount;
pub mod nlm;
pub mod portmap;
pub mod v2;
pub mod v3;
pub mod v4;

pub use facts::{Creates, Facts, Lock, Slot};
pub use handle::Handle;
pub use procedure::{arguments, results};
pub use status::{mount_status_name, nlm_status_name, status_name};

#[cfg(test)]
mod tests;
