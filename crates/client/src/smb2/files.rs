//! Files that are open.

use plimsoll_model::FileIdentity;
use plimsoll_wire::smb2::{FileId, create};

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// The server's name for it.
    pub(super) id: FileId,
    /// The oplock that it has.
    pub(super) oplock: u8,
    /// The lease that it was opened with, and what may still be cached.
    pub(super) lease: Option<create::Lease>,
    /// It was opened for reading.
    pub(super) readable: bool,
    /// Which file it is.
    pub(super) file: Option<FileIdentity>,
}

/// The open files of a connection.
pub(super) type Files = crate::files::Files<Open>;
