//! Steps that make, rename and remove the slot's own file or directory.

use std::fmt::Write as _;

use plimsoll_client::operation::OperationKind;

use super::ScriptRunner;
use super::next_action::NextAction;
use crate::fileset::{OWN_DIRECTORY, OWN_FILE};
use crate::program::ScriptStep;
use crate::seed_of;

impl ScriptRunner {
    /// Making, renaming and removing the slot's own.
    pub(super) fn next_for_own(&mut self, step: ScriptStep) -> Option<NextAction> {
        let own = &self.iteration.as_ref()?.own;
        let (nothing, renames) = (own.is_nothing(), own.renames());
        match step {
            ScriptStep::Create | ScriptStep::Operation(OperationKind::Mkdir) if !nothing => None,
            ScriptStep::Create => {
                self.path = self.own_path(OWN_FILE, renames)?;
                Some(NextAction::CreateOwn)
            }
            ScriptStep::Recreate => own.key().is_none().then_some(NextAction::CreateOwn),
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

    /// A name that is unique in this run. (Only one run at a time uses a set.)
    pub(super) fn own_path(&self, prefix: &str, renames: u32) -> Option<String> {
        let mut path = String::with_capacity(self.path.len() + 48);
        self.files.directory_path(self.iteration.as_ref()?.directory, &mut path);
        let (seed, client_index, slot) = (self.seed >> 32, self.client_index, self.slot);
        // Writing to a string cannot fail.
        let _ = write!(path, "/{prefix}{seed:08x}-{client_index}-{slot}-{}-{renames}", self.begun);
        Some(path)
    }

    /// The key of its content: as good as its name.
    pub(super) fn own_content(&self) -> u64 {
        seed_of(self.seed, self.client_index, self.slot).wrapping_add(self.begun)
    }
}
