//! Messages that are sent at once, or wait for credits.
//!
//! Spec: MS-SMB2 3.2.4.1.2

use plimsoll_model::Symbol;
use plimsoll_wire::smb2::{FileId, close, echo};

use super::client::{SmbClient, Waiting};
use super::connection::{Outgoing, Owner, Protection};
use super::jobs::{JobId, never_sent};
use super::request_kind::RequestKind;
use crate::client::Events;
use crate::operation::Cause;
use crate::outbox::Outbox;

impl SmbClient {
    /// Sends the message that was built, or lets it wait for credits.
    pub(in crate::smb2) fn submit(&mut self, job: JobId, now: i64, out: &mut Outbox) {
        if self.waiting.is_empty() && self.outgoing.charge() <= self.connection.credits.available() {
            self.launch(job, Protection::Usual, now, out);
        } else {
            let outgoing = Some(Box::new(std::mem::take(&mut self.outgoing)));
            self.waiting.push_back(Waiting { job, since: now, outgoing });
        }
    }

    /// Sends what waits, as far as there are credits for it.
    pub(in crate::smb2) fn pump(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        while let Some(Waiting { job, outgoing, .. }) = self.waiting.front_mut() {
            let job = *job;
            let Some(waiting) = outgoing else {
                if self.next_chunks(job, now, out) {
                    self.waiting.pop_front();
                    continue;
                }
                if !self.connection.is_idle() || !self.probe_or_fail_first(job, now, out, events) {
                    return;
                }
                continue;
            };
            if waiting.charge() <= self.connection.credits.available() {
                std::mem::swap(&mut self.outgoing, waiting);
                self.waiting.pop_front();
                self.launch(job, Protection::Usual, now, out);
            } else if !self.connection.is_idle() || !self.probe_or_fail_first(job, now, out, events) {
                return;
            }
        }
    }

    /// The first that waits needs more credits than there will be: asks once for more with an ECHO, and then fails it.
    /// Returns whether it is gone.
    fn probe_or_fail_first(&mut self, job: JobId, now: i64, out: &mut Outbox, events: &mut dyn Events) -> bool {
        if !self.credit_probe_sent && self.connection.credits.available() > 0 {
            self.credit_probe_sent = true;
            self.outgoing.clear();
            if self.outgoing.add(RequestKind::Echo, &echo::Echo).is_ok() {
                self.launch(JobId::NONE, Protection::Usual, now, out);
                return false;
            }
        }
        self.waiting.pop_front();
        if let Some(found) = self.jobs.get(job) {
            found.fail(never_sent(None, Cause::TooFewCredits));
            self.finish(job, now, events);
        }
        true
    }

    /// Closes a file that no operation wants any more, as soon as there is an occasion.
    pub(in crate::smb2) fn close_later(&mut self, file: FileId, now: i64) {
        let mut outgoing = Outgoing::default();
        if outgoing.add(RequestKind::Close, &close::Close { file, attributes: false }).is_ok() {
            self.waiting.push_back(Waiting { job: JobId::NONE, since: now, outgoing: Some(Box::new(outgoing)) });
        }
    }

    /// Sends the message that was built, whether there are credits or not. Returns the place of its first header in the outbox.
    pub(super) fn launch(&mut self, job: JobId, protection: Protection, now: i64, out: &mut Outbox) -> usize {
        let owner = match self.jobs.get(job) {
            Some(found) => {
                found.pending += self.outgoing.members.len() as u32;
                let (intended, path, file) = (found.intended, found.path, found.file);
                Owner { job, intended, path, file, keep: found.keeps_data() }
            }
            None => Owner { job, intended: None, path: Symbol::NONE, file: None, keep: false },
        };
        self.connection.send(&self.outgoing, &owner, protection, now, out)
    }

    /// Closes a file of which no operation needs to know.
    pub(super) fn close(&mut self, file: FileId, now: i64, out: &mut Outbox) {
        self.outgoing.clear();
        // It has no variable part that could be too long.
        if self.outgoing.add(RequestKind::Close, &close::Close { file, attributes: false }).is_ok() {
            self.submit(JobId::NONE, now, out);
        }
    }
}
