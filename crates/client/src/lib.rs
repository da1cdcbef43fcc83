//! Protocol clients: operations on files in, messages out; answers in, transactions out. This crate knows no engine and no workload.
//!
//! ```text
//! Operation ─ Client ─┬─ smb2 ─┬─ Outbox ─ (caller's socket) ⇄ server
//!                  ├─ nfs3 ─┤
//!                  ├─ nfs4 ─┘
//!                  └─ local ⇄ operating system
//! ```
//!
//! * an [`Operation`] is one operation of a user on a file, in the words of no protocol;
//! * a [`Client`] is the protocol machine of one connection: it has no socket and no clock (except `local`, which times system calls);
//! * a [`target::Target`] names a server and where on it.

pub mod blocking;
mod boxed;
mod buffer_memory;
pub mod calls;
mod client;
pub mod clock;
mod composed;
pub mod content;
mod credentials;
mod der;
mod files;
mod inbox;
mod jobs;
mod joined;
pub mod kerberos;
mod listing;
pub mod local;
mod nfs;
pub mod nfs3;
pub mod nfs4;
pub mod operation;
pub mod outbox;
pub mod reserved;
mod rpc;
mod secret;
pub mod smb2;
pub mod status;
pub mod target;
pub mod tls;

pub use client::{Arrived, Client, Events, Framing, NewChannel};
pub use composed::Composed;
pub use inbox::Inbox;
pub use nfs::{VersionError, VersionQuestion, of_unreached};
pub use operation::{Cause, Done, Failure, FileKey, Operation, OperationKind, Reply, Tag, Ticket};
pub use outbox::Outbox;
pub use rpc::Gss;
pub use status::status_name;
