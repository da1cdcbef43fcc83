//! What all NFS clients of a run have in common.

use std::sync::{Mutex, OnceLock};

use plimsoll_model::Guarantees;
use plimsoll_wire::nfs::v3::{FileHandle, fsinfo};
use plimsoll_wire::rpc::{CallTemplate, Caller, CallerError};

/// What all clients of a run have in common.
#[derive(Debug)]
pub struct NfsOptions {
    /// The directory that paths begin at.
    pub root: FileHandle,
    /// Program, version and credential of every call.
    pub template: CallTemplate,
    /// The most bytes that one READ or WRITE moves, whatever the server takes.
    pub most: u32,
    /// What the server said of itself when the first client came.
    pub limits: OnceLock<NfsLimits>,
    /// What the server guaranteed clients that are gone: a client adds its own at its end.
    pub guarantees: Mutex<Guarantees>,
}

/// Number of the NFS program (RFC 1813 3.1).
pub(super) const PROGRAM: u32 = 100_003;
/// Version of it.
pub(super) const VERSION: u32 = 3;
/// As kernel clients have it: rsize and wsize of 1 MiB.
const MOST: u32 = 1 << 20;

/// What the server said of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NfsLimits {
    /// Longest READ that is used, bytes: the server's, or [`NfsOptions::most`].
    pub read: u32,
    /// Longest WRITE that is used, bytes.
    pub write: u32,
    /// Preferred size of a READDIR's answer, bytes.
    pub directory: u32,
}

/// The longest READ or WRITE whatever anybody asks for, bytes: its message fits into what is taken with room to spare.
const CEILING: u32 = 8 << 20;
/// What is used where a server does not say, bytes; NFS version 2 had no more.
const UNTOLD: u32 = 8 << 10;
/// Answers of READDIRPLUS and READDIR, bytes: at least, and at most.
const PIECE: (u32, u32) = (4 << 10, 64 << 10);

impl NfsLimits {
    /// Before the server was asked.
    pub(super) const UNKNOWN: Self = Self { read: UNTOLD, write: UNTOLD, directory: PIECE.0 };

    /// What a server's limits come to.
    pub(super) fn of(limits: &fsinfo::Limits, most: u32) -> Self {
        let longest = |max: u32| if max == 0 { UNTOLD } else { max }.min(most.clamp(1, CEILING));
        let directory = limits.directory_preferred.clamp(PIECE.0, PIECE.1);
        Self { read: longest(limits.read_max), write: longest(limits.write_max), directory }
    }
}

impl NfsOptions {
    /// A caller's calls below a root.
    ///
    /// # Errors
    /// The credential exceeds a limit of AUTH_SYS.
    pub fn new(root: FileHandle, caller: &Caller<'_>) -> Result<Self, CallerError> {
        let template = CallTemplate::new(PROGRAM, VERSION, caller)?;
        Ok(Self { root, template, most: MOST, limits: OnceLock::new(), guarantees: Mutex::default() })
    }
}
