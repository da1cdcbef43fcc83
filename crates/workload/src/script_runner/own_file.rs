//! The file or directory that an iteration makes for itself.

use plimsoll_client::operation::{FileKey, OperationKind};

use super::next_action::NextAction;
use crate::file_step::FileAfter;
use crate::program::OwnObject;

/// The file or directory that an iteration makes for itself.
#[derive(Debug, Default)]
pub(super) struct OwnFile {
    object: OwnObject,
    key: Option<FileKey>,
    size: u64,
    /// It contains other data than the workload wrote.
    holes: bool,
    renames: u32,
}

impl OwnFile {
    pub(super) fn is_nothing(&self) -> bool {
        self.object == OwnObject::Nothing
    }

    /// How often it was renamed or removed: part of its name.
    pub(super) fn renames(&self) -> u32 {
        self.renames
    }

    pub(super) fn key(&self) -> Option<FileKey> {
        self.key
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether its content is unknown in part.
    pub(super) fn has_holes(&self) -> bool {
        self.holes
    }

    pub(super) fn is_file(&self) -> bool {
        self.object == OwnObject::File
    }

    pub(super) fn is_directory(&self) -> bool {
        self.object == OwnObject::Directory
    }

    /// It exists, open and empty.
    pub(super) fn created(&mut self, key: FileKey) {
        self.opened(key);
        (self.size, self.holes) = (0, false);
    }

    pub(super) fn opened(&mut self, key: FileKey) {
        (self.object, self.key) = (OwnObject::File, Some(key));
    }

    pub(super) fn made_directory(&mut self) {
        self.object = OwnObject::Directory;
    }

    pub(super) fn written(&mut self, end: u64) {
        self.size = self.size.max(end);
    }

    pub(super) fn changed(&mut self, after: FileAfter) {
        self.holes |= !after.known;
        self.size = after.size;
    }

    pub(super) fn renamed(&mut self) {
        self.renames += 1;
    }

    pub(super) fn removed(&mut self) {
        *self = OwnFile { renames: self.renames + 1, ..OwnFile::default() };
    }

    /// The connection is lost, and with it the open file.
    pub(super) fn lost(&mut self) {
        self.key = None;
    }

    /// Closes it: it counts as closed from now on.
    pub(super) fn close(&mut self) -> Option<NextAction> {
        self.key.take().map(NextAction::Close)
    }

    /// Closes and removes the rest of it.
    pub(super) fn clean_up(&mut self) -> Option<NextAction> {
        if let Some(close) = self.close() {
            return Some(close);
        }
        match std::mem::take(&mut self.object) {
            OwnObject::Nothing => None,
            OwnObject::File => Some(NextAction::Operation(OperationKind::Remove, None)),
            OwnObject::Directory => Some(NextAction::Operation(OperationKind::Rmdir, None)),
        }
    }
}
