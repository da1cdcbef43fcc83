//! What all NFS clients of a run have in common.

use std::sync::{Mutex, OnceLock};

use plimsoll_model::Guarantees;
use plimsoll_wire::nfs::v3::{FileHandle, fsinfo};
use plimsoll_wire::rpc::{CallTemplate, Caller, CallerError, Program};

use crate::rpc::Gss;

/// What all clients of a run have in common.
#[derive(Debug)]
pub struct NfsOptions {
    /// The directory that paths begin at.
    pub root: FileHandle,
    /// Program, version and credential of every call.
    pub template: CallTemplate,
    /// The Kerberos security of every call; `None`: the template's credential.
    pub security: Option<Gss>,
    /// Maximum number of bytes per READ or WRITE, even if the server allows more.
    pub most: u32,
    /// The server's limits, from the first client's connection.
    pub limits: OnceLock<NfsLimits>,
    /// Guarantees that ended clients received: each client adds its own at its end.
    pub guarantees: Mutex<Guarantees>,
}

/// Number of the NFS program (RFC 1813 3.1).
pub(super) const PROGRAM: u32 = Program::Nfs.number();
pub(super) const VERSION: u32 = 3;
/// As kernel clients have it: rsize and wsize of 1 MiB.
const MOST: u32 = 1 << 20;

/// The server's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NfsLimits {
    /// Longest READ that is used, bytes: the server's, or [`NfsOptions::most`].
    pub read: u32,
    /// Longest WRITE that is used, bytes.
    pub write: u32,
    /// Preferred size of a READDIR's answer, bytes.
    pub directory: u32,
}

/// Upper limit of a READ or WRITE, bytes, whatever is requested: its message is far below the maximum message size.
const CEILING: u32 = 8 << 20;
/// Transfer size if the server does not report one, bytes: the maximum of NFS version 2.
const UNTOLD: u32 = 8 << 10;
/// Answers of READDIRPLUS and READDIR, bytes: at least, and at most.
const PIECE: (u32, u32) = (4 << 10, 64 << 10);

impl NfsLimits {
    /// Before the server was asked.
    pub(super) const UNKNOWN: Self = Self { read: UNTOLD, write: UNTOLD, directory: PIECE.0 };

    /// The effective limits for a server.
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
        Ok(Self { root, template, security: None, most: MOST, limits: OnceLock::new(), guarantees: Mutex::default() })
    }
}
