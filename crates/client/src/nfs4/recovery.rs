//! The stages of a recovery: after a lost connection, after a lost session, and after a restart in which the server lost the client's
//! state.
//!
//! ```text
//! lost connection ─► Bind ──────────────────────────────► Over: the same session
//!                     │ refused
//! lost session ──► Create ──────────────────────────────► Over: another session, the same state
//!                     │ refused
//!                  Identify ─► Create ─► Claim ─► Complete ─► Anew ─► Over: the state is claimed, or opened anew
//! ```
//!
//! Of several connections of a session (`trunk`) one creates the next; the others join it: Join ─► Bind ─► Claim, or Over.
//!
//! Spec: RFC 8881 2.10.13, RFC 8881 8.4.2

use plimsoll_wire::nfs::v4::{FileHandle, StateId};

use super::file::{File, Files};
use super::ranges::Range;
use crate::operation::FileKey;

/// The stages of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Binds the connection to the session.
    Bind,
    /// Waits for the next common session, or creates it.
    Join,
    /// Destroys a session whose slots are out of step.
    End,
    /// Creates another session for the same client ID.
    Create,
    /// Gets a new client ID, because the server does not know the old one.
    Identify,
    /// Reclaims the files and locks from before the restart.
    Claim,
    /// Sends RECLAIM_COMPLETE.
    Complete,
    /// Opens and locks again what could not be reclaimed.
    Anew,
    /// The recovery is complete.
    Over,
}

/// A recovery in progress.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) stage: Stage,
    /// Time at which the loss was detected, ns.
    pub(super) since: i64,
    /// Number of the lost session.
    pub(super) session: u32,
    /// The server has lost the client's state.
    pub(super) forgotten: bool,
    /// EXCHANGE_ID was sent.
    pub(super) identified: bool,
    /// The server did not know the client.
    pub(super) is_new: bool,
    /// Another connection of the client created the new session.
    pub(super) follows: bool,
    /// Files to open in this stage, in reverse order.
    files: Vec<FileKey>,
    /// Files to open anew.
    anew: Vec<FileKey>,
    /// The file that was opened last, and its ranges to lock.
    opened: Option<(FileKey, Vec<Range>)>,
    /// The file that was opened last, by an owner that must confirm it.
    pub(super) unconfirmed: Option<FileKey>,
    /// An unwanted delegation that came with it.
    pub(super) delegation: Option<(FileHandle, StateId)>,
}

/// A request of the claiming stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    /// OPEN_CONFIRM, in 4.0.
    Confirm(FileKey),
    Return(FileHandle, StateId),
    Lock(FileKey, Range),
    Open(FileKey),
}

impl Recovery {
    /// A recovery that begins with `stage`, of the session with this number.
    pub(super) fn new(stage: Stage, since: i64, session: u32, files: &Files) -> Self {
        let forgotten = matches!(stage, Stage::Claim | Stage::Anew);
        let (files, anew) = (if forgotten { open_files(files) } else { Vec::new() }, Vec::new());
        let (identified, is_new, follows) = (false, false, false);
        let (opened, unconfirmed, delegation) = (None, None, None);
        Self {
            stage,
            since,
            session,
            forgotten,
            identified,
            is_new,
            follows,
            files,
            anew,
            opened,
            unconfirmed,
            delegation,
        }
    }

    /// Starts again on another connection or with another session; some state may be reclaimed twice.
    pub(super) fn restart(&mut self, lost_connection: bool, files: &Files) {
        let claims = matches!(self.stage, Stage::Claim | Stage::Complete | Stage::Anew);
        self.forgotten |= claims;
        self.stage = if lost_connection && !self.forgotten { Stage::Bind } else { Stage::Create };
        (self.identified, self.is_new) = (false, false);
        if self.forgotten {
            self.forget(files);
        }
    }

    /// Notes that the server has lost all state.
    pub(super) fn forget(&mut self, files: &Files) {
        self.forgotten = true;
        self.files = open_files(files);
        self.anew.clear();
        (self.opened, self.unconfirmed, self.delegation) = (None, None, None);
    }

    /// Goes to the next stage if nothing is left in this one. Files may have been closed in the meantime.
    pub(super) fn step(&mut self, files: &Files) {
        let is_open = |key: &FileKey| files.get(*key).is_some_and(|file| file.open.is_some());
        if self.opened.as_ref().is_some_and(|(key, ranges)| ranges.is_empty() || !is_open(key)) {
            self.opened = None;
        }
        self.unconfirmed.take_if(|key| !is_open(key));
        while let Stage::Claim | Stage::Anew = self.stage
            && self.next().is_none_or(|next| matches!(next, Claimed::Open(key) if !is_open(&key)))
        {
            if self.files.pop().is_none() {
                self.stage = if self.stage == Stage::Claim { Stage::Complete } else { Stage::Over };
            }
        }
    }

    /// The next request in the stages for files.
    pub(super) fn next(&self) -> Option<Claimed> {
        if let Some(key) = self.unconfirmed {
            return Some(Claimed::Confirm(key));
        }
        if let Some((handle, state)) = self.delegation {
            return Some(Claimed::Return(handle, state));
        }
        if let Some((key, ranges)) = &self.opened
            && let Some(range) = ranges.last()
        {
            return Some(Claimed::Lock(*key, *range));
        }
        self.files.last().copied().map(Claimed::Open)
    }

    /// The requested file is open: its locks follow.
    pub(super) fn opened(&mut self, file: Option<&File>) {
        let Some(key) = self.files.pop() else { return };
        let mut ranges: Vec<Range> = file.into_iter().flat_map(|file| file.ranges.iter()).collect();
        ranges.reverse();
        self.opened = Some((key, ranges));
    }

    /// The requested lock was granted, or is lost.
    pub(super) fn locked(&mut self) {
        if let Some((_, ranges)) = &mut self.opened {
            ranges.pop();
        }
    }

    /// The requested file cannot be reclaimed.
    pub(super) fn not_claimed(&mut self) {
        self.anew.extend(self.files.pop());
    }

    /// No state can be reclaimed.
    pub(super) fn nothing_claimed(&mut self) {
        self.anew.append(&mut self.files);
    }

    /// The requested file is lost.
    pub(super) fn lost(&mut self) -> Option<FileKey> {
        self.files.pop()
    }

    /// The stage after the server knows the client.
    pub(super) fn with_client_id(&self) -> Stage {
        if self.forgotten { Stage::Claim } else { Stage::Over }
    }

    /// All reclaims are complete.
    pub(super) fn completed(&mut self) {
        self.files = std::mem::take(&mut self.anew);
        self.stage = Stage::Anew;
    }
}

fn open_files(files: &Files) -> Vec<FileKey> {
    files.keys().filter(|key| files.get(*key).is_some_and(|file| file.open.is_some())).collect()
}
