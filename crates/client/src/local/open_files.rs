//! Descriptors by key.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plimsoll_model::FileIdentity;

use super::Trouble;
use crate::operation::{Cause, FileKey};

/// The open files of one client. A key that was closed may be given out again.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    places: Vec<Option<(OwnedFd, FileIdentity)>>,
    free: Vec<u32>,
}

impl OpenFiles {
    pub(super) fn add(&mut self, file: OwnedFd, identity: FileIdentity) -> Result<FileKey, Trouble> {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                let place = u32::try_from(self.places.len());
                self.places.push(None);
                place.map_err(|_| Trouble::NotAsked(Cause::OutOfResources))?
            }
        };
        if let Some(slot) = self.places.get_mut(place as usize) {
            *slot = Some((file, identity));
        }
        Ok(FileKey(place))
    }

    pub(super) fn get(&self, key: FileKey) -> Result<BorrowedFd<'_>, Trouble> {
        let file = self.places.get(key.0 as usize).and_then(Option::as_ref);
        file.map(|(file, _)| file.as_fd()).ok_or(Trouble::NotAsked(Cause::Unsupported))
    }

    pub(super) fn identity(&self, key: FileKey) -> Option<FileIdentity> {
        Some(self.places.get(key.0 as usize)?.as_ref()?.1)
    }

    pub(super) fn take(&mut self, key: FileKey) -> Result<OwnedFd, Trouble> {
        let file = self.places.get_mut(key.0 as usize).and_then(Option::take);
        let (file, _) = file.ok_or(Trouble::NotAsked(Cause::Unsupported))?;
        self.free.push(key.0);
        Ok(file)
    }
}
