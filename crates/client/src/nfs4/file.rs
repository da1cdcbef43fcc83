//! Open files and their state.

use plimsoll_wire::nfs::v4::{FileHandle, StateId};

use super::ranges::Ranges;
use super::uncommitted::Uncommitted;
use crate::nfs::Unstable;

/// The open files of a connection.
pub(super) type Files = crate::files::Files<File>;

/// An open file.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) handle: FileHandle,
    /// Who has it open, and the open; `None` of a directory, and of a file that is used without one.
    pub(super) open: Option<Open>,
    /// Its locks.
    pub(super) lock: Option<StateId>,
    /// What they lock.
    pub(super) ranges: Ranges,
    pub(super) unstable: Unstable,
    /// What a server that restarts may lose.
    pub(super) uncommitted: Uncommitted,
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
        Self { handle, open, lock: None, ranges, unstable, uncommitted }
    }

    /// What reads and writes belong to.
    pub(super) fn state(&self) -> StateId {
        let open = self.open.map(|open| open.state);
        self.lock.or(open).map_or(StateId::ANONYMOUS, StateId::latest)
    }
}

/// The state of an open, for who gives all of them back.
pub(super) fn open_states(files: &mut Files) -> Vec<(FileHandle, StateId)> {
    files.iter_mut().filter_map(|file| Some((file.handle, file.open?.state.latest()))).collect()
}

/// The owners of opens. Each open file has one of its own, so that two opens of one file are two (RFC 8881 9.1.1); an owner whose
/// file was closed opens the next one.
#[derive(Debug)]
pub(super) struct Owners {
    free: Vec<u32>,
    /// The last number, and how far numbers lie apart: other connections of the session have those in between.
    made: u32,
    step: u32,
}

impl Owners {
    /// The owners of the connection `nth` of so many.
    pub(super) fn new(nth: u32, connections: u32) -> Self {
        let step = connections.max(1);
        Self { free: Vec::new(), made: nth.wrapping_sub(step).wrapping_add(1), step }
    }

    pub(super) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.made = self.made.wrapping_add(self.step);
            self.made
        })
    }

    pub(super) fn give_back(&mut self, owner: u32) {
        self.free.push(owner);
    }
}
