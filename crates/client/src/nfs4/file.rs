//! Open files and their state.

use plimsoll_wire::nfs::v4::{FileHandle, StateId};

use super::ranges::Ranges;
use super::uncommitted::Uncommitted;
use crate::nfs::Unstable;
use crate::operation::FileKey;

/// The open files of a connection.
pub(super) type Files = crate::files::Files<File>;

/// An open file.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) handle: FileHandle,
    /// Who has it open, and the open; `None` of a directory, and of a file that is used without one.
    pub(super) open: Option<Open>,
    /// The server has lost the open, and the client did not get another one.
    pub(super) lost: bool,
    /// The file whose open on the server it shares, because it was opened under a delegation.
    pub(super) base: Option<FileKey>,
    pub(super) lock: Option<StateId>,
    /// What they lock.
    pub(super) ranges: Ranges,
    pub(super) unstable: Unstable,
    /// What a server that restarts may lose.
    pub(super) uncommitted: Uncommitted,
    /// Directory and name under which it was opened, in 4.0.
    pub(super) place: Option<Box<(FileHandle, Box<[u8]>)>>,
}

/// An open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) owner: u32,
    pub(super) state: StateId,
    /// What it was opened for, as OPEN says it.
    pub(super) access: u32,
}

impl File {
    pub(super) fn new(handle: FileHandle, open: Option<Open>) -> Self {
        let (ranges, unstable, uncommitted) = Default::default();
        Self { handle, open, lost: false, base: None, lock: None, ranges, unstable, uncommitted, place: None }
    }

    /// A file that shares the open of another one.
    pub(super) fn sharing(handle: FileHandle, base: FileKey) -> Self {
        Self { base: Some(base), ..Self::new(handle, None) }
    }

    /// What reads and writes belong to.
    pub(super) fn state(&self) -> StateId {
        let open = self.open.map(|open| open.state);
        self.lock.or(open).unwrap_or(StateId::ANONYMOUS)
    }
}
