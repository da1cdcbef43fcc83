//! An iteration: its random choices, and its progress.

use plimsoll_client::operation::FileKey;

use super::copy_of_file::CopyOfFile;
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
    /// The rest of the current step's transfer.
    pub(super) left: Option<Remaining>,
    pub(super) own: OwnFile,
    /// The file that a step copies to.
    pub(super) copy: CopyOfFile,
    /// The directory, where the iteration has opened it.
    pub(super) folder: Option<FileKey>,
    /// It has connected to the share, it has logged on.
    pub(super) connected: bool,
    pub(super) logged_on: bool,
    /// An operation failed: created objects are removed, then the iteration ends.
    pub(super) abandoned: bool,
}

/// The rest of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remaining {
    pub(super) requests: u64,
    /// Offset of the next request, if requests are sequential.
    pub(super) next: u64,
    /// Where they end.
    pub(super) end: u64,
    /// Bytes between requests, which other slots read.
    pub(super) skip: u64,
    /// Of a sequence that goes on from iteration to iteration: which it is, and where it begins again after the file's end.
    pub(super) round: Option<(Sequence, u64)>,
}

impl Remaining {
    /// The rest after a request of `bytes` bytes.
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
