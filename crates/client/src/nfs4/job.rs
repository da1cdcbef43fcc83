//! Operations in progress.

use std::sync::Arc;

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::status::{NFS4ERR_DELAY, NFS4ERR_GRACE};
use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v4::{FileHandle, Mask, SetAttributes, StateId};

use super::delegations::Returning;
use super::owners::OwnerRequest;
use super::recovery::{Recovery, Stage};
use super::shapes::{self, Shape};
use super::uncommitted::Piece;
use crate::content::Content;
use crate::jobs::{self, Release};
use crate::nfs::{self, Facts, Wanted};
use crate::operation::{Disposition, Failure, FileKey, Reply, Tag, Ticket};

/// A path that is being looked up.
pub(super) type Walk = nfs::Walk<FileHandle>;
/// The paths of an operation that are looked up.
pub(super) type Walks = nfs::Walks<FileHandle>;
/// A transfer of file data in progress.
pub(super) type Transfer = nfs::Transfer<FileHandle>;
/// The operations of a connection.
pub(super) type Jobs = jobs::Jobs<Job>;

/// Repeat the request later. GRACE: the server has restarted, and accepts only reclaims of earlier state.
pub(super) const LATER: [u32; 2] = [NFS4ERR_DELAY, NFS4ERR_GRACE];

/// Maximum number of outstanding requests of one READ or WRITE operation.
const WINDOW: u32 = 64;

/// An operation in progress.
#[derive(Debug)]
pub(super) struct Job {
    /// `None` for a job of the client itself, such as renewing the lease.
    pub(super) tag: Option<Tag>,
    /// Due time of the next call, ns: for the first call the scheduled time; for each further call the time of the response that it waited
    /// for. `None` without a schedule.
    pub(super) intended: Option<i64>,
    pub(super) path: Symbol,
    pub(super) goal: Goal,
    /// Paths to look up first, in order.
    pub(super) walks: Walks,
    /// Number of outstanding calls.
    pub(super) pending: u32,
    /// It waits for a slot.
    pub(super) waits: bool,
    /// The server asked for a repeat later (DELAY, GRACE, or a lock of another owner).
    pub(super) rest: Option<Rest>,
    /// The server may have executed one of its requests before, and the response is lost.
    pub(super) again: bool,
    /// Its request of an owner that was sent over a lost connection, in 4.0: only this job may send it again.
    pub(super) unanswered: Option<OwnerRequest>,
    /// The first failure.
    pub(super) failure: Option<Failure>,
    /// The result so far.
    pub(super) reply: Option<Reply>,
}

/// Reason and start of a delay.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    /// Time of the first such response, ns.
    pub(super) since: i64,
    /// Pause before the next repeat, ns; doubled after each repeat.
    pub(super) pause: i64,
    /// It is waiting now.
    pub(super) waits: bool,
    /// The failure that is reported if it waits too long.
    pub(super) failure: Failure,
}

/// The goal of an operation after its paths have been looked up.
#[derive(Debug)]
pub(super) enum Goal {
    Connect(Connecting),
    Leave(Leaving),
    /// Recovers a lost session or lost state.
    Recover(Box<Recovery>),
    /// Renews the lease.
    Renew,
    /// Returns a delegation.
    Return(Returning),
    /// Tests delegations, because the server has revoked some.
    Test(Box<[(FileHandle, StateId)]>),
    /// An empty request.
    Null,
    Open(Opening),
    /// An open directory has no state: the directory is created, or looked up.
    OpenDirectory {
        makes: bool,
    },
    Close {
        handle: FileHandle,
        state: StateId,
        owner: u32,
        lost: bool,
    },
    Lookup,
    GetAttributes,
    GetAttributesOf(FileHandle),
    SetMode(u32),
    Set(FileHandle, FileKey, SetAttributes),
    Access,
    List {
        cookie: u64,
        verifier: [u8; 8],
        entries: u64,
        attributes: Mask,
        /// If only some of the names are requested.
        wanted: Option<Wanted>,
    },
    ReadLink,
    MakeDirectory,
    /// A file, or an empty directory: NFSv4 has one operation for both.
    Remove,
    Rename,
    Link,
    SymbolicLink(Box<[u8]>),
    Space,
    Read {
        file: FileKey,
        transfer: Transfer,
        keep: bool,
        /// By READ_PLUS.
        plus: bool,
    },
    Write {
        file: FileKey,
        transfer: Transfer,
        content: Arc<Content>,
        key: u64,
        stable: Stable,
    },
    /// Makes data durable. The number counts repeats of lost writes.
    Flush(FileKey, FileHandle, u32),
    /// Repeats writes that the server has lost, last piece first, and then commits them.
    Rewrite {
        file: FileKey,
        handle: FileHandle,
        pieces: Vec<Piece>,
        times: u32,
    },
    Lock {
        file: FileKey,
        exclusive: bool,
        waits: bool,
        range: (u64, u64),
        /// The open that the file still needs, because it was opened under a delegation: owner and file handle.
        opens: Option<(u32, FileHandle)>,
    },
    Unlock {
        file: FileKey,
        range: (u64, u64),
    },
    /// Copies or clones a file on the server.
    Copy(Box<Copying>),
    /// Offset and length; a search has no length.
    OnRange {
        file: FileKey,
        handle: FileHandle,
        range: (u64, u64),
        what: OnRange,
    },
}

impl Goal {
    /// The files whose opens it uses.
    pub(super) fn files(&self) -> [Option<FileKey>; 2] {
        match *self {
            Self::Read { file, .. }
            | Self::Write { file, .. }
            | Self::Flush(file, ..)
            | Self::Rewrite { file, .. }
            | Self::Set(_, file, _)
            | Self::OnRange { file, .. } => [Some(file), None],
            Self::Copy(ref copying) => [copying.from.0, copying.to.0].map(Some),
            _ => [None; 2],
        }
    }
}

/// A copy on the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copying {
    pub(super) from: (FileKey, FileHandle),
    pub(super) to: (FileKey, FileHandle),
    /// Bytes that were copied.
    pub(super) done: u64,
    pub(super) length: u64,
    pub(super) clones: bool,
}

impl Copying {
    /// Bytes that are not copied yet.
    pub(super) fn left(&self) -> u64 {
        self.length.saturating_sub(self.done)
    }
}

/// An operation of 4.2 on a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnRange {
    Allocate,
    Deallocate,
    SeekData,
    SeekHole,
}

/// Stages of setting up a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connecting {
    /// Creates the session, or waits for another connection of the client to create it.
    Join,
    /// Binds the connection to that session.
    Bind,
    ExchangeId,
    CreateSession,
    ReclaimComplete,
    Root,
    /// Looks up the export, then queries its limits.
    Limits,
}

/// Steps of leaving: return delegations, close open files. With sessions also: destroy the session, destroy the client ID.
#[derive(Debug)]
pub(super) enum Leaving {
    Delegations(Vec<(FileHandle, StateId)>),
    Files(Vec<(FileHandle, StateId, u32)>),
    Session,
    Client,
    /// Ends the Kerberos context.
    Context,
}

/// State of an OPEN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub(super) disposition: Disposition,
    /// Access as OPEN encodes it.
    pub(super) access: u32,
    /// The path may be a directory, so look it up first.
    pub(super) any: bool,
    pub(super) owner: Option<u32>,
    /// The file that was opened, and its size.
    pub(super) opened: Option<(FileHandle, StateId, u64)>,
    /// The server asks for OPEN_CONFIRM, in 4.0.
    pub(super) unconfirmed: bool,
    /// An unwanted delegation that must be returned.
    pub(super) delegation: Option<StateId>,
    /// A wanted one.
    pub(super) granted: Option<StateId>,
    /// The file must be truncated, which this OPEN does not do.
    pub(super) empties: bool,
}

impl Job {
    pub(super) fn new(ticket: &Ticket, goal: Goal) -> Self {
        let Ticket { tag, intended, path } = *ticket;
        Self { intended, path, ..Self::unasked(Some(tag), goal) }
    }

    /// A job of the client itself.
    pub(super) fn unasked(tag: Option<Tag>, goal: Goal) -> Self {
        let (walks, failure, reply, unanswered) = ([None, None], None, None, None);
        let path = Symbol::NONE;
        let (waits, again, rest) = (false, false, None);
        Self { tag, intended: None, path, goal, walks, pending: 0, waits, rest, again, unanswered, failure, reply }
    }

    /// Notes that a response arrived, which makes the next call due.
    pub(super) fn due_at(&mut self, answered: i64) {
        self.intended = self.intended.map(|_| answered);
    }

    /// The first path whose lookup is incomplete.
    pub(super) fn walking(&self) -> Option<&Walk> {
        self.walks.iter().flatten().map(Box::as_ref).find(|walk| walk.part().is_some())
    }

    /// The same path, mutable.
    pub(super) fn walking_mut(&mut self) -> Option<&mut Walk> {
        self.walks.iter_mut().flatten().map(Box::as_mut).find(|walk| walk.part().is_some())
    }

    /// Handle and attributes at the end of its first path.
    pub(super) fn found(&self) -> Option<(FileHandle, Option<Facts>)> {
        self.walks.iter().flatten().next().map(|walk| (walk.handle, walk.attributes))
    }

    /// All handles that it uses.
    pub(super) fn handles(&self) -> impl Iterator<Item = &FileHandle> {
        let of_goal = match &self.goal {
            Goal::GetAttributesOf(handle) | Goal::Set(handle, ..) | Goal::Flush(_, handle, _) => Some(handle),
            Goal::Read { transfer, .. } | Goal::Write { transfer, .. } => Some(&transfer.handle),
            Goal::OnRange { handle, .. } => Some(handle),
            Goal::Copy(copying) => Some(&copying.from.1),
            _ => None,
        };
        let second = if let Goal::Copy(copying) = &self.goal { Some(&copying.to.1) } else { None };
        self.walks.iter().flatten().map(|walk| &walk.handle).chain(of_goal).chain(second)
    }

    /// Whether it has a request to send, if a slot is free.
    pub(super) fn has_more(&self) -> bool {
        let stopped = self.failure.is_some() || self.reply.is_some() || self.waits || self.is_resting();
        let (transfer, window) = match &self.goal {
            // Data for the caller must be reported in order.
            Goal::Read { transfer, keep: true, .. } => (transfer, 1),
            Goal::Read { transfer, .. } | Goal::Write { transfer, .. } => (transfer, WINDOW),
            _ => return !stopped && self.pending == 0,
        };
        !stopped && self.pending < window && !transfer.is_over()
    }

    /// Repeats a request that was not executed: a transfer asks for the same bytes again, even if there are none. (NULL asks for a Kerberos
    /// context, and belongs to no transfer.)
    pub(super) fn ask_again(&mut self, shape: Shape, (offset, count): (u64, u32)) {
        if let Goal::Read { transfer, .. } | Goal::Write { transfer, .. } = &mut self.goal
            && shape != shapes::NULL
        {
            transfer.ask_again(offset, count);
        }
    }

    /// Whether it pauses before a repeat.
    pub(super) fn is_resting(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.waits)
    }

    /// Whether its next request is about the session itself, and needs no slot.
    pub(super) fn needs_no_slot(&self) -> bool {
        match &self.goal {
            Goal::Null
            | Goal::Connect(Connecting::Join | Connecting::Bind | Connecting::ExchangeId | Connecting::CreateSession)
            | Goal::Leave(Leaving::Session | Leaving::Client | Leaving::Context) => true,
            Goal::Recover(recovery) => {
                matches!(recovery.stage, Stage::Bind | Stage::Join | Stage::End | Stage::Create | Stage::Identify)
            }
            _ => false,
        }
    }

    /// Notes a failure. Only the first failure counts.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// The result of the job.
    pub(super) fn result(&mut self) -> Result<Reply, Failure> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(self.reply.take().unwrap_or(Reply::Nothing)),
        }
    }
}

impl Release for Job {
    fn release(&mut self) {
        self.goal = Goal::Null;
    }
}
