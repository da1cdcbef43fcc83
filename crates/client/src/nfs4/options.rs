//! Common options of all NFSv4 clients of a run, and the values negotiated with the server.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use plimsoll_model::Guarantees;
use plimsoll_wire::nfs::v4::Attributes;
use plimsoll_wire::nfs::v4::create_session::{self, Session};
use plimsoll_wire::rpc::{CallTemplate, Caller, CallerError, Program};

use super::delegation_counts::DelegationCounts;
use super::recoveries::Recoveries;
use super::session::HEADS;
use super::trunk::Trunk;
use crate::rpc::Gss;

/// Number of the NFS program (RFC 8881 16.1).
pub(super) const PROGRAM: u32 = Program::Nfs.number();
/// NFS version.
pub(super) const VERSION: u32 = 4;
/// Largest rsize and wsize of kernel clients: 1 MiB.
const MOST: u32 = 1 << 20;
/// Slots that kernel clients request (Linux: `max_session_slots`).
const SLOTS: u32 = 64;

/// Common options of all NFSv4 clients of a run.
#[derive(Debug)]
pub struct Nfs4Options {
    /// The directory in which paths begin: names separated by `/`, without a leading `/`; empty for the root of all exports.
    pub export: String,
    /// Minor version: 0, 1 or 2.
    pub minor_version: u32,
    /// Program, version and credential of every call.
    pub template: CallTemplate,
    /// The Kerberos security of every call; `None`: the template's credential.
    pub security: Option<Gss>,
    /// Maximum number of bytes of a READ or WRITE, even if the server allows more.
    pub most: u32,
    /// Slots to request for a session; more if a client has more connections.
    pub slots: u32,
    /// Ask for a read delegation with each open for reading, from 4.1 on. Not by clients with several connections.
    pub delegations: bool,
    /// The values negotiated by the first client.
    pub agreed: OnceLock<Negotiated>,
    /// Maximum number of slots that the server grants: the number that the first client got, which requested 4,096.
    pub server_slots: OnceLock<u32>,
    /// The most slots of a session of the load; 0 before the first one.
    pub load_slots: AtomicU32,
    /// Separate sessions of each client, because the server granted a session fewer slots than the client has connections; 0 if no server
    /// did.
    pub separate_sessions: AtomicU32,
    /// Requests that waited for a slot.
    pub slot_waits: AtomicU64,
    /// Guarantees seen by clients that have ended; each client adds its own at its end.
    pub guarantees: Mutex<Guarantees>,
    /// Recoveries of clients that have ended; each client adds its own at its end.
    pub recoveries: Mutex<Recoveries>,
    /// Delegations of clients that have ended; each client adds its own at its end.
    pub delegation_counts: Mutex<DelegationCounts>,
    /// Distinguishes the clients of this run from clients of other runs.
    pub(super) run: u64,
    /// Number of clients created so far.
    pub(super) made: AtomicU64,
}

/// The values negotiated between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Maximum number of outstanding requests of a session; 0 in 4.0, which has no sessions.
    pub slots: u32,
    /// Maximum size of a READ, bytes.
    pub read: u32,
    /// Maximum size of a WRITE, bytes.
    pub write: u32,
    /// Maximum size of the results of a READDIR, bytes.
    pub directory: u32,
    /// Whether the server may call the client on its connection.
    pub back_channel: bool,
    /// Lease time of the server, seconds.
    pub lease_seconds: u32,
}

/// Size limit if the server states none, bytes.
const UNTOLD: u64 = 64 << 10;
/// Lease time if the server states none, seconds; also the shortest lease time that is accepted.
const LEASE: u32 = 90;
const SHORTEST_LEASE: u32 = 3;
/// Maximum size of the results of a READDIR, bytes.
const PAGE: u32 = 64 << 10;

impl Negotiated {
    /// Values before the negotiation.
    pub(super) const UNKNOWN: Self =
        Self { slots: 1, read: 4_096, write: 4_096, directory: 4_096, back_channel: false, lease_seconds: LEASE };

    /// Limits in 4.0, which has no sessions, without the limits of the file system.
    pub(super) fn without_session(most: u32) -> Self {
        Self { slots: 0, read: most, write: most, directory: most.min(PAGE), ..Self::UNKNOWN }
    }

    /// Limits of a session, without the limits of the file system.
    pub(super) fn of(session: &Session, slots: u32) -> Self {
        let room = |bytes: u32| bytes.saturating_sub(HEADS).max(512);
        let (read, write) = (room(session.fore.response), room(session.fore.request));
        let back_channel = session.flags & create_session::BACK_CHANNEL != 0;
        Self { slots, read, write, directory: read.min(PAGE), back_channel, lease_seconds: LEASE }
    }

    /// The same limits in the next session.
    pub(super) fn within(self, session: &Session, slots: u32) -> Self {
        let Self { read, write, directory, back_channel, .. } = Self::of(session, slots);
        let (read, write) = (read.min(self.read), write.min(self.write));
        Self { slots, read, write, directory: directory.min(self.directory), back_channel, ..self }
    }

    /// The lease time of the server, ns.
    pub(super) fn lease_ns(&self) -> i64 {
        i64::from(self.lease_seconds).saturating_mul(1_000_000_000)
    }

    /// These limits, reduced to the limits of the file system.
    pub(super) fn narrowed(self, server: &Attributes, most: u32) -> Self {
        let longest = |bytes: Option<u64>, room: u32| {
            let bytes = bytes.filter(|&bytes| bytes > 0).unwrap_or(UNTOLD);
            u32::try_from(bytes).unwrap_or(u32::MAX).min(room).min(most.max(1))
        };
        let (read, write) = (longest(server.max_read, self.read), longest(server.max_write, self.write));
        let lease_seconds = server.lease_seconds.unwrap_or(LEASE).max(SHORTEST_LEASE);
        Self { read, write, lease_seconds, ..self }
    }
}

impl Nfs4Options {
    /// The common state of the connections of a client, with this name among the clients of the run.
    #[must_use]
    pub fn trunk(&self, name: &str, connections: u32) -> Arc<Trunk> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let owner = format!("plimsoll {:016x} {name}", self.run).into_bytes().into();
        Arc::new(Trunk::new(connections, owner, number.to_be_bytes()))
    }

    /// Whether this minor version has no sessions.
    pub(super) fn is_sessionless(&self) -> bool {
        self.minor_version == 0
    }

    /// A caller's calls below an export.
    ///
    /// # Errors
    /// The credential exceeds a limit of AUTH_SYS.
    pub fn new(export: &str, minor_version: u32, caller: &Caller<'_>) -> Result<Self, CallerError> {
        Ok(Self {
            export: export.trim_matches('/').to_owned(),
            minor_version,
            template: CallTemplate::new(PROGRAM, VERSION, caller)?,
            security: None,
            most: MOST,
            slots: SLOTS,
            delegations: false,
            agreed: OnceLock::new(),
            server_slots: OnceLock::new(),
            load_slots: AtomicU32::new(0),
            separate_sessions: AtomicU32::new(0),
            slot_waits: AtomicU64::new(0),
            guarantees: Mutex::default(),
            recoveries: Mutex::default(),
            delegation_counts: Mutex::default(),
            run: RandomState::new().hash_one(export),
            made: AtomicU64::new(0),
        })
    }
}
