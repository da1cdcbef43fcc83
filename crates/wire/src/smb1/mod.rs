//! SMB1/CIFS for a passive observer: borrowed views that tolerate cut messages and allocate nothing.
//!
//! Start with [`Chain`]: it walks a message (from its `FF 'SMB'`) and returns a [`Link`] for every command in it, one for a plain command
//! and several for an AndX chain. All other views are made from a link. A field is `None` if its bytes were not captured; lengths and
//! counts are those on the wire, even if the bytes that they count were not captured.
//! Spec: MS-CIFS 2.2, MS-SMB 2.2

pub mod andx;
pub mod asked;
pub mod command;
pub mod dos_error;
mod fields;
pub mod header;
pub mod locking;
mod marks;
pub mod open;
pub mod path;
pub mod raw;
pub mod read;
pub mod session;
pub mod string;
pub mod subcommand;
pub mod trans2;
pub mod transaction;
pub mod write;

#[cfg(test)]
mod build;
#[cfg(test)]
mod captures;
#[cfg(test)]
mod robustness;

pub use andx::{Chain, Link};
pub use header::{Header, Status};
pub use marks::mark;
pub use string::SmbString;
