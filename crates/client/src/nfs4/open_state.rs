//! What a client has open: files, the owners of their opens and locks, and delegations.

use plimsoll_wire::nfs::v4::{FileHandle, StateId};

use super::delegations::Delegations;
use super::file::Files;
use super::owners::Owners;
use crate::operation::FileKey;

/// The state that the server keeps for a client.
#[derive(Debug)]
pub(super) struct OpenState {
    pub(super) files: Files,
    pub(super) owners: Owners,
    /// There if the client asks for delegations.
    pub(super) delegations: Option<Box<Delegations>>,
}

impl OpenState {
    pub(super) fn new(owners: Owners, delegations: bool) -> Self {
        Self { files: Files::default(), owners, delegations: delegations.then(Box::default) }
    }

    /// The state ID of reads and writes of a file.
    pub(super) fn state_of(&self, key: FileKey) -> StateId {
        let Some(file) = self.files.get(key) else { return StateId::ANONYMOUS };
        match file.base.filter(|_| file.open.is_none()).and_then(|base| self.files.get(base)) {
            Some(base) => base.state(),
            None => file.state(),
        }
    }

    /// The server has lost the open of a file, and its locks.
    pub(super) fn lose(&mut self, key: FileKey) {
        let Some(file) = self.files.get_mut(key) else { return };
        let owner = file.open.take().map(|open| open.owner);
        (file.lock, file.ranges) = (None, Default::default());
        owner.into_iter().for_each(|owner| self.owners.give_back(owner));
    }

    /// The state of each open and its owner, for a client that gives all of them back.
    pub(super) fn all(&mut self) -> Vec<(FileHandle, StateId, u32)> {
        let files = self.files.iter_mut();
        files.filter_map(|file| file.open.map(|open| (file.handle, open.state, open.owner))).collect()
    }
}
