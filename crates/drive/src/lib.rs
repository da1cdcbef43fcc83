//! The active half: a workload becomes load on a server, and load becomes transactions.
//!
//! ```text
//! workload ─ scenario ─ station ─ engine ─ client/{smb,nfs} ─ network/{tcp,memory} ⇄ server
//!                                    └──── client/path ⇄ operating system      └ tap
//! ```
//!
//! * a [`scenario::Scenario`] says what a user does next: an [`Action`] on files, in the words of no protocol;
//! * a [`client::Client`] is one connection's protocol machine: actions in, bytes out; bytes in, transactions out. It has
//!   no socket and no clock;
//! * a [`network::Network`] moves bytes and tells the time: TCP through epoll, or memory under a virtual clock;
//! * [`reach`] finds the server of a target and makes its clients;
//! * the [`engine`] ties them: a thread a core, timers, pacing, phases.

pub mod action;
pub mod client;
pub mod content;
pub mod engine;
pub mod network;
pub mod outbox;
pub mod reach;
mod replay;
pub mod scenario;
pub mod station;
pub mod status;
pub mod tap;
pub mod target;
pub mod workload;

pub use action::{Action, Done, Failure, FileKey, Reply, Tag, Ticket};
pub use outbox::Outbox;
pub use status::status_name;
