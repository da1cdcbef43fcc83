//! The NFSv3 client.
//!
//! ```text
//! begin ──► Job ── walk (LOOKUP) ──► rpc::Connection ──► Outbox
//!            ▲                        │
//!            └──────── answers ◄──────┘ message
//! ```
//!
//! An operation is a *job*. It walks paths from the longest prefix with a known handle, one LOOKUP per part, like a kernel client with
//! its name cache; then it sends the operation's main call. Policies that determine the number of requests per operation:
//!
//! * connecting is one FSINFO of the root: it returns the sizes of READ and WRITE, and shows whether handle and credential are valid.
//!   MOUNT is sent once per run ([`mount()`]), and leaving needs no request;
//! * each connection caches the handles of 4,096 paths, but no attributes: they always need a request. An invalid handle (STALE,
//!   BADHANDLE) is dropped, and its operation fails without a retry;
//! * opening an existing file sends a LOOKUP, or a GETATTR if its handle is known; creating one sends a CREATE. A kernel client also
//!   sends ACCESS once per file and user: workloads have an explicit step for it. Closing needs no request;
//! * links in paths are not followed, and a directory may be opened: the server decides which operations it allows;
//! * a READ or WRITE is cut into requests of the server's largest size, of which up to 64 are outstanding; only one if the caller wants
//!   the data, which is passed on in order. Data that an answer leaves out is requested again;
//! * writes are UNSTABLE, FLUSH is always one COMMIT of the whole file. A changed write verifier means lost data: the FLUSH fails with
//!   [`Cause::LostWrites`](crate::operation::Cause::LostWrites), or the close if two writes showed it;
//! * listing is READDIRPLUS, or READDIR if the server does not support it; its handles are not cached;
//! * no call is sent twice: over TCP a late answer is late (RFC 5531 8 leaves that to the transport). JUKEBOX is a status like any other:
//!   the user decides about retries.
//!
//! Walks, handles of paths, transfers and jobs are in `nfs`, because `nfs4` uses them too.
//!
//! Spec: RFC 1813 3.3, RFC 5531

mod advance;
mod answers;
mod begin;
mod client;
mod file;
mod job;
mod listing;
mod mount;
mod options;
mod transfer;

pub use client::NfsClient;
pub use mount::{MountError, Mounted, Ports, mount, unmount};
pub use options::{NfsLimits, NfsOptions};
