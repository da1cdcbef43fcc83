//! What is asked for again where a connection was lost, where the server does not know the session any more, or where it has restarted
//! and forgotten what was open: how far that is.
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

/// What is asked for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The connection becomes one of the session's.
    Bind,
    /// The next session of several connections: it is made, or another connection makes it.
    Join,
    /// A session whose slots are out of step is ended.
    End,
    /// Another session for the same client.
    Create,
    /// The client's id, which the server does not know any more.
    Identify,
    /// What was open and locked before the server restarted.
    Claim,
    /// Nothing more is claimed.
    Complete,
    /// What could not be claimed is opened and locked as if it had never been.
    Anew,
    /// Nothing.
    Over,
}

/// A recovery on its way.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) stage: Stage,
    /// When the loss was noticed, ns.
    pub(super) since: i64,
    /// The number of the session then.
    pub(super) session: u32,
    /// The server has forgotten the client's state.
    pub(super) forgotten: bool,
    /// The server was asked for the client's id.
    pub(super) identified: bool,
    /// The server did not know it.
    pub(super) is_new: bool,
    /// Another connection of the client made the session that this one goes on in.
    pub(super) follows: bool,
    /// Files that are to be opened in this stage, the next one last.
    files: Vec<FileKey>,
    /// Files that are to be opened anew.
    anew: Vec<FileKey>,
    /// The file that was opened last, and what is to be locked of it.
    opened: Option<(FileKey, Vec<Range>)>,
    /// A delegation that came with it and nobody wants.
    pub(super) delegation: Option<(FileHandle, StateId)>,
}

/// What is to be asked for of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    Return(FileHandle, StateId),
    Lock(FileKey, Range),
    Open(FileKey),
}

impl Recovery {
    /// One that begins with `stage`, of the session with this number.
    pub(super) fn new(stage: Stage, since: i64, session: u32, files: &Files) -> Self {
        let forgotten = matches!(stage, Stage::Claim | Stage::Anew);
        let (files, anew) = (if forgotten { open_files(files) } else { Vec::new() }, Vec::new());
        let (identified, is_new, follows, opened, delegation) = (false, false, false, None, None);
        Self { stage, since, session, forgotten, identified, is_new, follows, files, anew, opened, delegation }
    }

    /// It begins again, on another connection or with another session: what was claimed may be claimed twice.
    pub(super) fn restart(&mut self, lost_connection: bool, files: &Files) {
        let claims = matches!(self.stage, Stage::Claim | Stage::Complete | Stage::Anew);
        self.forgotten |= claims;
        self.stage = if lost_connection && !self.forgotten { Stage::Bind } else { Stage::Create };
        (self.identified, self.is_new) = (false, false);
        if self.forgotten {
            self.forget(files);
        }
    }

    /// The server has forgotten all state.
    pub(super) fn forget(&mut self, files: &Files) {
        self.forgotten = true;
        self.files = open_files(files);
        self.anew.clear();
        (self.opened, self.delegation) = (None, None);
    }

    /// Goes on where nothing is left to be asked for in this stage. Files may have been closed meanwhile.
    pub(super) fn step(&mut self, files: &Files) {
        let is_open = |key: &FileKey| files.get(*key).is_some_and(|file| file.open.is_some());
        if self.opened.as_ref().is_some_and(|(key, ranges)| ranges.is_empty() || !is_open(key)) {
            self.opened = None;
        }
        while let Stage::Claim | Stage::Anew = self.stage
            && self.next().is_none_or(|next| matches!(next, Claimed::Open(key) if !is_open(&key)))
        {
            if self.files.pop().is_none() {
                self.stage = if self.stage == Stage::Claim { Stage::Complete } else { Stage::Over };
            }
        }
    }

    /// What is asked for next, in the stages in which files are.
    pub(super) fn next(&self) -> Option<Claimed> {
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

    /// The file that was asked for is open: its locks follow.
    pub(super) fn opened(&mut self, file: Option<&File>) {
        let Some(key) = self.files.pop() else { return };
        let mut ranges: Vec<Range> = file.into_iter().flat_map(|file| file.ranges.iter()).collect();
        ranges.reverse();
        self.opened = Some((key, ranges));
    }

    /// The lock that was asked for was granted, or is lost.
    pub(super) fn locked(&mut self) {
        if let Some((_, ranges)) = &mut self.opened {
            ranges.pop();
        }
    }

    /// The file that was asked for cannot be claimed.
    pub(super) fn not_claimed(&mut self) {
        self.anew.extend(self.files.pop());
    }

    /// Nothing can be claimed.
    pub(super) fn nothing_claimed(&mut self) {
        self.anew.append(&mut self.files);
    }

    /// The file that was asked for is lost.
    pub(super) fn lost(&mut self) -> Option<FileKey> {
        self.files.pop()
    }

    /// All was claimed that can be.
    pub(super) fn completed(&mut self) {
        self.files = std::mem::take(&mut self.anew);
        self.stage = Stage::Anew;
    }
}

fn open_files(files: &Files) -> Vec<FileKey> {
    files.keys().filter(|key| files.get(*key).is_some_and(|file| file.open.is_some())).collect()
}
