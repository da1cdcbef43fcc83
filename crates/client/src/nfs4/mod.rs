//! The client of NFSv4.0, 4.1 and 4.2. What follows is about versions with sessions; for 4.0 see `sessionless`.
//!
//! ```text
//! begin ──► Job ── walk (LOOKUP) ──► slot ──► rpc::Connection ──► Outbox
//!            ▲                        ▲        │
//!            └──── settle ◄──── answers ◄──────┘ message
//! ```
//!
//! The engine calls `interface`. `advance` sends the next of a job's `requests`, `receiving` takes the responses, and `completion` ends the
//! job.
//!
//! An operation is a *job*, as in `nfs3`; paths are walked, data are moved and files are told from directories in the same way.
//! What differs, and decides how many requests an operation takes:
//!
//! * a connection has a client id and a session of its own, unless it is one of several of a client (`trunk`). Connecting is EXCHANGE_ID, CREATE_SESSION, RECLAIM_COMPLETE, the root,
//!   a LOOKUP for each part of the export's path, and the limits of what is there. Leaving closes what is open, and gives session and
//!   client id back. A connection that is made again is the same client, which has restarted: the server forgets its state;
//! * a request is one compound: SEQUENCE, the file handle, what it is about, and as Linux' client has it handle and attributes
//!   behind OPEN, LOOKUP and CREATE. WRITE is the last of its compound. See `shapes`;
//! * a slot has one request on its way. What finds no slot waits, in order, and is counted. A request that was given up keeps its
//!   slot until its answer comes; where no other is left, the connection is over. Nothing is sent again on a connection that is up
//!   (RFC 8881 2.9.2);
//! * a connection that is lost ends no operation: another one is bound to the session, and what has no answer is sent again with its
//!   slot and number. A session that is lost is made anew, and what the server has forgotten is reclaimed. See `recovery`;
//! * DELAY, and DENIED for a lock that is to be waited for, are asked again after 0.1 s, then after twice as long, up to 15 s; GRACE
//!   every 0.1 s; each answer is a row. An operation for which that lasts longer than the timeout fails with the status. See `pauses`;
//! * each open has a separate owner, and excludes no other open. It wants no delegation, unless the target asks for read delegations: see
//!   `delegations`. A file is opened by its name in its directory. One
//!   that is opened with [`Caching::Handle`](crate::operation::Caching::Handle), and whose handle is known, is not opened at all:
//!   what is read and written belongs to no open then (RFC 8881 8.2.3). A directory that is opened has no state;
//! * a lease is renewed after two thirds of it, if nothing else has renewed it;
//! * the server may call on the connection: it recalls delegations there.
//!
//! Where to change what:
//!
//! | what | files |
//! | --- | --- |
//! | the state of a client | `client.rs` lists its parts; each part has its own file |
//! | an operation | its call and the parser of its result in `wire`; its compound: `shapes.rs`, request: `requests.rs`, effect: `settle.rs` |
//! | OPEN, locks, data, sessions | request and effect together: `open.rs`, `lock.rs`, `transfer.rs`, `set_up.rs` |
//! | recovery | whether one is needed or runs: `recovering.rs`; stages: `recovery.rs`; their requests and responses: `reclaim.rs`; lost connections: `suspend.rs`, outstanding requests: `resend.rs` |
//! | several connections | what they share: `trunk.rs`; the place of each: `membership.rs`, `join.rs`; the engine keeps a client that reconnects (`suspend` in `worker/connections.rs`) |
//! | NFS 4.0 | `sessionless.rs`, `owners.rs` |
//! | delegations | `delegations.rs`, `delegations/`; revoked ones: `revocations.rs`; calls of the server: `back_channel.rs` |
//!
//! Spec: RFC 8881, RFC 7862, RFC 5531

mod advance;
mod answers;
mod back_channel;
mod begin;
mod client;
mod client_id;
mod completion;
mod condition;
mod delegation_counts;
mod delegations;
mod done_before;
mod file;
mod found;
mod interface;
mod job;
mod join;
mod lock;
mod membership;
mod minor_2;
mod open;
mod open_state;
mod options;
mod outage;
mod owners;
mod parted;
mod paths;
mod pauses;
mod ranges;
mod receiving;
mod reclaim;
mod recoveries;
mod recovering;
mod recovery;
mod request_context;
mod requests;
mod resend;
mod results;
mod revocations;
mod rows;
mod sending;
mod session;
mod sessionless;
mod set_up;
mod settle;
mod shapes;
mod suspend;
mod transfer;
mod trunk;
mod uncommitted;
mod waiting;

pub use client::Nfs4Client;
pub use delegation_counts::DelegationCounts;
pub use options::{Negotiated, Nfs4Options};
pub use recoveries::{Reclaims, Recoveries};
pub use trunk::Trunk;

/// Whether this status of a request only asks to repeat the request later (NFS4ERR_DELAY, NFS4ERR_GRACE). The client does so by itself.
#[must_use]
pub fn asks_to_wait(procedure: plimsoll_model::Procedure, status: u32) -> bool {
    job::LATER.contains(&status) && procedure.row().protocol == plimsoll_model::Protocol::Nfs4
}
