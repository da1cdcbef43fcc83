//! The file that a step copies to, until it is removed.

use plimsoll_client::operation::FileKey;

use super::next_action::NextAction;

/// The file that a step copies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CopyOfFile {
    #[default]
    None,
    /// It is open and empty.
    Created(FileKey),
    /// It is open and has the data.
    Copied(FileKey),
    /// It was closed, or its connection was lost.
    Closed,
}

impl CopyOfFile {
    /// The connection is lost, and with it the open file.
    pub(super) fn lost(&mut self) {
        if *self != CopyOfFile::None {
            *self = CopyOfFile::Closed;
        }
    }

    /// Closes and removes the rest of it; each action is tried once.
    pub(super) fn clean_up(&mut self) -> Option<NextAction> {
        match std::mem::take(self) {
            CopyOfFile::None => None,
            CopyOfFile::Created(key) | CopyOfFile::Copied(key) => {
                *self = CopyOfFile::Closed;
                Some(NextAction::Close(key))
            }
            CopyOfFile::Closed => Some(NextAction::RemoveCopy),
        }
    }
}
