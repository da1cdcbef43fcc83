//! Takes a lease: creates it, and removes another run's if that is abandoned.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plimsoll_client::operation::{Disposition, Failure};
use plimsoll_workload::FileSet;

use super::renewing::{LARGEST, RENEWED_EVERY, Renewing};
use super::words::{words, words_of};
use super::{Keeper, Lease, LeaseError};
use crate::connect::Connector;
use crate::connect::control_client::ControlClient;
use crate::connect::owner::{LeaseText, Owner, Use, now_s};

/// A lease file is written immediately after it was created: an incomplete file after this time is damaged. A run that removed an
/// abandoned lease waits this long, then checks whether another run did the same.
const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// Attempts to create a lease: each fails if another run's lease was released just before.
const ATTEMPTS: u32 = 4;
/// Between attempts to reach a server that was lost.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Why there is no lease yet.
enum Stop {
    /// The connection failed, which a server that restarts mends: why.
    Lost(String),
    /// Retries are pointless.
    For(LeaseError),
}

/// State while taking a lease.
pub(super) struct Taking<'a> {
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

impl<'a> Taking<'a> {
    pub(super) fn new(server: &'a Arc<dyn Connector>, set: &'a FileSet, timeout: Duration) -> Self {
        let (owner, root, path) = (Owner::this(), set.root(), set.lease_path());
        let (hand, note, removed_another, perhaps_ours) = (None, None, false, false);
        Self { server, hand, owner, root, path, timeout, note, removed_another, perhaps_ours }
    }

    pub(super) fn take(mut self) -> Result<Lease, LeaseError> {
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
        let written = self.hand()?.write(&path, &text, Disposition::Create);
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
        let (root, by) = (self.root.to_owned(), owner.id());
        Stop::For(LeaseError::Held { root, owner: words_of(owner), renewed_s, by })
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
        Lease { note: Some(note), owner: None, keeper: None }
    }

    fn into_lease(self) -> Lease {
        let Self { server, hand, owner, path, timeout, note, .. } = self;
        let (stop, stopped) = channel::<()>();
        let lost = Arc::new(Mutex::new(None));
        let (known, id) = (path.clone(), owner.id());
        let mut renewing = Renewing { server: Arc::clone(server), hand, owner, path, timeout, lost: Arc::clone(&lost) };
        let thread = std::thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(RENEWED_EVERY) {
                renewing.renew();
            }
            renewing.release()
        });
        Lease { note, owner: Some(id), keeper: Some(Keeper { stop, thread, path: known, lost }) }
    }
}
