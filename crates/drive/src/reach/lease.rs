//! The lease on a file set: a file beside it that says who uses it. One run at a time may, for each removes what it takes for
//! left over.
//!
//! Who makes the file has the lease (every protocol can make a file that must not be there). It is renewed on a connection of
//! its own as long as the run lives, and removed at its end. One that nobody renews counts as abandoned; so does at once
//! one whose process is known to be gone.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;
use plimsoll_client::action::{Disposition, Failure};
use plimsoll_workload::FileSet;

use super::Reached;
use super::hand::{Hand, Trouble};
use super::owner::{ABANDONED_AFTER_S, LeaseText, Owner, Use, now_s};

/// Between renewals: several may fail before the lease counts as abandoned.
const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// A lease is written at once after it was made: after this it is damaged. Who removed an abandoned one sees after this
/// whether another run did, too.
const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// Attempts to make a lease: between them others were released.
const ATTEMPTS: u32 = 4;
/// The largest lease, bytes.
const LARGEST: u32 = 4096;

/// The year 9999 ends, s since the Unix epoch: no instant behind it can be shown.
const LAST_S: u64 = 253_402_300_800;

/// A lease on a file set; given back when dropped.
#[derive(Debug)]
pub struct Lease {
    /// What there is to tell of how it was taken.
    pub note: Option<String>,
    keeper: Option<Keeper>,
}

/// Who renews it.
#[derive(Debug)]
struct Keeper {
    stop: Sender<()>,
    thread: JoinHandle<Result<(), String>>,
    /// Why it is ours no longer.
    lost: Arc<Mutex<Option<String>>>,
}

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Somebody else has it.
    #[error(
        "the file set {root} is in use by {owner}, who renewed its lease {renewed_s} s ago: two runs on it would break each other; wait for its \
         end, or give this run a set of its own with --file-set NAME (without renewal the lease counts as abandoned after \
         {ABANDONED_AFTER_S} s)"
    )]
    Held {
        /// The set.
        root: String,
        /// Who.
        owner: String,
        /// When it was renewed, s ago.
        renewed_s: u64,
    },
    /// The server cannot be reached any more.
    #[error("taking the lease {path}: {why}")]
    Failed {
        /// The lease.
        path: String,
        /// What happened.
        why: String,
    },
}

/// One who takes a lease.
struct Taking<'a> {
    server: &'a Arc<dyn Reached>,
    hand: Hand,
    owner: Owner,
    root: &'a str,
    path: String,
    timeout: Duration,
    note: Option<String>,
}

impl Lease {
    /// Takes the lease on a file set. No action on it may take longer than `timeout`. Where the server lets nobody make a file, there is
    /// no lease, and a note says so: who cannot write cannot break another's files either.
    ///
    /// # Errors
    /// Another run has it, or the server cannot be reached.
    pub fn take(server: &Arc<dyn Reached>, set: &FileSet, timeout: Duration) -> Result<Self, LeaseError> {
        let path = set.lease_path();
        let failed = |trouble| LeaseError::Failed { path: path.clone(), why: words(&trouble) };
        let hand = Hand::new(&**server, timeout).map_err(failed)?;
        let (owner, root, path) = (Owner::this(), set.root(), path.clone());
        Taking { server, hand, owner, root, path, timeout, note: None }.take()
    }

    /// Why it is ours no longer, where that happened.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        let keeper = self.keeper.as_ref()?;
        keeper.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives it back.
    ///
    /// # Errors
    /// It is still there, and why.
    pub fn release(mut self) -> Result<(), String> {
        self.end()
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(Keeper { stop, thread, .. }) = self.keeper.take() else { return Ok(()) };
        drop(stop);
        thread.join().unwrap_or_else(|_| Err("the thread that renewed it panicked".to_owned()))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Where it cannot be removed it counts as abandoned soon; who wants to know calls `release`.
        let _ = self.end();
    }
}

impl Taking<'_> {
    fn take(mut self) -> Result<Lease, LeaseError> {
        for _ in 0..ATTEMPTS {
            match self.hand.write(&self.path, &self.owner.lease(), Disposition::CreateNew) {
                Ok(()) if self.note.is_none() || self.is_still_ours()? => return Ok(self.kept()),
                Ok(()) => {}
                Err(failure) if failure.is_there() => self.look_at_theirs()?,
                Err(failure) if failure.status.is_some() => return Ok(self.without(&failure)),
                Err(failure) => return Err(self.failed(&failure)),
            }
        }
        let why = "others take it and give it back all the time".to_owned();
        Err(LeaseError::Failed { path: self.path.clone(), why })
    }

    /// Somebody else's lease is there: it is refused, or removed if it is abandoned.
    fn look_at_theirs(&mut self) -> Result<(), LeaseError> {
        let Some(text) = self.read()? else { return Ok(()) };
        let (text, lease) = match LeaseText::parse(&text) {
            Some(lease) => (text, Some(lease)),
            None => {
                // It may have been made this very moment.
                std::thread::sleep(SETTLED_AFTER);
                let Some(text) = self.read()? else { return Ok(()) };
                let lease = LeaseText::parse(&text);
                (text, lease)
            }
        };
        let why = match &lease {
            None => "which says nothing that can be read".to_owned(),
            Some(lease) => match lease.state(&self.owner, now_s()) {
                Use::Live(renewed_s) => return Err(self.held(&lease.owner, renewed_s)),
                Use::Gone => format!("of {}, which is gone", words_of(&lease.owner)),
                Use::Old(age) => {
                    self.watch(&text, lease)?;
                    format!("of {}, which was not renewed for {age} s", words_of(&lease.owner))
                }
            },
        };
        match self.hand.remove(&self.path) {
            Err(failure) if !failure.is_not_there() => return Err(self.failed(&failure)),
            _ => {}
        }
        self.note = Some(format!("took over an abandoned lease on the file set {}, {why}", self.root));
        Ok(())
    }

    /// Clocks of two computers differ: one whose owner lives is renewed while somebody looks.
    fn watch(&mut self, text: &str, lease: &LeaseText) -> Result<(), LeaseError> {
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
    fn is_still_ours(&mut self) -> Result<bool, LeaseError> {
        std::thread::sleep(SETTLED_AFTER);
        let text = self.read()?;
        Ok(text.and_then(|text| LeaseText::parse(&text)).is_some_and(|lease| lease.owner.is(&self.owner)))
    }

    fn read(&mut self) -> Result<Option<String>, LeaseError> {
        match self.hand.read(&self.path, LARGEST) {
            Ok(text) => Ok(Some(text)),
            Err(failure) if failure.is_not_there() => Ok(None),
            Err(failure) => Err(self.failed(&failure)),
        }
    }

    fn held(&self, owner: &Owner, renewed_s: u64) -> LeaseError {
        LeaseError::Held { root: self.root.to_owned(), owner: words_of(owner), renewed_s }
    }

    fn failed(&self, failure: &Failure) -> LeaseError {
        LeaseError::Failed { path: self.path.clone(), why: failure.to_string() }
    }

    /// Nothing can be made here.
    fn without(mut self, failure: &Failure) -> Lease {
        // Half of one may be there: the disk is full.
        let _ = self.hand.remove(&self.path);
        self.hand.leave();
        let note = format!("no lease on the file set {} ({failure}): nothing keeps other runs from it", self.root);
        Lease { note: Some(note), keeper: None }
    }

    fn kept(self) -> Lease {
        let Self { server, hand, owner, path, timeout, note, .. } = self;
        let (stop, stopped) = channel::<()>();
        let lost = Arc::new(Mutex::new(None));
        let mut renewing =
            Renewing { server: Arc::clone(server), hand: Some(hand), owner, path, timeout, lost: Arc::clone(&lost) };
        let thread = std::thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(RENEWED_EVERY) {
                renewing.renew();
            }
            renewing.release()
        });
        Lease { note, keeper: Some(Keeper { stop, thread, lost }) }
    }
}

/// One who keeps a lease.
struct Renewing {
    server: Arc<dyn Reached>,
    hand: Option<Hand>,
    owner: Owner,
    path: String,
    timeout: Duration,
    lost: Arc<Mutex<Option<String>>>,
}

impl Renewing {
    fn renew(&mut self) {
        if !self.is_lost() {
            // Where the server is away, so is everybody; it is tried again, and what happened meanwhile is seen then.
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
        released.map_err(|trouble| {
            let why = words(&trouble);
            format!(
                "the lease {} was not given back ({why}); it counts as abandoned after {ABANDONED_AFTER_S} s",
                self.path
            )
        })
    }

    /// Whether the lease is still ours; notes who has it else.
    fn is_ours(&self, hand: &mut Hand) -> Result<bool, Failure> {
        let theirs = match hand.read(&self.path, LARGEST) {
            Ok(text) => LeaseText::parse(&text),
            Err(failure) if failure.is_not_there() => None,
            Err(failure) => return Err(failure),
        };
        let who = match theirs {
            Some(lease) if lease.owner.is(&self.owner) => return Ok(true),
            Some(lease) => format!("{} took it over", words_of(&lease.owner)),
            None => "somebody removed it".to_owned(),
        };
        let why = format!("the lease {} on the file set was lost: {who}, and may have changed the files", self.path);
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        Ok(false)
    }

    fn is_lost(&self) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Does something on the connection that there is, or on a new one.
    fn with_hand(&mut self, act: impl Fn(&Self, &mut Hand) -> Result<(), Failure>) -> Result<(), Trouble> {
        if let Some(mut hand) = self.hand.take() {
            match act(self, &mut hand) {
                // Nobody answered: the connection is of no use any more.
                Err(failure) if failure.status.is_none() => {}
                done => {
                    self.hand = Some(hand);
                    return Ok(done?);
                }
            }
        }
        let mut hand = Hand::new(&*self.server, self.timeout)?;
        let done = act(self, &mut hand);
        self.hand = Some(hand);
        Ok(done?)
    }
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
    let since = since.map_or_else(|| "nobody knows when".to_owned(), |since| format_rfc3339_seconds(since).to_string());
    format!("process {process} on {host} since {since}")
}
