//! The end of an operation, and of the connection.

use plimsoll_model::Outcome;

use super::client::Nfs4Client;
use super::job::{Goal, Job, LATER, Opening};
use super::request_context::RequestContext;
use super::shapes;
use crate::calls::{Call, Ending};
use crate::client::Events;
use crate::jobs::JobId;
use crate::operation::{Cause, Done, Failure, Tag};

impl Nfs4Client {
    /// Ends a job that was removed from the table.
    pub(super) fn end(&mut self, id: JobId, mut job: Box<Job>, at: i64, events: &mut dyn Events) {
        self.waiting.remove(id, &job);
        if job.failure.is_some() && job.tag.is_some_and(|tag| tag != Tag::CONNECT) {
            self.outage.failed();
        }
        // The server may still execute the request.
        job.unanswered.into_iter().for_each(|request| self.opens.owners.lose(request));
        match &job.goal {
            // The file was not opened, so the owner is free for another file.
            Goal::Open(Opening { owner: Some(owner), .. }) if job.failure.is_some() => {
                self.opens.owners.give_back(*owner)
            }
            Goal::Lock { opens: Some((owner, _)), .. } => self.opens.owners.give_back(*owner),
            Goal::Close { owner, .. } => self.opens.owners.give_back(*owner),
            Goal::Return(returning) if job.failure.is_some() => self.return_failed(returning),
            Goal::Test(_) if job.failure.as_ref().is_some_and(was_refused) => self.test_refused(),
            Goal::Recover(_) => {
                self.recovering.end();
                self.condition.end_recovery(job.failure.as_ref().map(|failure| failure.cause));
            }
            _ => {}
        }
        self.resends.forget_xids_of(id);
        let done = job.tag.map(|tag| Done { tag, at, result: job.result() });
        self.paths.end(&mut job.walks);
        self.jobs.release(id, job);
        if let Some(done) = done {
            events.done(done);
        }
    }

    /// Abandons a call that will not get a response.
    pub(super) fn abandon(&mut self, call: &Call<RequestContext>, cause: Cause, events: &mut dyn Events) {
        let outcome = if call.sent.is_some() { Outcome::Unanswered } else { Outcome::NeverSent };
        let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
        let operation = self.jobs.get(call.context.job).and_then(|job| job.tag);
        self.report(call, operation, None, &ending, events);
        call.context.owned.into_iter().for_each(|request| self.opens.owners.lose(request));
        if let Some(job) = self.jobs.get(call.context.job) {
            job.pending = job.pending.saturating_sub(1);
            job.fail(Failure { procedure: Some(shapes::about(call.context.shape)), status: None, outcome, cause });
        }
    }

    /// Ends the connection: all remaining operations fail.
    pub(super) fn give_up(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        if !self.condition.end(cause) {
            return;
        }
        self.outage.end(at);
        self.membership.end();
        for call in self.connection.take_all() {
            self.abandon(&call, cause, events);
        }
        self.fail_all_parted(cause);
        for mut job in self.jobs.drain() {
            job.fail(Failure::never_sent(cause));
            if let Some(tag) = job.tag {
                events.done(Done { tag, at, result: job.result() });
            }
        }
        self.waiting.clear();
        self.recovering.end();
    }

    pub(super) fn give_up_if_doomed(&mut self, at: i64, events: &mut dyn Events) {
        if let Some(cause) = self.condition.take_doom() {
            self.give_up(at, cause, events);
        }
    }

    /// Fails operations that have waited since before `before` for a slot or for a repeat.
    pub(super) fn fail_waiting(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        while let Some(id) = self.waiting.take_overdue(before) {
            let Some(mut job) = self.jobs.take(id) else { continue };
            job.waits = false;
            job.fail(Failure::never_sent(Cause::TimedOut));
            self.end_or_put(id, job, now, events);
        }
        for id in self.waiting.resting() {
            let Some(mut job) = self.jobs.take(id) else { continue };
            if let Some(rest) = job.rest.take_if(|rest| rest.since < before) {
                self.waiting.end_rest(id);
                job.fail(rest.failure);
            }
            self.end_or_put(id, job, now, events);
        }
    }

    pub(super) fn end_or_put(&mut self, id: JobId, job: Box<Job>, now: i64, events: &mut dyn Events) {
        match job.failure.is_some() && job.pending == 0 {
            true => self.end(id, job, now, events),
            false => self.jobs.put(id, job),
        }
    }
}

/// Whether the server refused a request for good. One that it put off until the operation timed out it may execute another time.
fn was_refused(failure: &Failure) -> bool {
    failure.status.is_some_and(|status| !LATER.contains(&status))
}
