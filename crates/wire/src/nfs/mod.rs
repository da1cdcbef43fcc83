//! NFS 2, 3 and 4 and their side protocols: arguments and results for a passive observer.
//!
//! Each version is a table of layouts: the items of each procedure's arguments and results, and the ones that an observer needs
//! ([`Facts`]). One walk reads all tables. It borrows its results, allocates nothing, and stops without an error at the end of the
//! captured bytes.
//!
//! [`arguments`] and [`results`] serve every program except NFS 4, whose compounds are in [`v4`].

#[macro_use]
mod call;
mod facts;
mod handle;
mod layout;
pub(crate) mod marks;
mod procedure;

pub mod acl;
pub mod mount;
pub mod nlm;
pub mod portmap;
pub mod status;
pub mod v2;
pub mod v3;
pub mod v4;

pub use facts::{Creates, Facts, Lock, Slot};
pub use handle::Handle;
pub use procedure::{arguments, results};
pub use status::{mount_status_name, nlm_status_name, status_name};

#[cfg(test)]
mod tests;
