//! The SMB 2 and 3 client.
//!
//! ```text
//! begin ── lease_cache ── operations ──► Outgoing ── queue ──► connection ──► Outbox
//!                            ▲                                  │ calls: requests that wait for answers
//!                         progress ◄─ Jobs ◄── answers ◄── receiving ◄── message
//! ```
//!
//! An operation is a *job*; each message that it takes is built without ids as an *outgoing*, gets them when there are
//! credits for it, and is from then on a *call* for each of its requests. Every answer ends a call (a transaction), and
//! the last answer of a job ends it or leads to its next message. What a lease vouches for is answered before any of that.
//!
//! The engine calls `interface`; `completion` has the end of a request, of an operation and of the connection.
//!
//! The `Connection` knows requests, credits, keys and calls, and no operation. A session may have several (`Channels`): then each
//! message goes out on one with few credits in use, in turn.
//!
//! Where to change what:
//!
//! | what | files |
//! | --- | --- |
//! | a request | `request_kind.rs`; the parser of its response: `answers.rs`; its effect: `progress.rs` |
//! | authentication | an `Auth` beside `ntlm/` and `kerberos/` in `auth/`, and a case in its `authentication.rs` |
//! | requests that leases avoid | the cached facts and their invalidation: `lease_cache.rs` (files), `directory_cache.rs` (listings) |
//! | durable handles | facts of an open: `durable.rs`; taking over a lost session: `resumption.rs`; its new messages: `renewal.rs` |
//! | multichannel | choice of the connection: `channels.rs`; `channel_binding.rs`, `channel_loss.rs`; `worker/channels.rs` of the engine |
//!
//! Spec: MS-SMB2 3.2

mod answers;
pub mod auth;
mod breaks;
mod channel_binding;
mod channel_loss;
mod channels;
mod client;
mod completion;
mod connection;
mod directory_cache;
mod durable;
mod files;
mod interface;
mod jobs;
mod lease_cache;
mod logon;
mod logon_messages;
mod logons;
mod negotiated_security;
mod operations;
mod options;
mod outage;
mod progress;
mod queue;
mod receiving;
mod renewal;
mod request_kind;
mod resumption;
mod secondary_session;
#[cfg(test)]
mod tests;
mod transfer;
mod validation;
mod waiting;

pub use client::SmbClient;
pub use connection::{keys, preauth, sealing, signing};
pub use directory_cache::DirectoryLeases;
pub use durable::Reconnects;
pub use logons::{LogonIdentity, Logons};
pub use options::{Dialect, Negotiated, Requirement, SmbOptions};
