//! What a client has open: files, the owners of their opens and locks, and delegations.

use plimsoll_wire::nfs::v4::{FileHandle, StateId};

use super::delegations::Delegations;
use super::file::{File, Files};
use super::owners::Owners;
use crate::operation::{Cause, FileKey};

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

    pub(super) fn state_of(&self, key: FileKey) -> StateId {
        let Some(file) = self.files.get(key) else { return StateId::ANONYMOUS };
        // A LOCK without a response may have changed the state ID of the locks.
        if let Some(open) = file.open.filter(|open| self.owners.is_in_doubt(open.owner)) {
            return open.state;
        }
        match file.base.filter(|_| file.open.is_none()).and_then(|base| self.files.get(base)) {
            Some(base) => base.state(),
            None => file.state(),
        }
    }

    /// Whether the server has lost the open that this file had, or shared. Nothing is read or written without it.
    pub(super) fn is_lost(&self, key: FileKey) -> bool {
        let lost = |file: &File| file.lost && file.open.is_none();
        self.files.get(key).is_some_and(|file| match file.base.filter(|_| file.open.is_none()) {
            Some(base) => self.files.get(base).is_some_and(lost),
            None => lost(file),
        })
    }

    /// Why a file without an open, or without a lock, cannot be locked or unlocked.
    pub(super) fn without_lock(&self, key: FileKey, unlocks: bool) -> Option<Cause> {
        let file = self.files.get(key)?;
        match file.open {
            _ if self.is_lost(key) => Some(Cause::SessionLost),
            Some(open) if unlocks && file.lock.is_none() && self.owners.is_in_doubt(open.owner) => {
                Some(Cause::LocksUnknown)
            }
            None if file.base.is_none() => None,
            _ => (unlocks && file.lock.is_none()).then_some(Cause::NoLock),
        }
    }

    /// The server has lost the open of a file, and its locks.
    pub(super) fn lose(&mut self, key: FileKey) {
        let Some(file) = self.files.get_mut(key) else { return };
        let owner = file.open.take().map(|open| open.owner);
        file.lost |= owner.is_some();
        (file.lock, file.ranges) = (None, Default::default());
        owner.into_iter().for_each(|owner| self.owners.give_back(owner));
    }

    /// The state of each open and its owner, for a client that gives all of them back.
    pub(super) fn all(&mut self) -> Vec<(FileHandle, StateId, u32)> {
        let files = self.files.iter_mut();
        files.filter_map(|file| file.open.map(|open| (file.handle, open.state, open.owner))).collect()
    }
}
