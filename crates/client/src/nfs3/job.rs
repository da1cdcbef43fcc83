//! Operations on their way: how far each is.

use std::ops::Range;
use std::sync::Arc;

use plimsoll_model::{Outcome, Procedure, Symbol};
use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v3::{Attributes, FileHandle, SetAttributes};

use super::transfer::Transfer;
use crate::content::Content;
use crate::operation::{Cause, Disposition, Failure, FileKey, Reply, Tag, Ticket};

/// Requests of one READ or WRITE operation that are on their way at once, at most.
const WINDOW: u32 = 64;

/// An operation, as the client numbers it while it is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobId(u32);

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
    pub(super) walks: [Option<Walk>; 2],
    /// Calls that have been sent and not been answered.
    pub(super) pending: u32,
    /// The first thing that went wrong.
    pub(super) failure: Option<Failure>,
    /// What it brought.
    pub(super) reply: Option<Reply>,
}

/// What an operation does once its paths are walked.
#[derive(Debug)]
pub(super) enum Goal {
    /// FSINFO, to begin with.
    Connect,
    /// Nothing but an answer.
    Null,
    Open {
        disposition: Disposition,
        emptied: bool,
        /// What is made is a directory.
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

/// Names that are wanted, and how many there were.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) pattern: Box<str>,
    pub(super) found: u64,
}

/// A path on its way to a handle.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) path: String,
    /// The whole path is looked up; else its last part is left out, for it is to be made or removed.
    pub(super) whole: bool,
    /// Bytes of the path that are behind.
    at: usize,
    /// Their handle.
    pub(super) handle: FileHandle,
    /// What the last LOOKUP said of it.
    pub(super) attributes: Option<Attributes>,
}

impl Walk {
    /// A walk from `at` bytes on, whose handle is known.
    pub(super) fn new(path: String, whole: bool, at: usize, handle: FileHandle) -> Self {
        Self { path, whole, at, handle, attributes: None }
    }

    /// The part to look up next; `None` at the end.
    pub(super) fn part(&self) -> Option<Range<usize>> {
        let rest = self.path.get(self.at..)?;
        let start = self.at + usize::from(rest.starts_with('/'));
        let rest = self.path.get(start..)?;
        let end = rest.find('/').map_or(self.path.len(), |length| start + length);
        let last = end == self.path.len();
        (start < end && (self.whole || !last)).then_some(start..end)
    }

    /// A part was found. Returns the path up to it.
    pub(super) fn found(&mut self, end: usize, handle: FileHandle, attributes: Option<Attributes>) -> &str {
        self.at = end;
        self.handle = handle;
        self.attributes = attributes;
        self.path.get(..end).unwrap_or_default()
    }

    /// The last part: what is to be made or removed in the directory that was walked to.
    pub(super) fn name(&self) -> &[u8] {
        self.path.rsplit('/').next().unwrap_or_default().as_bytes()
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
        self.walks.iter().flatten().find(|walk| walk.part().is_some())
    }

    /// The same, to go on.
    pub(super) fn walking_mut(&mut self) -> Option<&mut Walk> {
        self.walks.iter_mut().flatten().find(|walk| walk.part().is_some())
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
            // Data that are wanted are told of in order.
            Goal::Read { keep: false, .. } | Goal::Write { .. } => WINDOW,
            _ => 1,
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

/// An operation that was never sent.
pub(super) fn never_sent(procedure: Option<Procedure>, cause: Cause) -> Failure {
    Failure { procedure, status: None, outcome: Outcome::NeverSent, cause }
}

/// The operations of a connection. Places are used again, and so is the memory of jobs, which are too large to be moved
/// around.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    places: Vec<Option<Box<Job>>>,
    free: Vec<u32>,
    #[expect(clippy::vec_box, reason = "the boxes themselves are what is kept")]
    spare: Vec<Box<Job>>,
}

/// Jobs whose memory is kept, at most.
const SPARE: usize = 16;

impl Jobs {
    pub(super) fn add(&mut self, job: Job) -> JobId {
        let job = match self.spare.pop() {
            Some(mut spare) => {
                *spare = job;
                spare
            }
            None => Box::new(job),
        };
        if let Some(place) = self.free.pop()
            && let Some(slot) = self.places.get_mut(place as usize)
        {
            *slot = Some(job);
            return JobId(place);
        }
        self.places.push(Some(job));
        // Callers have as many operations on their way as they have slots: far fewer than 4 billion.
        JobId((self.places.len() - 1) as u32)
    }

    pub(super) fn get(&mut self, id: JobId) -> Option<&mut Job> {
        self.places.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// Takes a job out for a while; [`Jobs::put`] or [`Jobs::release`] must follow.
    pub(super) fn take(&mut self, id: JobId) -> Option<Box<Job>> {
        self.places.get_mut(id.0 as usize)?.take()
    }

    /// Puts it back.
    pub(super) fn put(&mut self, id: JobId, job: Box<Job>) {
        if let Some(place) = self.places.get_mut(id.0 as usize) {
            *place = Some(job);
        }
    }

    /// A job that was taken out is over: its place is free.
    pub(super) fn release(&mut self, id: JobId, mut job: Box<Job>) {
        self.free.push(id.0);
        if self.spare.len() < SPARE {
            // What it held is let go of now, not when it is used again.
            job.goal = Goal::Null;
            self.spare.push(job);
        }
    }

    /// Takes all of them out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Box<Job>> + use<> {
        self.free.clear();
        std::mem::take(&mut self.places).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str, whole: bool) -> Vec<String> {
        let handle = FileHandle::new(&[1]).unwrap();
        let mut walk = Walk::new(path.to_owned(), whole, 0, handle);
        let mut parts = Vec::new();
        while let Some(part) = walk.part() {
            parts.push(path[part.clone()].to_owned());
            walk.found(part.end, handle, None);
        }
        parts
    }

    #[test]
    fn a_path_is_walked_part_by_part() {
        assert_eq!(parts("a/bc/d", true), ["a", "bc", "d"]);
        assert_eq!(parts("a/bc/d", false), ["a", "bc"]);
        assert_eq!((parts("", true).len(), parts("x", false).len()), (0, 0));
        let walk = Walk::new("a/bc/d".to_owned(), false, 1, FileHandle::new(&[1]).unwrap());
        assert_eq!((walk.part(), walk.name()), (Some(2..4), &b"d"[..]));
    }
}
