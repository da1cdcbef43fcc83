//! Continues after a lost connection: sends outstanding requests again on the next connection.
//!
//! A request without an answer may have been done. In the same session it is sent again with the slot and the number that it had, and
//! the server answers what it answered before (RFC 8881 2.10.6.2). In another session nobody can tell: it is asked anew, and a refusal
//! that only its own first sending explains counts as success. In 4.0, which has no sessions, it is sent again with the same xid.

use std::sync::atomic::Ordering::Relaxed;

use plimsoll_model::{Endpoint, FileIdentity, Outcome};
use plimsoll_wire::nfs::v4::sequence::Sequence;

use super::back_channel::UnsentReplies;
use super::client::Nfs4Client;
use super::job::{Goal, Job};
use super::parted::Parted;
use super::recovery::{Recovery, Stage};
use super::request_context::RequestContext;
use super::requests::Calling;
use super::shapes::{self, Shape};
use crate::calls::{Call, Ending};
use crate::client::Events;
use crate::nfs::JobId;
use crate::operation::{Cause, Failure, Tag};
use crate::outbox::Outbox;

impl Nfs4Client {
    /// Stores the outstanding requests; false if there is no session.
    pub(super) fn part(&mut self, at: i64, events: &mut dyn Events) -> bool {
        if self.condition.is_suspended() {
            return true;
        }
        if !self.condition.suspend(at) {
            return false;
        }
        self.outage.begin_unnoticed(at, self.connection.oldest_sent());
        let recovery = self.recovery.take();
        // Requests that still waited to be sent again come after those that were sent.
        let mut waited = std::mem::take(&mut self.parted);
        for call in self.connection.take_all() {
            self.report_parted(&call, events);
            call.what.sequenced.into_iter().for_each(|sequenced| self.owners.parted(sequenced.owner()));
            if Some(call.what.job) == recovery {
                continue;
            }
            self.parted.push_back(Parted::of(&call));
        }
        self.parted.extend(self.delayed.drain(..).map(|(_, delayed)| delayed));
        self.parted.append(&mut waited);
        if let Some(id) = recovery {
            self.interrupt(id);
        }
        true
    }

    /// Reports a row for a request that was sent and has no response. The repeated request has a separate row.
    fn report_parted(&self, call: &Call<RequestContext>, events: &mut dyn Events) {
        if call.sent.is_none() {
            return;
        }
        let ending = Ending {
            answered: None,
            status: None,
            outcome: Outcome::Unanswered,
            response_bytes: None,
            payload_bytes: None,
        };
        let operation = self.jobs.find(call.what.job).and_then(|job| job.tag);
        self.report(call, operation, None, &ending, events);
    }

    /// Interrupts a recovery, which the next connection continues.
    fn interrupt(&mut self, id: JobId) {
        let makes = std::mem::take(&mut self.makes);
        match (self.shared(), &self.trunk) {
            (Some(trunk), _) => trunk.interrupted(self.member, makes),
            (None, Some(trunk)) if makes => trunk.not_made(),
            _ => {}
        }
        let Some(mut job) = self.jobs.take(id) else { return };
        self.waiting.remove(id, &job);
        if let Goal::Recover(recovery) = std::mem::replace(&mut job.goal, Goal::Null) {
            self.interrupted = Some(recovery);
        }
        self.jobs.release(id, job);
    }

    /// Continues on another connection.
    pub(super) fn rejoin(
        &mut self,
        local: Endpoint,
        connection: u32,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        let since = self.condition.resume().unwrap_or(now);
        self.connection.moved(local, connection);
        self.unsent_replies = UnsentReplies::default();
        let recovery = match self.interrupted.take() {
            Some(mut recovery) => {
                recovery.restart(true, &self.files);
                if recovery.stage == Stage::Create && self.trunk.is_some() {
                    recovery.stage = Stage::Join;
                }
                recovery
            }
            None => Box::new(Recovery::new(Stage::Bind, since, self.session.number, &self.files)),
        };
        self.recover(recovery, Some(Tag::CONNECT), now, out, events);
    }

    /// Begins a recovery; all other jobs wait for its end.
    pub(super) fn recover(
        &mut self,
        recovery: Box<Recovery>,
        tag: Option<Tag>,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        if recovery.stage == Stage::Claim {
            self.forget_state();
        }
        let id = self.jobs.add(Job::unasked(tag, Goal::Recover(recovery)));
        self.recovery = Some(id);
        self.advance(id, now, out, events);
    }

    /// A recovery succeeded: sends the requests without a response again.
    pub(super) fn go_on(&mut self, recovery: &Recovery, now: i64, out: &mut Outbox) {
        let took = u64::try_from(now.saturating_sub(recovery.since)).unwrap_or(0);
        self.outage.recovered(now);
        let counts = &mut self.recoveries;
        counts.recovery_ns = counts.recovery_ns.max(took);
        *match (recovery.forgotten, recovery.session == self.session.number) {
            _ if recovery.follows => &mut counts.bound_again,
            (true, _) => &mut counts.restarts,
            (false, true) => &mut counts.connections,
            (false, false) => &mut counts.sessions,
        } += 1;
        // Slots of timed-out requests whose responses cannot arrive any more; whether the server used their sequence IDs is unknown.
        let rejoined = self.condition.take_rejoined();
        let lost: Vec<u32> = if rejoined { self.session.take_lost().collect() } else { Vec::new() };
        let asked: Vec<Parted> = lost.into_iter().map(|slot| self.renewal(slot, now)).collect();
        let parted = std::mem::take(&mut self.parted);
        if recovery.forgotten {
            self.lose_delegations();
            // With other state IDs they are other requests.
            self.to_retransmit.clear();
        } else if self.options.is_sessionless() {
            self.to_retransmit.extend(parted.iter().filter(|one| one.sent).copied());
        }
        let number = self.session.number;
        let (same, other): (Vec<Parted>, Vec<Parted>) =
            parted.into_iter().partition(|one| one.slot.is_some() && one.session == number);
        self.parted.extend(asked.into_iter().chain(same));
        self.send_parted(now, out);
        // They come before the jobs that already wait, in their old order.
        other.iter().rev().for_each(|one| self.ask_anew(one));
    }

    /// A request for a slot that asks whether the server has used its sequence ID.
    fn renewal(&mut self, slot: u32, now: i64) -> Parted {
        let job = self.jobs.add(Job { pending: 1, ..Job::unasked(None, Goal::Renew) });
        let (shape, session, files) = (shapes::RENEWAL, self.session.number, [None; 2]);
        Parted {
            job,
            shape,
            data: (0, 0),
            slot: Some(slot),
            session,
            xid: 0,
            files,
            since: now,
            sent: false,
            resent: false,
        }
    }

    /// Sends requests of a lost connection again, oldest first, as long as the window of the Kerberos context has room.
    pub(super) fn send_parted(&mut self, now: i64, out: &mut Outbox) {
        while self.resends()
            && self.connection.room() > 0
            && let Some(one) = self.parted.pop_front()
        {
            if self.connection.needs_context() {
                self.parted.push_front(one);
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
            self.parted.push_back(renewal);
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
    pub(super) fn resends(&self) -> bool {
        !self.condition.is_suspended() && self.recovery.is_none() && !self.parted.is_empty()
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
            true => self.recoveries.resent += u64::from(!parted.resent),
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
    fn ask_anew(&mut self, parted: &Parted) {
        let Some(mut job) = self.jobs.take(parted.job) else { return };
        job.pending = job.pending.saturating_sub(1);
        job.ask_again(parted.shape, parted.data);
        job.again |= parted.sent && shapes::is_kept(parted.shape);
        self.recoveries.asked_anew += u64::from(parted.sent);
        self.waiting.hold(parted.job, &mut job, parted.since, true);
        self.jobs.put(parted.job, job);
    }

    /// Fails operations whose requests are overdue and have no connection. The state of their slots is checked later.
    pub(super) fn fail_parted(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        let all = std::mem::take(&mut self.parted);
        let (late, rest): (Vec<Parted>, Vec<Parted>) = all.into_iter().partition(|parted| parted.since < before);
        self.parted = rest.into();
        for parted in late {
            self.fail_late(&parted, parted.failure(Cause::TimedOut), now, events);
        }
    }

    /// Fails the operation of an overdue request, which is not sent again.
    pub(super) fn fail_late(&mut self, parted: &Parted, failure: Failure, now: i64, events: &mut dyn Events) {
        let connected = !self.condition.is_suspended() && self.recovery.is_none();
        match parted.slot.filter(|_| parted.session == self.session.number) {
            // The connection works; only the window has no room yet, or the server delays the request.
            Some(slot) if connected => {
                let renewal = self.renewal(slot, now);
                self.parted.push_back(renewal);
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
        let delayed = self.delayed.drain(..).map(|(_, delayed)| delayed);
        for parted in std::mem::take(&mut self.parted).into_iter().chain(delayed) {
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
        if self.options.security.is_some() {
            return None;
        }
        let at = self.to_retransmit.iter().position(|one| one.is(job, shape, data, files))?;
        Some(self.to_retransmit.remove(at).xid)
    }

    /// Whether a job must wait for a connection or session.
    pub(super) fn holds_back(&self, job: &Job) -> bool {
        (self.condition.is_suspended() || self.recovery.is_some() || self.resends())
            && !matches!(job.goal, Goal::Recover(_))
    }

    /// A job waits for a slot.
    pub(super) fn wait_for_slot(&mut self, id: JobId, job: &mut Job, now: i64) {
        // A recovery takes the first free slot, and so does the return of a delegation.
        let first = matches!(job.goal, Goal::Recover(_) | Goal::Return(_));
        self.waiting.hold(id, job, now, first);
        self.options.slot_waits.fetch_add(1, Relaxed);
    }
}
