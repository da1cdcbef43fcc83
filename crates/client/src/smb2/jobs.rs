//! Operations in progress.

use std::sync::Arc;

use plimsoll_model::{FileIdentity, Outcome, Symbol};
use plimsoll_wire::smb2::query_directory::Class;
use plimsoll_wire::smb2::{FileId, create};

use super::connection::Outgoing;
use super::directory_cache::{Changed, Listing};
use super::durable::Reopening;
use super::transfer::Transfer;
use crate::content::Content;
use crate::jobs::Release;
use crate::operation::{Access, Cause, Failure, FileKey, Reply, Tag, Ticket};

pub(super) use crate::jobs::JobId;

/// The operations of a connection.
pub(super) type Jobs = crate::jobs::Jobs<Job>;

/// An operation in progress.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) tag: Tag,
    /// Due time of the next request, ns: for the first request the scheduled time; for each further request the time of the response that
    /// it waited for. `None` without a schedule.
    pub(super) intended: Option<i64>,
    pub(super) path: Symbol,
    /// The file that its requests are about.
    pub(super) file: Option<FileIdentity>,
    pub(super) kind: Kind,
    /// Requests that have been sent and not been answered.
    pub(super) pending: u32,
    /// The message that opened its directory, should that have to be opened again.
    pub(super) opening: Option<Box<Outgoing>>,
    /// It waits for credits, to send more of a transfer.
    pub(super) queued: bool,
    /// The directories whose names it changes.
    pub(super) changed: Changed,
    /// The caching rights that breaks of its lease have left before the response of its open, which may grant more.
    pub(super) unbroken: u32,
    /// The first thing that went wrong.
    pub(super) failure: Option<Failure>,
}

/// The kind of an operation, and its state.
#[derive(Debug)]
pub(super) enum Kind {
    /// Logging on.
    Connect,
    /// Logging off.
    Leave,
    /// Binding another connection to the session.
    Bind,
    /// One message whose responses contain no further data.
    Plain,
    /// Reconnects a file after a lost connection.
    Reopen { file: FileId },
    /// Logging on once more.
    LogOn,
    /// Disconnects a secondary share; its end does not depend on the server's response.
    LeaveShare,
    /// Logs a secondary session off, in the same way.
    LogOff,
    /// Opens a file; a key is present after success.
    Open {
        lease: Option<[u8; 16]>,
        readable: bool,
        /// Path and access of a file that is to stay open under its lease.
        keeps: Option<(Box<str>, Access)>,
        /// How it is opened again, of a file that is to have a durable handle.
        reopening: Option<Box<Reopening>>,
        opened: Option<(FileKey, u64)>,
    },
    /// Reading.
    Read { transfer: Transfer, keep: bool },
    /// Writing.
    Write { transfer: Transfer, content: Arc<Content>, key: u64, flags: u32 },
    /// Asking for a file's size, and whether it is a directory.
    Attributes { found: Option<(u64, bool)> },
    /// Asking for the file system's size and free bytes.
    Space { found: Option<(u64, u64)> },
    /// Listing. `nameless` counts responses that contained only the directory itself and its parent.
    List { directory: Directory, entries: u64, nameless: u8, listing: Option<Box<Listing>> },
    /// Looking for names in a directory.
    Find { class: Class, entries: u64 },
    /// Waiting for a change.
    Watch { directory: Directory },
    /// Copying in the server.
    Copy { copy: Copying },
}

/// A directory that is opened, used and closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directory {
    /// Being opened.
    Opening,
    /// In use.
    Open(FileId),
    /// Used, and to be closed.
    Used(FileId),
    /// Being closed, or never open.
    Closed,
}

impl Directory {
    /// The handle was used for the last time.
    pub(super) fn used(&mut self) {
        *self = self.file().map_or(Directory::Closed, Directory::Used);
    }

    /// The handle, until it is closed.
    pub(super) fn file(self) -> Option<FileId> {
        match self {
            Directory::Open(file) | Directory::Used(file) => Some(file),
            Directory::Opening | Directory::Closed => None,
        }
    }
}

/// Bytes of SRV_REQUEST_RESUME_KEY's output: key, ContextLength, and room for a Context.
pub(super) const RESUME_KEY_OUTPUT: u32 = 32;

/// A copy in the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copying {
    pub(super) from: FileId,
    pub(super) to: FileId,
    pub(super) to_file: Option<FileIdentity>,
    pub(super) to_readable: bool,
    /// Resume key of the source file, once known.
    pub(super) resume_key: Option<[u8; 24]>,
    pub(super) done: u64,
    pub(super) length: u64,
}

/// All caching rights of a lease.
pub(super) const ALL_RIGHTS: u32 = create::LEASE_READ | create::LEASE_HANDLE | create::LEASE_WRITE;

impl Job {
    pub(super) fn new(ticket: &Ticket, kind: Kind) -> Self {
        let Ticket { tag, intended, path } = *ticket;
        let (file, opening, changed, failure) = (None, None, Changed::Nothing, None);
        let (pending, queued, unbroken) = (0, false, ALL_RIGHTS);
        Self { tag, intended, path, file, kind, pending, opening, queued, changed, unbroken, failure }
    }

    /// The same, about this file.
    pub(super) fn about(self, file: Option<FileIdentity>) -> Self {
        Self { file, ..self }
    }

    /// An answer came, and with it the cause of the next request.
    pub(super) fn due_at(&mut self, answered: i64) {
        self.intended = self.intended.map(|_| answered);
    }

    /// Whether the data of its reads are wanted.
    pub(super) fn keeps_data(&self) -> bool {
        matches!(self.kind, Kind::Read { keep: true, .. })
    }

    /// Whether it is a transfer of which a part was sent.
    pub(super) fn has_sent_data(&self) -> bool {
        match &self.kind {
            Kind::Read { transfer, .. } | Kind::Write { transfer, .. } => transfer.is_begun(),
            _ => false,
        }
    }

    /// Something went wrong. Only the first counts.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// The key of the lease that its open asks for, until the server has answered.
    fn requested_lease(&self) -> Option<[u8; 16]> {
        let key = match &self.kind {
            Kind::Open { lease, opened: None, .. } => *lease,
            Kind::List { directory: Directory::Opening, listing: Some(listing), .. } => listing.key,
            _ => None,
        };
        key.filter(|_| self.pending > 0)
    }

    /// How it ended.
    pub(super) fn result(&mut self) -> Result<Reply, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        Ok(match self.kind {
            Kind::Connect
            | Kind::Leave
            | Kind::Bind
            | Kind::Reopen { .. }
            | Kind::LogOn
            | Kind::LeaveShare
            | Kind::LogOff => Reply::Nothing,
            Kind::Plain | Kind::Watch { .. } => Reply::Nothing,
            Kind::Open { opened, .. } => {
                opened.map(|(file, size)| Reply::Opened { file, size: Some(size) }).ok_or(UNFINISHED)?
            }
            Kind::Read { ref transfer, .. } => Reply::Read { bytes: transfer.moved },
            Kind::Write { ref transfer, .. } => Reply::Written { bytes: transfer.moved },
            Kind::Attributes { found } => {
                found.map(|(size, directory)| Reply::Attributes { size, directory }).ok_or(UNFINISHED)?
            }
            Kind::Space { found } => found.map(|(total, free)| Reply::Space { total, free }).ok_or(UNFINISHED)?,
            Kind::List { entries, .. } | Kind::Find { entries, .. } => Reply::Listed { entries },
            Kind::Copy { copy } => Reply::Written { bytes: u32::try_from(copy.done).unwrap_or(u32::MAX) },
        })
    }
}

/// All responses were successful, but the expected result is missing.
const UNFINISHED: Failure =
    Failure { procedure: None, status: None, outcome: Outcome::Failed, cause: Cause::Malformed };

impl Release for Job {
    fn release(&mut self) {
        (self.kind, self.opening) = (Kind::Plain, None);
    }
}

impl Jobs {
    /// The server broke a lease, and these rights remain: opens with this lease whose response has not come yet get no more. Returns the
    /// rights that this removes from them; `None` if there are no such opens.
    pub(super) fn break_lease(&mut self, lease: create::Lease) -> Option<u32> {
        let opens = self.iter_mut().filter(|job| job.requested_lease() == Some(lease.key));
        let removed = opens.map(|job| {
            let before = job.unbroken;
            job.unbroken &= lease.state;
            before & !lease.state
        });
        removed.reduce(|all, some| all | some)
    }

    /// Whether an operation lists a directory for which it has asked for this lease.
    pub(super) fn lists_under(&self, key: [u8; 16]) -> bool {
        let lists = |job: &Job| matches!(&job.kind, Kind::List { listing: Some(list), .. } if list.key == Some(key));
        self.iter().any(lists)
    }
}
