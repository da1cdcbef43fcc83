//! Work on a file set that many slots share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_client::operation::{Cause, Failure};

use crate::scenario::Scenario;

/// Work on a file set: its scenarios, one for each slot, share it out among themselves and end when it is done.
pub trait Job: Send + Sync {
    /// The scenario of one slot. Any number of slots may work on the job.
    fn scenario(self: Arc<Self>) -> Box<dyn Scenario>;
    /// How far it is.
    fn progress(&self) -> JobProgress;
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobProgress {
    /// Directories and files done.
    pub done: u64,
    /// Directories and files that are known to need doing; grows while a removal lists what there is.
    pub total: u64,
}

/// Why a file set cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileSetError {
    /// It would be too large.
    #[error("{0}; reduce the numbers in [files] or, with shared = \"by-none\", the number of clients")]
    TooMany(String),
    /// The target did not do something.
    #[error("{doing} {}: {failure}{}", named(path), remedy(doing, path, failure))]
    Failed {
        /// The failed action.
        doing: &'static str,
        /// On what.
        path: String,
        /// What happened.
        failure: Failure,
    },
    /// Something is not as it should be.
    #[error(
        "{path} {problem}: delete the file set (--remove-files) or the directory {root}; the next run creates the files again"
    )]
    Damaged {
        /// The missing path.
        path: String,
        /// In what way.
        problem: String,
        /// The set's root.
        root: String,
    },
    /// The manifest describes another file set. No run deletes this directory, not even with `--remove-files`.
    #[error(
        "the manifest {path} does not match the name of the directory {root}: it describes another file set, or the server returned other \
        bytes than Plimsoll wrote; delete or move this directory. If the next run ends in the same way, the server does not store the \
        data (for example an export in NFS-Ganesha's MEM): use another export"
    )]
    OtherSet {
        /// The manifest.
        path: String,
        /// The set's root.
        root: String,
    },
    /// Something stands in the set's directory that Plimsoll has not made.
    #[error("{0}: unknown file in the file set; Plimsoll does not delete unknown files: move the file elsewhere")]
    Foreign(String),
    /// The server says one thing of a path and then the opposite.
    #[error("{path}: the server reports contradictory states ({said}); delete the path on the server")]
    Contradictory {
        /// The path.
        path: String,
        /// The message.
        said: &'static str,
    },
    /// The work came to its end before it was done.
    #[error("the work on the file set ended early, after {done} of {total} files and directories{}", because_of(*cause))]
    Ended {
        /// Number of finished items.
        done: u64,
        /// Number of all items.
        total: u64,
        /// Why clients could not connect again, if this ended the work.
        cause: Option<Cause>,
    },
}

impl FileSetError {
    /// The same, if clients gave up their connections because of `cause`.
    #[must_use]
    pub fn because(self, cause: Option<Cause>) -> Self {
        match self {
            Self::Ended { done, total, cause: None } => Self::Ended { done, total, cause },
            other => other,
        }
    }
}

/// The cause of an early end in words, and what to do; empty if it is unknown.
fn because_of(cause: Option<Cause>) -> String {
    let Some(cause) = cause else { return String::new() };
    let remedy = match cause {
        Cause::OutOfResources => "allow more open files (ulimit -n), or free memory",
        Cause::RefusedBySystem => "check the limits and the security rules of this machine",
        Cause::LogonRefused | Cause::ShareRefused => "check the user and the share",
        _ => "check that the server is running and reachable",
    };
    format!(": clients could not connect again ({}); {remedy}, then start the command again", cause.label())
}

/// What looking for the set in the target's directory is called.
pub(super) const LOOKING: &str = "looking for the file set in";
/// What making a file or directory is called.
pub(super) const CREATING: &str = "creating";

/// A path in words: the empty one is the target's root.
fn named(path: &str) -> &str {
    if path.is_empty() { "the root of the share or export" } else { path }
}

/// What to do about a failure, where that is known.
fn remedy(doing: &str, path: &str, failure: &Failure) -> &'static str {
    let looking = doing == LOOKING;
    match () {
        () if failure.is_read_only() => {
            "; the share or export is read-only: make it writable, or give one that is writable"
        }
        () if failure.is_denied() => {
            "; the user of the target needs permission to write here: check the permissions of the share or export and of its directory"
        }
        () if failure.is_full() => "; free space on the server, or use smaller or fewer files (--set, --clients)",
        () if looking && path.is_empty() && failure.is_without_files() => {
            "; check that the target is a share with files: IPC$ and printers have none"
        }
        () if looking && failure.is_not_there() => {
            "; create this directory on the server, or give one that exists in the target"
        }
        () if looking && failure.is_no_directory() => "; this is not a directory: give a directory in the target",
        () if doing == CREATING && failure.is_not_there() => {
            "; the server may refuse this name: check its filters of file names (on Samba, the option \"veto files\" of the share)"
        }
        () => "",
    }
}

/// State shared by the slots: claimed items, progress, and the first error.
#[derive(Debug, Default)]
pub(super) struct Tally {
    next: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
    /// Responses that brought an item nearer to its end: a large file needs many.
    answers: AtomicU64,
    stopped: AtomicBool,
    failed: Mutex<Option<FileSetError>>,
}

impl Tally {
    pub(super) fn of(total: u64) -> Self {
        Self { total: AtomicU64::new(total), ..Self::default() }
    }

    /// Claims the number of an item.
    pub(super) fn claim(&self) -> Option<u64> {
        let item = self.next.fetch_add(1, SeqCst);
        (item < self.total.load(SeqCst)).then_some(item)
    }

    pub(super) fn finished_one(&self) {
        self.done.fetch_add(1, SeqCst);
    }

    /// A slot got a response.
    pub(super) fn answered(&self) {
        self.answers.fetch_add(1, SeqCst);
    }

    pub(super) fn answers(&self) -> u64 {
        self.answers.load(SeqCst)
    }

    pub(super) fn found(&self, more: u64) {
        self.total.fetch_add(more, SeqCst);
    }

    pub(super) fn done(&self) -> u64 {
        self.done.load(SeqCst)
    }

    /// Ends it all. The first reason counts.
    pub(super) fn fail(&self, error: FileSetError) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
        self.stopped.store(true, SeqCst);
    }

    pub(super) fn stopped(&self) -> bool {
        self.stopped.load(SeqCst)
    }

    pub(super) fn progress(&self) -> JobProgress {
        JobProgress { done: self.done(), total: self.total.load(SeqCst) }
    }

    pub(super) fn outcome(&self) -> Result<(), FileSetError> {
        if let Some(error) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(error);
        }
        let JobProgress { done, total } = self.progress();
        if done < total { Err(FileSetError::Ended { done, total, cause: None }) } else { Ok(()) }
    }
}

/// A slot's limit for waiting for other slots.
#[derive(Debug, Default)]
pub(super) struct Patience {
    seen: u64,
    waits: u32,
}

/// Interval between checks of the other slots' progress, ns.
pub(super) const WAIT: u64 = 1_000_000;
/// Maximum number of checks without a response to any slot: one minute. The other slots have then ended (their clients gave up).
const MOST_WAITS: u32 = 60_000;

impl Patience {
    /// Whether to continue waiting, after so many responses to all slots.
    pub(super) fn lasts(&mut self, answers: u64) -> bool {
        self.waits = if answers == self.seen { self.waits + 1 } else { 0 };
        self.seen = answers;
        self.waits < MOST_WAITS
    }
}

/// Maximum number of attempts per item after connection failures.
const ATTEMPTS: u32 = 3;

/// Whether to try an item again that failed for the so-manieth time: only where the server said nothing about it.
pub(super) fn again(failure: &Failure, attempts: u32) -> bool {
    failure.is_lost() && attempts < ATTEMPTS
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome, Procedure, Protocol};

    use super::*;

    #[test]
    fn an_early_end_names_why_clients_gave_up() {
        let ended = FileSetError::Ended { done: 5, total: 20, cause: None };
        let said = "the work on the file set ended early, after 5 of 20 files and directories";
        assert_eq!(ended.clone().because(None).to_string(), said);
        let refused = ended.because(Some(Cause::ConnectionRefused)).to_string();
        let why = ": clients could not connect again (connection refused); check that the server is running";
        assert!(refused.starts_with(&format!("{said}{why}")), "{refused}");
        let foreign = FileSetError::Foreign("a".to_owned());
        assert_eq!(foreign.clone().because(Some(Cause::ConnectionRefused)), foreign);
    }

    #[test]
    fn a_refusal_that_has_a_known_cause_has_advice() {
        // CONNECTION_REFUSED, OBJECT_NAME_NOT_FOUND, OBJECT_PATH_NOT_FOUND, NOT_A_DIRECTORY.
        let [pipes, not_there, no_path, no_directory] = [0xC000_0236, 0xC000_0034, 0xC000_003A, 0xC000_0103];
        for (doing, path, status, advice) in [
            (LOOKING, "", pipes, Some("the root of the share or export: error status: STATUS_CONNECTION_REFUSED")),
            (LOOKING, "", pipes, Some("IPC$ and printers have none")),
            (LOOKING, "new/dir", no_path, Some("new/dir: error status: STATUS_OBJECT_PATH_NOT_FOUND")),
            (LOOKING, "new/dir", no_path, Some("create this directory on the server")),
            (LOOKING, "afile", no_directory, Some("give a directory in the target")),
            (CREATING, "set/f0", not_there, Some("\"veto files\"")),
            ("removing", "set/f0", not_there, None),
        ] {
            let failure = Failure {
                procedure: Some(Procedure::of(Protocol::Smb2, 5)),
                status: Some(status),
                outcome: Outcome::Refused,
                cause: Cause::Status,
            };
            let said = FileSetError::Failed { doing, path: path.to_owned(), failure }.to_string();
            match advice {
                Some(advice) => assert!(said.contains(advice), "{said}"),
                None => assert!(!said.contains(';'), "{said}"),
            }
        }
    }
}
