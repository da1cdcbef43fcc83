//! An iteration: what is drawn for it, and how far it is.

use plimsoll_client::operation::FileKey;

use super::own_file::OwnFile;
use super::positions::Sequence;
use crate::fileset::Directory;
use crate::text::Subject;

/// An iteration that was begun.
#[derive(Debug)]
pub(super) struct Iteration {
    /// Which of the workload's iterations.
    pub(super) kind: usize,
    pub(super) on: Subject,
    /// The file or link, where the subject is one.
    pub(super) file: u64,
    /// The directory that the subject is, or is in.
    pub(super) directory: Directory,
    pub(super) step: usize,
    /// What is left of the transfer that the step is.
    pub(super) left: Option<Remaining>,
    pub(super) own: OwnFile,
    /// The directory, where the iteration has opened it.
    pub(super) folder: Option<FileKey>,
    /// It has connected to the share, it has logged on.
    pub(super) connected: bool,
    pub(super) logged_on: bool,
    /// Something failed: what was made is removed, then the iteration is over.
    pub(super) abandoned: bool,
}

/// What is left of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remaining {
    /// Requests.
    pub(super) requests: u64,
    /// Where the next one begins, if they follow each other.
    pub(super) next: u64,
    /// Where they end.
    pub(super) end: u64,
    /// Bytes between them, which other slots read.
    pub(super) skip: u64,
    /// Of a sequence that goes on from iteration to iteration: which it is, and where it begins again after the file's end.
    pub(super) round: Option<(Sequence, u64)>,
}

impl Remaining {
    /// A request moved so many bytes.
    pub(super) fn after(self, bytes: u32) -> Self {
        let next = self.next.saturating_add(u64::from(bytes)).saturating_add(self.skip);
        Self { requests: self.requests.saturating_sub(1), next, ..self }
    }

    /// The same at the file's beginning, where a sequence that goes on has come to the end.
    pub(super) fn wrapped(self) -> Self {
        match self.round {
            Some((_, first)) if self.next >= self.end => Self { next: first, ..self },
            _ => self,
        }
    }
}
