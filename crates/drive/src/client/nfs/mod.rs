//! The NFSv3 client.
//!
//! ```text
//! begin ── actions ──► Job ── walk (LOOKUP) ──► calls ──► Outbox
//!                       ▲                         │
//!                       └── answers ◄── framing ◄─┘ message
//! ```
//!
//! An action is a *job*. Paths are walked from the longest prefix whose handle is known, a LOOKUP a part, as a kernel's
//! client does with its name cache; then comes the call that the action is about. Policies, which decide how many
//! requests an action takes:
//!
//! * handles of paths are kept per connection ([`handles`]), attributes never: asking for them always costs a request;
//! * opening a file that must be there is its LOOKUP, or a GETATTR where its handle is known; closing costs nothing;
//! * writes are UNSTABLE, FLUSH is one COMMIT of the file, and a write verifier that changed is a loss that is told;
//! * listing is READDIRPLUS, or READDIR where the server does not have it; handles in it are not kept.
//!
//! NFSv4.1 will be a module beside this one's `v3` calls; `mount` and `handles` are of NFSv3 alone.
//!
//! Spec: RFC 1813 3.3, RFC 5531

mod advance;
mod answers;
mod begin;
mod client;
mod framing;
mod handles;
mod job;
mod mount;
mod options;
mod transfer;

pub use client::NfsClient;
pub use mount::{MountError, Mounted, mount, unmount};
pub use options::{NfsLimits, NfsOptions};
