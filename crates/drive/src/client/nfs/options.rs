//! What all NFS clients of a run have in common.

use std::sync::OnceLock;

use plimsoll_wire::nfs::v3::FileHandle;
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

impl NfsOptions {
    /// A caller's calls below a root.
    ///
    /// # Errors
    /// The credential exceeds a limit of AUTH_SYS.
    pub fn new(root: FileHandle, caller: &Caller<'_>) -> Result<Self, CallerError> {
        let template = CallTemplate::new(PROGRAM, VERSION, caller)?;
        Ok(Self { root, template, most: MOST, limits: OnceLock::new() })
    }
}
