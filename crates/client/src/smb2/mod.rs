//! The SMB 2 and 3 client.
//!
//! ```text
//! begin ── operations ──► Outgoing ── sending ──► Outbox          Calls: requests that wait for answers
//!             ▲           │ no credits: waits                     │
//!          progress ◄─ Jobs ◄── answers ◄── receiving ◄── message ┘
//! ```
//!
//! An operation is a *job*; each message that it takes is built without ids as an *outgoing*, gets them when there are
//! credits for it, and is from then on a *call* for each of its requests. Every answer ends a call (a transaction), and
//! the last answer of a job ends it or leads to its next message. What a lease vouches for (`kept`) is answered before any of that.
//!
//! Spec: MS-SMB2 3.2

mod answers;
pub mod auth;
mod breaks;
mod client;
mod credits;
mod files;
mod jobs;
mod kept;
pub mod keys;
mod logon;
mod operations;
mod options;
mod outgoing;
pub mod preauth;
mod progress;
mod receiving;
pub mod sealing;
mod sending;
mod session;
pub mod signing;
mod standing;
mod step;
#[cfg(test)]
mod tests;
mod validation;

pub use client::SmbClient;
pub use options::{Dialect, Negotiated, SmbOptions, Wish};
