//! The lease on a file set: a file beside the set that names its user. Only one run at a time may use a set, because each run removes
//! files that it takes for leftovers.
//!
//! The run that creates the file has the lease (every protocol can create a file exclusively). A separate connection renews it during the
//! run, and it is removed at the end. A lease that is not renewed counts as abandoned after a while, and at once if its process is known
//! to have exited.

mod renewing;
mod taking;
mod words;

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use plimsoll_workload::FileSet;

use self::taking::Taking;
use self::words::not_given_back;
use super::Connector;
use super::owner::{ABANDONED_AFTER_S, OwnerId};

/// Between looks at whether it did.
const LOOKED_EVERY: Duration = Duration::from_millis(5);

/// A lease on a file set; given back when dropped.
#[derive(Debug)]
pub struct Lease {
    /// A note about how it was taken, if there is one.
    pub note: Option<String>,
    /// Who has it; `None` where the server does not allow creating files.
    owner: Option<OwnerId>,
    keeper: Option<Keeper>,
}

/// The thread that renews the lease.
#[derive(Debug)]
struct Keeper {
    stop: Sender<()>,
    thread: JoinHandle<Result<(), String>>,
    /// The lease on the server.
    path: String,
    /// Why it is ours no longer.
    lost: Arc<Mutex<Option<String>>>,
}

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another run has the lease.
    #[error(
        "the file set {root} is in use by {owner} (lease renewed {renewed_s} s ago): wait for that run to end, or choose another \
        file set with --file-set NAME. A lease expires {ABANDONED_AFTER_S} s after its last renewal"
    )]
    Held {
        /// The set.
        root: String,
        /// The other run.
        owner: String,
        /// When it was renewed, s ago.
        renewed_s: u64,
        /// The other run, which may be this one: then the set is that of another target of it.
        by: OwnerId,
    },
    /// The server's answer was unexpected.
    #[error("cannot take the file-set lease {path}: {why}")]
    Failed {
        /// The lease.
        path: String,
        /// The reason.
        why: String,
    },
    /// The server was lost, and did not come back.
    #[error(
        "cannot take the file-set lease {path}: no connection to the server for {} ({why}); check that the server is running, or raise \
        --timeout", humantime::format_duration(*timeout)
    )]
    Lost {
        /// The lease.
        path: String,
        /// The last error.
        why: String,
        /// How long it was tried.
        timeout: Duration,
    },
}

impl Lease {
    /// Takes the lease on a file set. No operation may take longer than `timeout`, and a lost server is awaited for the same time. If the
    /// server does not allow creating files, there is no lease but a note: a run that cannot write cannot damage another run's files
    /// either.
    ///
    /// # Errors
    /// Another run has the lease, or the server cannot be reached.
    pub fn take(server: &Arc<dyn Connector>, set: &FileSet, timeout: Duration) -> Result<Self, LeaseError> {
        Taking::new(server, set, timeout).take()
    }

    /// Whether it is this lease that prevented taking another.
    #[must_use]
    pub fn is_of(&self, error: &LeaseError) -> bool {
        matches!(error, LeaseError::Held { by, .. } if Some(*by) == self.owner)
    }

    /// Why it is ours no longer, where that happened.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        let keeper = self.keeper.as_ref()?;
        keeper.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives it back. `patience`: how long a server that does not answer is awaited from now on; `None` as long as its timeouts are.
    ///
    /// # Errors
    /// It is still there, and why.
    pub fn release(mut self, patience: impl Fn() -> Option<Duration>) -> Result<(), String> {
        self.end(patience)
    }

    fn end(&mut self, patience: impl Fn() -> Option<Duration>) -> Result<(), String> {
        let Some(Keeper { stop, thread, path, .. }) = self.keeper.take() else { return Ok(()) };
        drop(stop);
        let mut since = None;
        while !thread.is_finished() {
            if patience().is_some_and(|patience| since.get_or_insert_with(Instant::now).elapsed() > patience) {
                return Err(not_given_back(&path, "the server does not answer"));
            }
            std::thread::sleep(LOOKED_EVERY);
        }
        thread.join().unwrap_or_else(|_| Err(not_given_back(&path, "the thread that renews the lease crashed")))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A lease that cannot be removed soon counts as abandoned; callers that need the result call `release`.
        let _ = self.end(|| None);
    }
}
