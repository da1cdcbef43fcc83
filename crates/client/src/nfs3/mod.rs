//! The NFSv3 client.
//!
//! ```text
//! begin ──► Job ── walk (LOOKUP) ──► rpc::Connection ──► Outbox
//!            ▲                        │
//!            └──────── answers ◄──────┘ message
//! ```
//!
//! An operation is a *job*. Paths are walked from the longest prefix whose handle is known, a LOOKUP a part, as a kernel's
//! client does with its name cache; then comes the call that the operation is about. Policies, which decide how many
//! requests an operation takes:
//!
//! * connecting is one FSINFO of the root: it tells the sizes of READ and WRITE, and whether handle and credential hold.
//!   MOUNT is done once a run ([`mount()`]), and leaving costs nothing;
//! * handles of paths are kept per connection, 4,096 of them; attributes never: asking for them always costs a request.
//!   A handle that means nothing any more (STALE, BADHANDLE) is forgotten, and its operation fails: nothing is tried again;
//! * opening a file that must be there is its LOOKUP, or a GETATTR where its handle is known; one that is made costs a
//!   CREATE. A kernel's client asks ACCESS besides, once a file and user: workloads that want it say so. Closing costs
//!   nothing;
//! * links in paths are not followed, and a directory may be opened: the server says what can be done with it;
//! * a READ or WRITE is cut into requests of the server's largest size, of which 64 are on their way at once; where the
//!   data are wanted one after the other, for they are told of in order. What an answer leaves out is asked for again;
//! * writes are UNSTABLE, FLUSH is always one COMMIT of the whole file. A write verifier that changed meanwhile is a loss:
//!   the FLUSH fails with [`Cause::LostWrites`](crate::operation::Cause::LostWrites), or the closing where two writes told;
//! * listing is READDIRPLUS, or READDIR where the server does not have it; handles in it are not kept;
//! * no call is sent twice: over TCP a late answer is late (RFC 5531 8 leaves that to the transport). JUKEBOX is a status
//!   like any other: when to ask again is the user's to say.
//!
//! Walks, handles of paths, transfers and jobs are in `nfs`, for `nfs4` has them, too.
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
