//! The end of a request, of an operation, and of the connection.

use plimsoll_model::Outcome;
use plimsoll_wire::smb2::create;

use super::client::{SmbClient, State};
use super::connection::RequestContext;
use super::directory_cache::Changed;
use super::jobs::{JobId, Kind};
use super::request_kind::RequestKind;
use super::waiting::{Again, Waiting};
use crate::calls::{Call, Ending};
use crate::client::Events;
use crate::operation::{Cause, Done, Failure, Tag};

impl SmbClient {
    /// Tells of a request that ended.
    pub(super) fn report(&self, channel: u32, call: &Call<RequestContext>, ending: &Ending, events: &mut dyn Events) {
        let mut transaction = self.on(channel).transaction(call, ending);
        if call.context.kind == RequestKind::Reconnect {
            transaction.outcome = transaction.outcome.of_reconnection();
        }
        events.transaction(self.jobs.find(call.context.job).map(|job| job.tag), &mut transaction);
    }

    /// Tells of a request that gets no answer any more.
    pub(super) fn report_unanswered(
        &self,
        channel: u32,
        call: &Call<RequestContext>,
        events: &mut dyn Events,
    ) -> Outcome {
        let outcome = if call.sent.is_some() { Outcome::Unanswered } else { Outcome::NeverSent };
        let ending = Ending { answered: None, status: None, outcome, response_bytes: None, payload_bytes: None };
        self.report(channel, call, &ending, events);
        outcome
    }

    /// Whether an open that just ended got an oplock or a lease.
    fn may_cache(&self, kind: &Kind) -> bool {
        let Kind::Open { opened: Some((file, _)), .. } = kind else { return false };
        let Some(open) = self.files.get(*file) else { return false };
        match open.lease {
            Some(lease) => lease.state != 0,
            None => !matches!(open.oplock, create::OPLOCK_NONE | create::OPLOCK_LEASE),
        }
    }

    /// Names in these directories change.
    pub(super) fn note_changes(&mut self, changed: &Changed) {
        if let Some(cache) = &mut self.directory_cache {
            cache.note_changes(changed);
        }
    }

    /// Ends a job that has no further request.
    pub(super) fn finish(&mut self, id: JobId, at: i64, events: &mut dyn Events) {
        let Some(mut job) = self.jobs.take(id) else { return };
        self.lease_cache.learn(&job, &self.files);
        self.note_changes(&job.changed);
        if let (Kind::List { listing, .. }, None, Some(cache)) =
            (&mut job.kind, &job.failure, &mut self.directory_cache)
            && let Some(listing) = listing.take()
        {
            cache.learn(*listing);
        }
        if let Some(durable) = &mut self.durable {
            durable.learn(&mut job, &self.files);
            if self.state == State::Ready && job.tag != Tag::CONNECT {
                match job.failure {
                    None => durable.end_outage(at),
                    Some(_) => durable.outage.recovered_at = None,
                }
            }
        }
        self.caching.1 += u64::from(self.may_cache(&job.kind));
        match job.kind {
            Kind::LogOn if job.failure.is_some() => self.end_secondary_session(),
            // Even if the server refused or did not answer, the client returns to the primary session.
            Kind::LogOff => self.end_secondary_session(),
            Kind::LeaveShare => {
                let session = &mut self.connection.session;
                session.tree = session.before.take().unwrap_or(session.tree);
            }
            _ => {}
        }
        // The logon that a reopening is a part of ends, or does not.
        if !matches!(job.kind, Kind::Reopen { .. }) {
            events.done(Done { tag: job.tag, at, result: job.result() });
        }
        self.jobs.release(id, job);
    }

    /// Ends the connection: everything fails that has not failed before.
    pub(super) fn give_up(&mut self, at: i64, cause: Cause, events: &mut dyn Events) {
        if matches!(self.state, State::Over(_)) {
            return;
        }
        self.state = State::Over(cause);
        self.durable.iter_mut().for_each(|durable| durable.end_outage(at));
        (self.logon, self.resumption) = (None, None);
        let delayed = std::mem::take(&mut self.delayed).into_iter().map(|(_, waiting)| waiting);
        for Waiting { job, again, .. } in std::mem::take(&mut self.waiting).into_iter().chain(delayed) {
            if let (Some(job), Some(Again { times: 1.., .. })) = (self.jobs.get(job), again) {
                job.fail(Failure::without_answer(cause));
            }
        }
        self.files.clear();
        self.lease_cache.clear();
        self.directory_cache.iter_mut().for_each(|cache| cache.clear());
        for channel in 0..self.connections().count() as u32 {
            for call in self.on_mut(channel).take_all() {
                self.abandon(channel, &call, cause, events);
            }
        }
        for mut job in self.jobs.drain().filter(|job| !matches!(job.kind, Kind::Reopen { .. })) {
            job.fail(Failure::never_sent(cause));
            events.done(Done { tag: job.tag, at, result: job.result() });
        }
    }

    /// A call that gets no answer any more.
    pub(super) fn abandon(&mut self, channel: u32, call: &Call<RequestContext>, cause: Cause, events: &mut dyn Events) {
        let outcome = self.report_unanswered(channel, call, events);
        if let Some(job) = self.jobs.get(call.context.job) {
            job.pending = job.pending.saturating_sub(1);
            job.fail(Failure { procedure: Some(call.procedure), status: None, outcome, cause });
        }
    }

    /// Fails an operation for which no request was sent.
    pub(super) fn refuse(tag: Tag, at: i64, cause: Cause, events: &mut dyn Events) {
        events.done(Done { tag, at, result: Err(Failure::never_sent(cause)) });
    }

    /// Fails messages that have waited for credits since before `before`.
    pub(super) fn overdue_waiting(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        let is_late = |waiting: &Waiting| waiting.since < before;
        let mut late = Vec::new();
        if self.waiting.iter().any(is_late) {
            // A transfer in front that has just sent a request waits for less time than the rest.
            let (overdue, on_time): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(is_late);
            (late, self.waiting) = (overdue, on_time.into());
        }
        let delayed = self.delayed.extract_if(.., |(_, waiting)| is_late(waiting));
        late.extend(delayed.map(|(_, waiting)| waiting));
        for Waiting { job: id, again, .. } in late {
            let Some(job) = self.jobs.get(id) else { continue };
            match again {
                None if job.has_sent_data() => job.fail(Failure::without_answer(Cause::TimedOut)),
                None => job.fail(Failure::never_sent(Cause::TimedOut)),
                Some(again) => {
                    job.pending = job.pending.saturating_sub(again.left);
                    job.fail(Failure::without_answer(Cause::TimedOut));
                }
            }
            job.queued = false;
            self.settle_without_sending(id, now, events);
        }
    }
}
