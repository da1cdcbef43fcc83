//! Sends requests of a lost connection again, or ends their operations.
//!
//! A request without an answer may have been done. In the same session it is sent again with its slot and sequence ID, and the
//! server repeats its answer (RFC 8881 2.10.6.2). In another session the server cannot know the request: it is sent as a new one, and a
//! refusal that only its own first sending explains counts as success. In 4.0, which has no sessions, it is sent again with the same xid.

use plimsoll_model::FileIdentity;
use plimsoll_wire::nfs::v4::sequence::Sequence;

use super::client::Nfs4Client;
use super::job::{Goal, Job};
use super::parted::Parted;
use super::requests::Calling;
use super::shapes::{self, Shape};
use crate::client::Events;
use crate::jobs::JobId;
use crate::operation::{Cause, Failure};
use crate::outbox::Outbox;

impl Nfs4Client {
    /// A request for a slot that asks whether the server has used its sequence ID.
    pub(super) fn renewal(&mut self, slot: u32, now: i64) -> Parted {
        let job = self.jobs.add(Job { pending: 1, ..Job::unasked(None, Goal::Renew) });
        Parted::renewal(job, slot, self.session.number, now)
    }

    /// Sends requests of a lost connection again, oldest first, as long as the window of the Kerberos context has room.
    pub(super) fn send_parted(&mut self, now: i64, out: &mut Outbox) {
        while self.resends_first()
            && self.connection.room() > 0
            && let Some(one) = self.resends.take_next()
        {
            if self.connection.needs_context() {
                self.resends.put_back(one);
                return self.renew_context(one.job, now, out);
            }
            match one.slot.filter(|_| one.session == self.session.number) {
                Some(slot) => self.resend(&one, slot, now, out),
                None => self.ask_anew(&one),
            }
        }
    }

    /// A late response was signed in a context that was replaced, so it is unknown whether the server has used the sequence ID.
    pub(super) fn ask_about(&mut self, xid: u32, now: i64) {
        if let Some(slot) = self.session.take_lost_of(xid) {
            let renewal = self.renewal(slot, now);
            self.resends.add(renewal);
        }
    }

    /// The context has expired: asks for another one.
    fn renew_context(&mut self, id: JobId, now: i64, out: &mut Outbox) {
        let Some(mut job) = self.jobs.take(id) else { return };
        let calling = Calling { client: self, id, now, out, slot: None, resent: false, sequenced: None };
        job.pending += u32::from(calling.begin_context(&mut job));
        self.jobs.put(id, job);
    }

    /// Whether requests of a lost connection wait to be sent again on this one; new requests come after them.
    pub(super) fn resends_first(&self) -> bool {
        !self.is_interrupted() && self.resends.are_due()
    }

    /// Sends the outstanding request of a slot again.
    fn resend(&mut self, parted: &Parted, slot: u32, now: i64, out: &mut Outbox) {
        let id = parted.job;
        let Some(mut job) = self.jobs.take(id) else { return };
        job.ask_again(parted.shape, parted.data);
        let sequence: Option<Sequence> = self.session.again(slot);
        let sent = sequence.is_some()
            && Calling { client: self, id, now, out, slot: sequence, resent: true, sequenced: None }.next(&mut job);
        match sent {
            true => self.recovering.counts.resent += u64::from(!parted.resent),
            // The data of the request no longer exist, so it cannot be built again.
            false => {
                job.pending = job.pending.saturating_sub(1);
                self.session.lose(0, slot);
                self.waiting.hold(id, &mut job, now, true);
            }
        }
        self.jobs.put(id, job);
    }

    /// The session of a request is lost: its job sends it as a new request.
    pub(super) fn ask_anew(&mut self, parted: &Parted) {
        let Some(mut job) = self.jobs.take(parted.job) else { return };
        job.pending = job.pending.saturating_sub(1);
        job.ask_again(parted.shape, parted.data);
        job.again |= parted.sent && shapes::is_kept(parted.shape);
        self.recovering.counts.asked_anew += u64::from(parted.sent);
        self.waiting.hold(parted.job, &mut job, parted.since, true);
        self.jobs.put(parted.job, job);
    }

    /// Fails operations whose requests are overdue and have no connection. The state of their slots is checked later.
    pub(super) fn fail_parted(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        for parted in self.resends.take_overdue(before) {
            self.fail_late(&parted, parted.failure(Cause::TimedOut), now, events);
        }
    }

    /// Fails the operation of an overdue request, which is not sent again.
    pub(super) fn fail_late(&mut self, parted: &Parted, failure: Failure, now: i64, events: &mut dyn Events) {
        match parted.slot.filter(|_| parted.session == self.session.number) {
            // The connection works; only the window has no room yet, or the server delays the request.
            Some(slot) if !self.is_interrupted() => {
                let renewal = self.renewal(slot, now);
                self.resends.add(renewal);
            }
            Some(slot) => self.session.lose(parted.xid, slot),
            None => {}
        }
        let Some(mut job) = self.jobs.take(parted.job) else { return };
        job.pending = job.pending.saturating_sub(1);
        job.fail(failure);
        self.end_or_put(parted.job, job, now, events);
    }

    /// No further connection follows: reports that the sent requests have no response.
    pub(super) fn fail_all_parted(&mut self, cause: Cause) {
        for parted in self.resends.take_all() {
            if let Some(job) = self.jobs.get(parted.job) {
                job.fail(parted.failure(cause));
            }
        }
    }

    /// The xid that a request had on a lost connection, if it is sent again. A server without sessions knows the request by it, and
    /// answers what it answered before (RFC 7530 3.1.1).
    pub(super) fn take_earlier_xid(
        &mut self,
        job: JobId,
        shape: Shape,
        data: (u64, u32),
        files: &[Option<FileIdentity>; 2],
    ) -> Option<u32> {
        // With Kerberos it has another sequence number, and is not the same message.
        if self.options.security.is_some() { None } else { self.resends.take_xid(job, shape, data, files) }
    }
}
