//! The next action of a slot.

use plimsoll_client::operation::{Failure, FileKey, OperationKind};

use crate::file_step::FileStep;

/// The next action of a slot. The slot has the paths.
#[derive(Clone, Copy, Debug)]
pub(super) enum NextAction {
    /// An operation on the subject, by its path or its open file.
    Operation(OperationKind, Option<FileKey>),
    OpenFile(u64),
    CloseFile(u64, FileKey),
    CreateOwn,
    OpenOwn,
    OpenFolder,
    /// Closes the slot's own file, or a directory.
    Close(FileKey),
    Read {
        file: FileKey,
        key: u64,
        offset: u64,
        length: u32,
        expected: u32,
        keep: bool,
        plus: bool,
    },
    Write {
        file: FileKey,
        key: u64,
        offset: u64,
        length: u32,
        stable: bool,
    },
    /// Looks up a name before the first iteration.
    PreLookup,
    /// Asks for a name that shall not be there; it stands in `new_path`.
    Probe,
    OnFile(FileKey, FileStep),
    /// Makes the file that a copy goes to, copies to it, and removes it.
    CreateCopy,
    Copy {
        from: FileKey,
        to: FileKey,
        length: u64,
        clones: bool,
    },
    RemoveCopy,
    Think(u64),
    IterationOver,
}

impl NextAction {
    /// Whether the script expects this failure.
    pub(super) fn expects(&self, failure: &Failure) -> bool {
        match self {
            NextAction::Probe => failure.is_not_there(),
            NextAction::OnFile(_, step) => step.expects(failure),
            _ => false,
        }
    }

    pub(super) fn is_about_no_subject(&self) -> bool {
        use OperationKind::{ConnectShare, DisconnectShare, Fsinfo, LogOff, LogOn, Null};
        matches!(
            self,
            NextAction::Probe
                | NextAction::CreateCopy
                | NextAction::Copy { .. }
                | NextAction::RemoveCopy
                | NextAction::Operation(Fsinfo | Null | ConnectShare | DisconnectShare | LogOn | LogOff, _)
        )
    }
}
