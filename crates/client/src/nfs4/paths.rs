//! The paths of operations: the handles that they lead to, and what is kept for the next walk.

use plimsoll_model::FileIdentity;
use plimsoll_wire::nfs::v4::FileHandle;

use super::job::Walks;
use crate::nfs::{Handles, LastIdentity, SpareWalks};

/// The paths of a client.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) handles: Handles<FileHandle>,
    last_identity: LastIdentity,
    spare: SpareWalks<FileHandle>,
}

impl Default for Paths {
    fn default() -> Self {
        let (last_identity, spare) = Default::default();
        Self { handles: Handles::new(FileHandle::EMPTY), last_identity, spare }
    }
}

impl Paths {
    /// Walks of these paths, from the longest part of each whose handle is known.
    pub(super) fn walks(&mut self, paths: [Option<(&str, bool)>; 2]) -> Walks {
        self.spare.walks(paths, &mut self.handles)
    }

    pub(super) fn end(&mut self, walks: &mut Walks) {
        self.spare.keep(walks);
    }

    /// The identity of a handle's file in transactions.
    pub(super) fn identity(&mut self, handle: &FileHandle) -> FileIdentity {
        self.last_identity.of(handle.as_bytes())
    }
}
