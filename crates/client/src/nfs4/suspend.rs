//! Continues after a lost connection: recovers the session on the next connection, and then sends outstanding requests again.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

use plimsoll_model::{Endpoint, Outcome};

use super::back_channel::UnsentReplies;
use super::client::Nfs4Client;
use super::job::{Goal, Job};
use super::parted::Parted;
use super::recovery::{Recovery, Stage};
use super::request_context::RequestContext;
use crate::calls::{Call, Ending};
use crate::client::Events;
use crate::jobs::JobId;
use crate::operation::Tag;
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
        let recovery = self.recovering.end();
        let mut sent = VecDeque::new();
        for call in self.connection.take_all() {
            self.report_parted(&call, events);
            if Some(call.context.job) == recovery {
                call.context.owned.into_iter().for_each(|request| self.opens.owners.parted(request));
                continue;
            }
            self.part_owner(&call);
            sent.push_back(Parted::of(&call));
        }
        self.resends.part(sent);
        if let Some(id) = recovery {
            self.interrupt(id);
        }
        true
    }

    /// The connection with a request of an owner was lost. The server may have executed the request, and repeats its response to whatever
    /// has the same sequence ID. So the owner remains busy for all jobs but the one that sends it again.
    fn part_owner(&mut self, call: &Call<RequestContext>) {
        let Some(request) = call.context.owned else { return };
        match self.jobs.get(call.context.job) {
            Some(job) if job.unanswered.is_some() || call.sent.is_some() => job.unanswered = Some(request),
            _ => self.opens.owners.parted(request),
        }
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
        let operation = self.jobs.find(call.context.job).and_then(|job| job.tag);
        self.report(call, operation, None, &ending, events);
    }

    /// Interrupts a recovery, which the next connection continues.
    fn interrupt(&mut self, id: JobId) {
        self.membership.interrupted();
        let Some(mut job) = self.jobs.take(id) else { return };
        self.waiting.remove(id, &job);
        if let Goal::Recover(recovery) = std::mem::replace(&mut job.goal, Goal::Null) {
            self.recovering.interrupt(recovery);
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
        let recovery = match self.recovering.take_interrupted() {
            Some(mut recovery) => {
                recovery.restart(true, &self.opens.files);
                if recovery.stage == Stage::Create && !self.membership.is_alone() {
                    recovery.stage = Stage::Join;
                }
                recovery
            }
            None => Box::new(Recovery::new(Stage::Bind, since, self.session.number, &self.opens.files)),
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
        if matches!(recovery.stage, Stage::Claim | Stage::Anew) {
            self.forget_state();
        }
        let id = self.jobs.add(Job::unasked(tag, Goal::Recover(recovery)));
        self.recovering.begin(id);
        self.advance(id, now, out, events);
    }

    /// A recovery succeeded: sends the requests without a response again.
    pub(super) fn go_on(&mut self, recovery: &Recovery, now: i64, out: &mut Outbox) {
        self.outage.recovered(now);
        self.recovering.succeeded(recovery, self.session.number, now);
        // Slots of timed-out requests whose responses cannot arrive any more; whether the server used their sequence IDs is unknown.
        let rejoined = self.condition.take_rejoined();
        let lost: Vec<u32> = if rejoined { self.session.take_lost().collect() } else { Vec::new() };
        let asked: Vec<Parted> = lost.into_iter().map(|slot| self.renewal(slot, now)).collect();
        if recovery.forgotten {
            self.lose_delegations();
            // With other state IDs they are other requests.
            self.resends.forget_xids();
        } else if self.options.is_sessionless() {
            self.resends.keep_xids();
        }
        let other = self.resends.keep_slots(self.session.number, asked);
        if recovery.forgotten {
            self.opens.owners.end_doubts();
            let forgotten = other.iter().filter_map(|one| self.jobs.get(one.job)?.unanswered.take());
            forgotten.for_each(|request| self.opens.owners.parted(request));
        }
        self.send_parted(now, out);
        // They come before the jobs that already wait, in their old order.
        other.iter().rev().for_each(|one| self.ask_anew(one));
    }

    /// Whether the server has lost the open of a file that is to be read or written. A request with the anonymous state ID might succeed,
    /// but it would not belong to the open file.
    pub(super) fn lacks_open(&self, goal: &Goal) -> bool {
        self.recovering.has_lost_opens() && goal.files().into_iter().flatten().any(|file| self.opens.is_lost(file))
    }

    /// Whether a job must wait for a connection or session.
    pub(super) fn holds_back(&self, job: &Job) -> bool {
        (self.is_interrupted() || self.resends.are_due()) && !matches!(job.goal, Goal::Recover(_))
    }

    /// Whether there is no connection, or no session on it yet.
    pub(super) fn is_interrupted(&self) -> bool {
        self.condition.is_suspended() || self.recovering.runs()
    }

    pub(super) fn wait_for_slot(&mut self, id: JobId, job: &mut Job, now: i64) {
        // A recovery takes the first free slot, and so does the return of a delegation.
        let first = matches!(job.goal, Goal::Recover(_) | Goal::Return(_));
        self.waiting.hold(id, job, now, first);
        self.options.slot_waits.fetch_add(1, Relaxed);
    }
}
