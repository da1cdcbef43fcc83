//! Operations on their way: how far each is.

use std::sync::Arc;

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v4::{FileHandle, Mask, SetAttributes, StateId};

use super::recovery::{Recovery, Stage};
use super::uncommitted::Piece;
use crate::content::Content;
use crate::nfs::{self, Facts, Release, Wanted};
use crate::operation::{Disposition, Failure, FileKey, Reply, Tag, Ticket};

/// A path on its way to a handle.
pub(super) type Walk = nfs::Walk<FileHandle>;
/// Data of a file on its way.
pub(super) type Transfer = nfs::Transfer<FileHandle>;
/// The operations of a connection.
pub(super) type Jobs = nfs::Jobs<Job>;

/// NFS4ERR_GRACE: the server has restarted, and gives out only what was there before.
pub(super) const GRACE: u32 = 10_013;

/// Requests of one READ or WRITE operation that are on their way at once, at most.
const WINDOW: u32 = 64;

/// An operation on its way.
#[derive(Debug)]
pub(super) struct Job {
    /// `None` where nobody asked: a sign of life.
    pub(super) tag: Option<Tag>,
    /// When the next call is due, ns: the first one when the schedule says, each further one when the answer came that
    /// it waited for. `None` without a schedule.
    pub(super) intended: Option<i64>,
    pub(super) path: Symbol,
    pub(super) goal: Goal,
    /// Paths that must be walked first, in order.
    pub(super) walks: [Option<Walk>; 2],
    /// Calls that have been sent and not been answered.
    pub(super) pending: u32,
    /// It waits for a slot.
    pub(super) waits: bool,
    /// The server wants to be asked again later (DELAY, GRACE, a lock that somebody has).
    pub(super) rest: Option<Rest>,
    /// A request of it may have been done before, and its answer is lost.
    pub(super) again: bool,
    /// The first thing that went wrong.
    pub(super) failure: Option<Failure>,
    /// What it brought.
    pub(super) reply: Option<Reply>,
}

/// Why and since when an operation is put off.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    /// When the first such answer came, ns.
    pub(super) since: i64,
    /// How long it waits before it asks again, ns: longer each time.
    pub(super) pause: i64,
    /// It waits now.
    pub(super) waits: bool,
    /// What became of it if it waits for too long.
    pub(super) failure: Failure,
}

/// What an operation does once its paths are walked.
#[derive(Debug)]
pub(super) enum Goal {
    Connect(Connecting),
    Leave(Leaving),
    /// A session or its state that was lost.
    Recover(Box<Recovery>),
    /// A sign of life.
    Renew,
    /// Nothing but an answer.
    Null,
    Open(Opening),
    /// A directory that is opened has no state: it is made, or looked up.
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
        /// Only some of the names are wanted.
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
    },
    Write {
        file: FileKey,
        transfer: Transfer,
        content: Arc<Content>,
        key: u64,
        stable: Stable,
    },
    /// Made durable; so often was everything written again before.
    Flush(FileKey, FileHandle, u32),
    /// What the server has lost is written again, the last piece first, and then made durable.
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
    },
    Unlock {
        file: FileKey,
        range: (u64, u64),
    },
}

/// How far a session is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connecting {
    /// It waits for the session that another connection of the client makes, or makes it.
    Join,
    /// It is bound to that session.
    Bind,
    ExchangeId,
    CreateSession,
    ReclaimComplete,
    Root,
    /// The export is looked up, then its limits are asked for.
    Limits,
}

/// What is given back last: files that are open, the session, the client's id.
#[derive(Debug)]
pub(super) enum Leaving {
    Files(Vec<(FileHandle, StateId)>),
    Session,
    Client,
}

/// How far an OPEN is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub(super) disposition: Disposition,
    /// As OPEN says it.
    pub(super) access: u32,
    /// It may be a directory: it is looked up first.
    pub(super) any: bool,
    pub(super) owner: Option<u32>,
    /// The file that was opened, and its size.
    pub(super) opened: Option<(FileHandle, StateId, u64)>,
    /// A delegation that nobody wanted goes back.
    pub(super) delegation: Option<StateId>,
    /// It is to be emptied, as OPEN does not.
    pub(super) empties: bool,
}

impl Job {
    pub(super) fn new(ticket: &Ticket, goal: Goal) -> Self {
        let Ticket { tag, intended, path } = *ticket;
        Self { intended, path, ..Self::unasked(Some(tag), goal) }
    }

    /// What nobody asked for.
    pub(super) fn unasked(tag: Option<Tag>, goal: Goal) -> Self {
        let (walks, failure, reply) = ([None, None], None, None);
        let path = Symbol::NONE;
        let (waits, again) = (false, false);
        Self { tag, intended: None, path, goal, walks, pending: 0, waits, rest: None, again, failure, reply }
    }

    /// An answer came, and with it the cause of the next call.
    pub(super) fn due_at(&mut self, answered: i64) {
        self.intended = self.intended.map(|_| answered);
    }

    /// The walk that is not at its end.
    pub(super) fn walking(&self) -> Option<&Walk> {
        self.walks.iter().flatten().find(|walk| walk.part().is_some())
    }

    /// The same, to go on.
    pub(super) fn walking_mut(&mut self) -> Option<&mut Walk> {
        self.walks.iter_mut().flatten().find(|walk| walk.part().is_some())
    }

    /// What its first path led to.
    pub(super) fn found(&self) -> Option<(FileHandle, Option<Facts>)> {
        self.walks.iter().flatten().next().map(|walk| (walk.handle, walk.attributes))
    }

    /// Every handle that it makes use of.
    pub(super) fn handles(&self) -> impl Iterator<Item = &FileHandle> {
        let of_goal = match &self.goal {
            Goal::GetAttributesOf(handle) | Goal::Set(handle, ..) | Goal::Flush(_, handle, _) => Some(handle),
            Goal::Read { transfer, .. } | Goal::Write { transfer, .. } => Some(&transfer.handle),
            _ => None,
        };
        self.walks.iter().flatten().map(|walk| &walk.handle).chain(of_goal)
    }

    /// Whether a request of it can be sent now, if there is a slot.
    pub(super) fn has_more(&self) -> bool {
        let stopped = self.failure.is_some() || self.reply.is_some() || self.waits || self.is_resting();
        let (transfer, window) = match &self.goal {
            // Data that are wanted are told of in order.
            Goal::Read { transfer, keep: true, .. } => (transfer, 1),
            Goal::Read { transfer, .. } | Goal::Write { transfer, .. } => (transfer, WINDOW),
            _ => return !stopped && self.pending == 0,
        };
        !stopped && self.pending < window && !transfer.is_over()
    }

    /// A request of a transfer was not done: it is asked again.
    pub(super) fn ask_again(&mut self, offset: u64, count: u32) {
        if let Goal::Read { transfer, .. } | Goal::Write { transfer, .. } = &mut self.goal
            && count > 0
        {
            transfer.ask_again(offset, count);
        }
    }

    /// Whether it waits before it asks again.
    pub(super) fn is_resting(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.waits)
    }

    /// Whether the server wants it to wait for the end of a grace period.
    pub(super) fn is_in_grace(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.failure.status == Some(GRACE))
    }

    /// Whether its next request is about the session itself, and takes no slot.
    pub(super) fn needs_no_slot(&self) -> bool {
        match &self.goal {
            Goal::Null
            | Goal::Connect(Connecting::Join | Connecting::Bind | Connecting::ExchangeId | Connecting::CreateSession)
            | Goal::Leave(Leaving::Session | Leaving::Client) => true,
            Goal::Recover(recovery) => {
                matches!(recovery.stage, Stage::Bind | Stage::Join | Stage::End | Stage::Create | Stage::Identify)
            }
            _ => false,
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

impl Release for Job {
    fn release(&mut self) {
        self.goal = Goal::Null;
    }
}
