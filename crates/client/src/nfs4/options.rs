//! What all NFSv4 clients of a run have in common, and what they agreed on with the server.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use plimsoll_model::Guarantees;
use plimsoll_wire::nfs::v4::Attributes;
use plimsoll_wire::nfs::v4::create_session::{self, Session};
use plimsoll_wire::rpc::{CallTemplate, Caller, CallerError};

use super::recoveries::Recoveries;
use super::session::HEADS;
use super::trunk::Trunk;

/// Number of the NFS program (RFC 8881 16.1).
const PROGRAM: u32 = 100_003;
/// Version of it.
const VERSION: u32 = 4;
/// As kernel clients have it: rsize and wsize of 1 MiB.
const MOST: u32 = 1 << 20;
/// Slots that kernel clients ask for (Linux: `max_session_slots`).
const SLOTS: u32 = 64;

/// What all NFSv4 clients of a run have in common.
#[derive(Debug)]
pub struct Nfs4Options {
    /// The directory that paths begin at, parts separated by `/`, no leading one; empty for the root of all exports.
    pub export: String,
    /// 1 or 2.
    pub minor_version: u32,
    /// Program, version and credential of every call.
    pub template: CallTemplate,
    /// The most bytes that one READ or WRITE moves, whatever the server takes.
    pub most: u32,
    /// Slots that a session asks for.
    pub slots: u32,
    /// What was agreed on with the first client.
    pub agreed: OnceLock<Agreed>,
    /// Slots that the server grants a session at most: as many as the first client got, which asked for 4,096.
    pub server_slots: OnceLock<u32>,
    /// Requests that waited for a slot.
    pub slot_waits: AtomicU64,
    /// What the server guaranteed clients that are gone: a client adds its own at its end.
    pub guarantees: Mutex<Guarantees>,
    /// What became of sessions and state that clients lost which are gone: a client adds its own at its end.
    pub recoveries: Mutex<Recoveries>,
    /// Tells this run's clients from those of others.
    pub(super) run: u64,
    /// Clients that were made.
    pub(super) made: AtomicU64,
}

/// What a client and the server agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Requests of a session that are on their way at once, at most.
    pub slots: u32,
    /// Longest READ that is used, bytes.
    pub read: u32,
    /// Longest WRITE that is used, bytes.
    pub write: u32,
    /// Results of a READDIR, bytes, at most.
    pub directory: u32,
    /// The server may call on the client's connection.
    pub back_channel: bool,
    /// How long state lives without a sign of its client, seconds.
    pub lease_seconds: u32,
}

/// What is used where a server does not say, bytes.
const UNTOLD: u64 = 64 << 10;
/// A lease where a server does not say, seconds; the shortest that is believed.
const LEASE: u32 = 90;
const SHORTEST_LEASE: u32 = 3;
/// Results of READDIR, bytes, at most.
const PAGE: u32 = 64 << 10;

impl Agreed {
    /// Before the server was asked.
    pub(super) const UNKNOWN: Self =
        Self { slots: 1, read: 4_096, write: 4_096, directory: 4_096, back_channel: false, lease_seconds: LEASE };

    /// What a session's limits come to; those of the file system are not known yet.
    pub(super) fn of(session: &Session, slots: u32) -> Self {
        let room = |bytes: u32| bytes.saturating_sub(HEADS).max(512);
        let (read, write) = (room(session.fore.response), room(session.fore.request));
        let back_channel = session.flags & create_session::BACK_CHANNEL != 0;
        Self { slots, read, write, directory: read.min(PAGE), back_channel, lease_seconds: LEASE }
    }

    /// The same in the session that follows.
    pub(super) fn within(self, session: &Session, slots: u32) -> Self {
        let Self { read, write, directory, back_channel, .. } = Self::of(session, slots);
        let (read, write) = (read.min(self.read), write.min(self.write));
        Self { slots, read, write, directory: directory.min(self.directory), back_channel, ..self }
    }

    /// The file system's limits besides.
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
    /// What so many connections of a client have in common, which has this name among those of the run.
    #[must_use]
    pub fn trunk(&self, name: &str, connections: u32) -> Arc<Trunk> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let owner = format!("plimsoll {:016x} {name}", self.run).into_bytes().into();
        Arc::new(Trunk::new(connections, owner, number.to_be_bytes()))
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
            most: MOST,
            slots: SLOTS,
            agreed: OnceLock::new(),
            server_slots: OnceLock::new(),
            slot_waits: AtomicU64::new(0),
            guarantees: Mutex::default(),
            recoveries: Mutex::default(),
            run: RandomState::new().hash_one(export),
            made: AtomicU64::new(0),
        })
    }
}
