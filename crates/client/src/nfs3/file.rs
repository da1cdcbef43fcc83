//! Open files, which for NFSv3 are handles.

use plimsoll_wire::nfs::v3::FileHandle;

use crate::nfs::Unstable;

/// The open files of a connection.
pub(super) type Files = crate::files::Files<File>;

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) handle: FileHandle,
    pub(super) unstable: Unstable,
}

impl File {
    pub(super) fn new(handle: FileHandle) -> Self {
        Self { handle, unstable: Unstable::default() }
    }
}
