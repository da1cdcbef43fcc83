//! Operations on their way: how far each is.

use std::sync::Arc;

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v3::{FileHandle, SetAttributes};

use crate::content::Content;
use crate::jobs::{self, Release};
use crate::nfs::{self, Wanted};
use crate::operation::{Disposition, Failure, FileKey, Reply, Tag, Ticket};

/// A path on its way to a handle.
pub(super) type Walk = nfs::Walk<FileHandle>;
/// The paths of an operation that are looked up.
pub(super) type Walks = nfs::Walks<FileHandle>;
/// Data of a file on its way.
pub(super) type Transfer = nfs::Transfer<FileHandle>;
/// The operations of a connection.
pub(super) type Jobs = jobs::Jobs<Job>;

/// Requests of one READ or WRITE operation that are on their way at once, at most.
const WINDOW: u32 = 64;

/// An operation on its way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) tag: Tag,
    /// When the next call is due, ns: the first one when the schedule says, each further one when the answer came that
    /// it waited for. `None` without a schedule.
    pub(super) intended: Option<i64>,
    pub(super) path: Symbol,
    pub(super) goal: Goal,
    /// Paths that must be walked first, in order.
    pub(super) walks: Walks,
    /// Calls that have been sent and not been answered.
    pub(super) pending: u32,
    /// The first thing that went wrong.
    pub(super) failure: Option<Failure>,
    /// Its result.
    pub(super) reply: Option<Reply>,
}

/// The main part of an operation, after its paths are walked.
#[derive(Debug)]
pub(super) enum Goal {
    /// FSINFO, to begin with, after a call for the Kerberos context.
    Connect,
    /// The end of the Kerberos context.
    Leave,
    /// Only an answer.
    Null,
    Open {
        disposition: Disposition,
        emptied: bool,
        /// Whether to make a directory.
        directory: bool,
    },
    Lookup,
    GetAttributes,
    GetAttributesOf(FileHandle),
    SetMode(u32),
    Set(FileHandle, SetAttributes),
    Access,
    List {
        cookie: u64,
        verifier: [u8; 8],
        entries: u64,
        plus: bool,
        /// Times that the server failed a piece because an entry went meanwhile.
        repeated: u32,
        /// Only some of the names are wanted.
        wanted: Option<Wanted>,
    },
    ReadLink,
    MakeDirectory,
    RemoveDirectory,
    Remove,
    Rename,
    Link,
    SymbolicLink(Box<[u8]>),
    Space,
    Read {
        transfer: Transfer,
        keep: bool,
    },
    Write {
        file: FileKey,
        transfer: Transfer,
        content: Arc<Content>,
        key: u64,
        stable: Stable,
    },
    Flush(FileKey, FileHandle),
}

impl Release for Job {
    fn release(&mut self) {
        self.goal = Goal::Null;
    }
}

impl Job {
    pub(super) fn new(ticket: &Ticket, goal: Goal) -> Self {
        let Ticket { tag, intended, path } = *ticket;
        Self { tag, intended, path, goal, walks: [None, None], pending: 0, failure: None, reply: None }
    }

    /// An answer came, and with it the cause of the next call.
    pub(super) fn due_at(&mut self, answered: i64) {
        self.intended = self.intended.map(|_| answered);
    }

    /// The walk that is not at its end.
    pub(super) fn walking(&self) -> Option<&Walk> {
        self.walks.iter().flatten().map(Box::as_ref).find(|walk| walk.part().is_some())
    }

    /// The same, to go on.
    pub(super) fn walking_mut(&mut self) -> Option<&mut Walk> {
        self.walks.iter_mut().flatten().map(Box::as_mut).find(|walk| walk.part().is_some())
    }

    /// Every handle that it makes use of.
    pub(super) fn handles(&self) -> impl Iterator<Item = &FileHandle> {
        let of_goal = match &self.goal {
            Goal::GetAttributesOf(handle) | Goal::Set(handle, _) | Goal::Flush(_, handle) => Some(handle),
            Goal::Read { transfer, .. } | Goal::Write { transfer, .. } => Some(&transfer.handle),
            _ => None,
        };
        self.walks.iter().flatten().map(|walk| &walk.handle).chain(of_goal)
    }

    /// How many calls it may have on their way at once.
    pub(super) fn window(&self) -> u32 {
        match self.goal {
            // Wanted data is passed on in order.
            Goal::Read { keep: false, .. } | Goal::Write { .. } => WINDOW,
            _ => 1,
        }
    }

    /// A request of a transfer was not executed: it is sent again.
    pub(super) fn ask_again(&mut self, offset: u64, count: u32) {
        if let Goal::Read { transfer, .. } | Goal::Write { transfer, .. } = &mut self.goal
            && count > 0
        {
            transfer.ask_again(offset, count);
        }
    }

    /// Something went wrong. Only the first counts.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// How it ended.
    pub(super) fn result(&mut self) -> Result<Reply, Failure> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(self.reply.take().unwrap_or(Reply::Nothing)),
        }
    }
}
