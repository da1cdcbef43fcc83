//! The lease on a file set: a file beside the set that names its user. Only one run at a time may use a set, because each run removes
//! files that it takes for leftovers.
//!
//! The run that creates the file has the lease (every protocol can create a file exclusively). A separate connection renews it during the
//! run, and it is removed at the end. A lease that is not renewed counts as abandoned after a while, and at once if its process is known
//! to have exited.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;
use plimsoll_client::operation::{Disposition, Failure};
use plimsoll_workload::FileSet;

use super::Connector;
use super::control_client::{ControlClient, Trouble};
use super::owner::{ABANDONED_AFTER_S, LeaseText, Owner, Use, now_s};

/// Between renewals: several may fail before the lease counts as abandoned.
const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// A lease file is written immediately after it was created: an incomplete file after this time is damaged. A run that removed an
/// abandoned lease waits this long, then checks whether another run did the same.
const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// Attempts to create a lease: each fails if another run's lease was released just before.
const ATTEMPTS: u32 = 4;
/// Between attempts to reach a server that was lost.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// How long a server has to take a lease back when the user no longer waits.
const HURRIED: Duration = Duration::from_millis(500);
/// Between looks at whether it did.
const LOOKED_EVERY: Duration = Duration::from_millis(5);
/// The largest lease, bytes.
const LARGEST: u32 = 4096;

/// The year 9999 ends, s since the Unix epoch: no instant behind it can be shown.
const LAST_S: u64 = 253_402_300_800;

/// A lease on a file set; given back when dropped.
#[derive(Debug)]
pub struct Lease {
    /// A note about how it was taken, if there is one.
    pub note: Option<String>,
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

/// Why there is no lease yet.
enum Stop {
    /// The connection failed, which a server that restarts mends: why.
    Lost(String),
    /// Retries are pointless.
    For(LeaseError),
}

/// State while taking a lease.
struct Taking<'a> {
    server: &'a Arc<dyn Connector>,
    /// `None` before the first connection, and after one was lost.
    hand: Option<ControlClient>,
    owner: Owner,
    root: &'a str,
    path: String,
    timeout: Duration,
    note: Option<String>,
    /// Another run's abandoned lease was removed; a third run may have removed it too.
    removed_another: bool,
    /// The connection was lost while the lease was created: an incomplete file may be this run's.
    perhaps_ours: bool,
}

/// Holder of the lease after an attempt.
enum Attempt {
    Ours,
    /// The server does not allow creating files, for this reason.
    Nobody(Failure),
    /// Try again: another run's lease is gone or was removed, or another run replaced ours.
    Again,
}

impl Lease {
    /// Takes the lease on a file set. No operation may take longer than `timeout`, and a lost server is awaited for the same time. If the
    /// server does not allow creating files, there is no lease but a note: a run that cannot write cannot damage another run's files
    /// either.
    ///
    /// # Errors
    /// Another run has the lease, or the server cannot be reached.
    pub fn take(server: &Arc<dyn Connector>, set: &FileSet, timeout: Duration) -> Result<Self, LeaseError> {
        let (owner, root, path) = (Owner::this(), set.root(), set.lease_path());
        let (hand, note, removed_another, perhaps_ours) = (None, None, false, false);
        Taking { server, hand, owner, root, path, timeout, note, removed_another, perhaps_ours }.take()
    }

    /// Why it is ours no longer, where that happened.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        let keeper = self.keeper.as_ref()?;
        keeper.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives it back. Once the user is `hurried`, a server that does not answer has little time left to do so.
    ///
    /// # Errors
    /// It is still there, and why.
    pub fn release(mut self, hurried: impl Fn() -> bool) -> Result<(), String> {
        self.end(hurried)
    }

    fn end(&mut self, hurried: impl Fn() -> bool) -> Result<(), String> {
        let Some(Keeper { stop, thread, path, .. }) = self.keeper.take() else { return Ok(()) };
        drop(stop);
        let mut since = None;
        while !thread.is_finished() {
            if hurried() && since.get_or_insert_with(Instant::now).elapsed() > HURRIED {
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
        let _ = self.end(|| false);
    }
}

impl Taking<'_> {
    fn take(mut self) -> Result<Lease, LeaseError> {
        let begun = Instant::now();
        let mut attempts = 0;
        while attempts < ATTEMPTS {
            match self.attempt() {
                Ok(Attempt::Ours) => return Ok(self.into_lease()),
                Ok(Attempt::Nobody(failure)) => return Ok(self.without(&failure)),
                Ok(Attempt::Again) => attempts += 1,
                Err(Stop::For(error)) => return Err(error),
                Err(Stop::Lost(why)) => {
                    self.hand = None;
                    if begun.elapsed() >= self.timeout {
                        return Err(LeaseError::Lost { path: self.path, why, timeout: self.timeout });
                    }
                    std::thread::sleep(RETRY_AFTER);
                }
            }
        }
        let why = "other runs keep taking and releasing the lease; try again later".to_owned();
        Err(LeaseError::Failed { path: self.path, why })
    }

    fn attempt(&mut self) -> Result<Attempt, Stop> {
        let (path, text) = (self.path.clone(), self.owner.lease());
        let written = self.hand()?.write(&path, &text, Disposition::CreateNew);
        match written {
            Ok(()) if !self.removed_another || self.is_still_ours()? => Ok(Attempt::Ours),
            Ok(()) => Ok(Attempt::Again),
            Err(failure) if failure.is_there() => self.look_at_theirs(),
            Err(failure) if failure.status.is_some() => Ok(Attempt::Nobody(failure)),
            Err(failure) => {
                self.perhaps_ours = true;
                Err(self.stop(&failure))
            }
        }
    }

    /// The connection that there is, or a new one.
    fn hand(&mut self) -> Result<&mut ControlClient, Stop> {
        match &mut self.hand {
            Some(hand) => Ok(hand),
            none => match ControlClient::new(&**self.server, self.timeout) {
                Ok(hand) => Ok(none.insert(hand)),
                Err(trouble) if trouble.is_lost() => Err(Stop::Lost(words(&trouble))),
                Err(trouble) => Err(Stop::For(LeaseError::Failed { path: self.path.clone(), why: words(&trouble) })),
            },
        }
    }

    /// Another run's lease exists: refuses it, or removes it if it is abandoned.
    fn look_at_theirs(&mut self) -> Result<Attempt, Stop> {
        let Some(text) = self.read()? else { return Ok(Attempt::Again) };
        let (text, lease) = match LeaseText::parse(&text) {
            Some(lease) => (text, Some(lease)),
            None => {
                // It may have been made this very moment.
                std::thread::sleep(SETTLED_AFTER);
                let Some(text) = self.read()? else { return Ok(Attempt::Again) };
                let lease = LeaseText::parse(&text);
                (text, lease)
            }
        };
        let why = match &lease {
            // The connection was lost before the answer came.
            Some(lease) if lease.owner.is(&self.owner) => return Ok(Attempt::Ours),
            None => "the lease file is unreadable".to_owned(),
            Some(lease) => match lease.state(&self.owner, now_s()) {
                Use::Live(renewed_s) => return Err(self.held(&lease.owner, renewed_s)),
                Use::Gone => format!("the owner, {}, has exited", words_of(&lease.owner)),
                Use::Old(age) => {
                    self.watch(&text, lease)?;
                    format!("the owner, {}, did not renew the lease for {age} s", words_of(&lease.owner))
                }
            },
        };
        let path = self.path.clone();
        match self.hand()?.remove(&path) {
            Err(failure) if !failure.is_not_there() => return Err(self.stop(&failure)),
            _ => self.removed_another = true,
        }
        // This run's own incomplete file is not an abandoned lease of another run.
        if lease.is_some() || !self.perhaps_ours {
            self.note = Some(format!("took over an abandoned lease on the file set {}: {why}", self.root));
        }
        Ok(Attempt::Again)
    }

    /// Clocks of two computers differ, so this waits for a renewal: the lease of a live owner changes meanwhile.
    fn watch(&mut self, text: &str, lease: &LeaseText) -> Result<(), Stop> {
        if lease.owner.is_at_home(&self.owner) {
            return Ok(());
        }
        std::thread::sleep(RENEWED_EVERY + 2 * SETTLED_AFTER);
        match self.read()? {
            Some(now) if now != text => Err(self.held(&lease.owner, 0)),
            _ => Ok(()),
        }
    }

    /// Another run may have found the same abandoned lease, and removed ours for it.
    fn is_still_ours(&mut self) -> Result<bool, Stop> {
        std::thread::sleep(SETTLED_AFTER);
        let text = self.read()?;
        Ok(text.and_then(|text| LeaseText::parse(&text)).is_some_and(|lease| lease.owner.is(&self.owner)))
    }

    fn read(&mut self) -> Result<Option<String>, Stop> {
        let path = self.path.clone();
        match self.hand()?.read(&path, LARGEST) {
            Ok(text) => Ok(Some(text)),
            Err(failure) if failure.is_not_there() => Ok(None),
            Err(failure) => Err(self.stop(&failure)),
        }
    }

    fn held(&self, owner: &Owner, renewed_s: u64) -> Stop {
        Stop::For(LeaseError::Held { root: self.root.to_owned(), owner: words_of(owner), renewed_s })
    }

    fn stop(&self, failure: &Failure) -> Stop {
        let why = failure.to_string();
        match failure.is_lost() {
            true => Stop::Lost(why),
            false => Stop::For(LeaseError::Failed { path: self.path.clone(), why }),
        }
    }

    /// Nothing can be made here.
    fn without(mut self, failure: &Failure) -> Lease {
        if let Some(mut hand) = self.hand.take() {
            // Half of one may be there: the disk is full.
            let _ = hand.remove(&self.path);
            hand.leave();
        }
        let note =
            format!("no lease on the file set {} ({failure}): use the file set in only one run at a time", self.root);
        Lease { note: Some(note), keeper: None }
    }

    fn into_lease(self) -> Lease {
        let Self { server, hand, owner, path, timeout, note, .. } = self;
        let (stop, stopped) = channel::<()>();
        let lost = Arc::new(Mutex::new(None));
        let known = path.clone();
        let mut renewing = Renewing { server: Arc::clone(server), hand, owner, path, timeout, lost: Arc::clone(&lost) };
        let thread = std::thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(RENEWED_EVERY) {
                renewing.renew();
            }
            renewing.release()
        });
        Lease { note, keeper: Some(Keeper { stop, thread, path: known, lost }) }
    }
}

/// State of the renewal thread.
struct Renewing {
    server: Arc<dyn Connector>,
    hand: Option<ControlClient>,
    owner: Owner,
    path: String,
    timeout: Duration,
    lost: Arc<Mutex<Option<String>>>,
}

impl Renewing {
    fn renew(&mut self) {
        if !self.is_lost() {
            // While the server is down, no other run can reach it either; the next attempt sees changes made meanwhile.
            let _ = self.with_hand(|this, hand| {
                if this.is_ours(hand)? {
                    hand.write(&this.path, &this.owner.lease(), Disposition::OpenExisting)?;
                }
                Ok(())
            });
        }
    }

    fn release(&mut self) -> Result<(), String> {
        if self.is_lost() {
            return Ok(());
        }
        let released = self.with_hand(|this, hand| if this.is_ours(hand)? { hand.remove(&this.path) } else { Ok(()) });
        if let Some(hand) = self.hand.take() {
            hand.leave();
        }
        released.map_err(|trouble| not_given_back(&self.path, &words(&trouble)))
    }

    /// Whether the lease is still this run's; notes the new owner if not.
    fn is_ours(&self, hand: &mut ControlClient) -> Result<bool, Failure> {
        let theirs = match hand.read(&self.path, LARGEST) {
            Ok(text) => LeaseText::parse(&text),
            Err(failure) if failure.is_not_there() => None,
            Err(failure) => return Err(failure),
        };
        let who = match theirs {
            Some(lease) if lease.owner.is(&self.owner) => return Ok(true),
            Some(lease) => format!("{} took over the lease", words_of(&lease.owner)),
            None => "the lease file was deleted or is unreadable".to_owned(),
        };
        let why = format!("the file-set lease {} was lost: {who}; other runs may have changed the files", self.path);
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        Ok(false)
    }

    fn is_lost(&self) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Does something on the connection that there is, or on a new one.
    fn with_hand(&mut self, act: impl Fn(&Self, &mut ControlClient) -> Result<(), Failure>) -> Result<(), Trouble> {
        if let Some(mut hand) = self.hand.take() {
            match act(self, &mut hand) {
                // No answer: the connection is unusable.
                Err(failure) if failure.status.is_none() => {}
                done => {
                    self.hand = Some(hand);
                    return Ok(done?);
                }
            }
        }
        let mut hand = ControlClient::new(&*self.server, self.timeout)?;
        let done = act(self, &mut hand);
        self.hand = Some(hand);
        Ok(done?)
    }
}

fn not_given_back(path: &str, why: &str) -> String {
    format!(
        "cannot release the file-set lease {path} ({why}); the lease expires {ABANDONED_AFTER_S} s after its last renewal"
    )
}

fn words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Connection(error) => error.to_string(),
        Trouble::Failed(failure) => failure.to_string(),
    }
}

fn words_of(owner: &Owner) -> String {
    let Owner { host, process, taken_s, .. } = owner;
    let since = UNIX_EPOCH.checked_add(Duration::from_secs(*taken_s)).filter(|_| *taken_s < LAST_S);
    let since = since.map_or_else(|| "an unknown time".to_owned(), |since| format_rfc3339_seconds(since).to_string());
    format!("process {process} on {host} since {since}")
}
