//! Renews a lease, and removes it at the end of the run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_client::operation::{Disposition, Failure};

use super::words::{not_given_back, words, words_of};
use crate::connect::Connector;
use crate::connect::control_client::{ControlClient, Trouble};
use crate::connect::owner::{LeaseText, Owner};

/// Between renewals: several may fail before the lease counts as abandoned.
pub(super) const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// The largest lease, bytes.
pub(super) const LARGEST: u32 = 4096;

/// State of the renewal thread.
pub(super) struct Renewing {
    pub(super) server: Arc<dyn Connector>,
    pub(super) hand: Option<ControlClient>,
    pub(super) owner: Owner,
    pub(super) path: String,
    pub(super) timeout: Duration,
    pub(super) lost: Arc<Mutex<Option<String>>>,
}

impl Renewing {
    pub(super) fn renew(&mut self) {
        if !self.is_lost() {
            // While the server is down, no other run can reach it either; the next attempt sees changes made meanwhile.
            let _ = self.with_hand(|this, hand| {
                if this.is_ours(hand)? {
                    hand.write(&this.path, &this.owner.lease(), Disposition::Open)?;
                }
                Ok(())
            });
        }
    }

    pub(super) fn release(&mut self) -> Result<(), String> {
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
                // No answer, or no session: the connection is unusable.
                Err(failure) if failure.status.is_none() || failure.is_lost() => {}
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
