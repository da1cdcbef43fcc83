//! SMB and NFS servers inside the process, on their own threads and with files in memory: the default target, and `plimsoll serve`. They
//! are for trying and testing, not for storage: their files are lost when they end.
//!
//! The async runtime is private: callers start a server, query its address, and drop it. [`Nfs4Conversation`] is the NFS 4 server without
//! runtime and network.

mod embedded;
mod error;
mod memory;
mod nfs;
mod nfs4;
mod options;
mod smb;

pub use embedded::Embedded;
pub use error::ServeError;
pub use nfs4::Nfs4Conversation;
pub use options::{Account, Kind, Options};
