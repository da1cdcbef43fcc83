//! The file or directory that a turn makes for itself.

use std::fmt::Write as _;

use plimsoll_client::operation::{FileKey, OperationKind};

use super::Lane;
use super::asked::Asked;
use crate::fileset::{OWN_DIRECTORY, OWN_FILE};
use crate::program::ScriptStep;

/// The file or directory that a turn makes for itself.
#[derive(Debug, Default)]
pub(super) struct Own {
    thing: Thing,
    key: Option<FileKey>,
    size: u64,
    /// It was made longer than what was written to it.
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

impl Own {
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

    pub(super) fn resized(&mut self, size: u64) {
        self.holes |= size > self.size;
        self.size = size;
    }

    pub(super) fn renamed(&mut self) {
        self.renames += 1;
    }

    pub(super) fn removed(&mut self) {
        *self = Own { renames: self.renames + 1, ..Own::default() };
    }

    /// The connection is gone, and with it what was open.
    pub(super) fn lost(&mut self) {
        self.key = None;
    }

    /// Closes it: it counts as closed from now on.
    pub(super) fn close(&mut self) -> Option<Asked> {
        self.key.take().map(Asked::Close)
    }

    /// What is left of it is closed and removed.
    pub(super) fn clean_up(&mut self) -> Option<Asked> {
        if let Some(close) = self.close() {
            return Some(close);
        }
        match std::mem::take(&mut self.thing) {
            Thing::Nothing => None,
            Thing::File => Some(Asked::Operation(OperationKind::Remove, None)),
            Thing::Directory => Some(Asked::Operation(OperationKind::Rmdir, None)),
        }
    }
}

impl Lane {
    /// Making, renaming and removing the lane's own.
    pub(super) fn next_for_own(&mut self, step: ScriptStep) -> Option<Asked> {
        let own = &self.turn.as_ref()?.own;
        let (nothing, renames) = (own.thing == Thing::Nothing, own.renames);
        match step {
            ScriptStep::Create | ScriptStep::Operation(OperationKind::Mkdir) if !nothing => None,
            ScriptStep::Create => {
                self.path = self.own_path(OWN_FILE, renames)?;
                Some(Asked::CreateOwn)
            }
            ScriptStep::Recreate => own.key.is_none().then_some(Asked::CreateOwn),
            ScriptStep::Operation(OperationKind::Mkdir) => {
                self.path = self.own_path(OWN_DIRECTORY, renames)?;
                Some(Asked::Operation(OperationKind::Mkdir, None))
            }
            ScriptStep::Operation(OperationKind::Rename) => {
                let prefix = if own.is_directory() { OWN_DIRECTORY } else { OWN_FILE };
                self.new_path = self.own_path(prefix, renames + 1)?;
                Some(Asked::Operation(OperationKind::Rename, None))
            }
            _ if nothing => None,
            ScriptStep::Operation(OperationKind::Rmdir) => Some(Asked::Operation(OperationKind::Rmdir, None)),
            _ => Some(Asked::Operation(OperationKind::Remove, None)),
        }
    }

    /// A name that no other lane of this run uses, nor this one in another turn. (A set is one run's at a time.)
    fn own_path(&self, prefix: &str, renames: u32) -> Option<String> {
        let mut path = String::with_capacity(self.path.len() + 48);
        self.files.directory_path(self.turn.as_ref()?.directory, &mut path);
        let (seed, station, lane) = (self.seed >> 32, self.station, self.lane);
        // Writing to a string cannot fail.
        let _ = write!(path, "/{prefix}{seed:08x}-{station}-{lane}-{}-{renames}", self.begun);
        Some(path)
    }

    /// The key of its content: as good as its name.
    pub(super) fn own_content(&self) -> u64 {
        crate::seed_of(self.seed, self.station, self.lane).wrapping_add(self.begun)
    }
}
