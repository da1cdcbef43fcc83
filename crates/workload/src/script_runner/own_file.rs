//! The file or directory that an iteration makes for itself.

use std::fmt::Write as _;

use plimsoll_client::operation::{FileKey, OperationKind};

use super::ScriptRunner;
use super::next_action::NextAction;
use crate::file_step::FileAfter;
use crate::fileset::{OWN_DIRECTORY, OWN_FILE};
use crate::program::ScriptStep;

/// The file or directory that an iteration makes for itself.
#[derive(Debug, Default)]
pub(super) struct OwnFile {
    thing: Thing,
    key: Option<FileKey>,
    size: u64,
    /// It holds something else than what the workload wrote to it.
    holes: bool,
    renames: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thing {
    #[default]
    Nothing,
    File,
    Directory,
}

impl OwnFile {
    pub(super) fn key(&self) -> Option<FileKey> {
        self.key
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether what is in it is known.
    pub(super) fn has_holes(&self) -> bool {
        self.holes
    }

    pub(super) fn is_file(&self) -> bool {
        self.thing == Thing::File
    }

    pub(super) fn is_directory(&self) -> bool {
        self.thing == Thing::Directory
    }

    /// It is there, open and empty.
    pub(super) fn created(&mut self, key: FileKey) {
        self.opened(key);
        (self.size, self.holes) = (0, false);
    }

    pub(super) fn opened(&mut self, key: FileKey) {
        (self.thing, self.key) = (Thing::File, Some(key));
    }

    pub(super) fn made_directory(&mut self) {
        self.thing = Thing::Directory;
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

    /// The connection is gone, and with it what was open.
    pub(super) fn lost(&mut self) {
        self.key = None;
    }

    /// Closes it: it counts as closed from now on.
    pub(super) fn close(&mut self) -> Option<NextAction> {
        self.key.take().map(NextAction::Close)
    }

    /// What is left of it is closed and removed.
    pub(super) fn clean_up(&mut self) -> Option<NextAction> {
        if let Some(close) = self.close() {
            return Some(close);
        }
        match std::mem::take(&mut self.thing) {
            Thing::Nothing => None,
            Thing::File => Some(NextAction::Operation(OperationKind::Remove, None)),
            Thing::Directory => Some(NextAction::Operation(OperationKind::Rmdir, None)),
        }
    }
}

impl ScriptRunner {
    /// Making, renaming and removing the slot's own.
    pub(super) fn next_for_own(&mut self, step: ScriptStep) -> Option<NextAction> {
        let own = &self.iteration.as_ref()?.own;
        let (nothing, renames) = (own.thing == Thing::Nothing, own.renames);
        match step {
            ScriptStep::Create | ScriptStep::Operation(OperationKind::Mkdir) if !nothing => None,
            ScriptStep::Create => {
                self.path = self.own_path(OWN_FILE, renames)?;
                Some(NextAction::CreateOwn)
            }
            ScriptStep::Recreate => own.key.is_none().then_some(NextAction::CreateOwn),
            ScriptStep::Operation(OperationKind::Mkdir) => {
                self.path = self.own_path(OWN_DIRECTORY, renames)?;
                Some(NextAction::Operation(OperationKind::Mkdir, None))
            }
            ScriptStep::Operation(OperationKind::Rename) => {
                let prefix = if own.is_directory() { OWN_DIRECTORY } else { OWN_FILE };
                self.new_path = self.own_path(prefix, renames + 1)?;
                Some(NextAction::Operation(OperationKind::Rename, None))
            }
            _ if nothing => None,
            ScriptStep::Operation(OperationKind::Rmdir) => Some(NextAction::Operation(OperationKind::Rmdir, None)),
            _ => Some(NextAction::Operation(OperationKind::Remove, None)),
        }
    }

    /// A name that no other slot of this run uses, nor this one in another iteration. (A set is one run's at a time.)
    fn own_path(&self, prefix: &str, renames: u32) -> Option<String> {
        let mut path = String::with_capacity(self.path.len() + 48);
        self.files.directory_path(self.iteration.as_ref()?.directory, &mut path);
        let (seed, client_index, slot) = (self.seed >> 32, self.client_index, self.slot);
        // Writing to a string cannot fail.
        let _ = write!(path, "/{prefix}{seed:08x}-{client_index}-{slot}-{}-{renames}", self.begun);
        Some(path)
    }

    /// The key of its content: as good as its name.
    pub(super) fn own_content(&self) -> u64 {
        crate::seed_of(self.seed, self.client_index, self.slot).wrapping_add(self.begun)
    }
}
