//! SMB and NFS servers inside the process, on threads of their own and on files in memory: the target where none is
//! named, and `plimsoll serve`. They are there to be tried and tested with, not to keep anything: what they hold is gone
//! with them.
//!
//! The async runtime stays inside: callers start a server, ask where it is, and drop it.

mod embedded;
mod error;
mod memory;
mod nfs;
mod options;
mod smb;

pub use embedded::Embedded;
pub use error::ServeError;
pub use options::{Account, Kind, Options};
