//! Requests whose connection was lost, and the queue of those that are sent again.

use std::collections::VecDeque;

use plimsoll_model::{FileIdentity, Outcome};

use super::request_context::RequestContext;
use super::shapes::{self, Shape};
use crate::calls::Call;
use crate::jobs::JobId;
use crate::operation::{Cause, Failure};
use crate::rpc::xid_of;

/// A request whose connection was lost before the response arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parted {
    pub(super) job: JobId,
    pub(super) shape: Shape,
    /// Offset and length, if it belongs to a transfer.
    pub(super) data: (u64, u32),
    pub(super) slot: Option<u32>,
    pub(super) session: u32,
    pub(super) xid: u32,
    /// Identities of the files of its handles.
    pub(super) files: [Option<FileIdentity>; 2],
    /// Time at which it was first sent, ns.
    pub(super) since: i64,
    /// At least one byte was sent.
    pub(super) sent: bool,
    /// It was sent again before, and counted.
    pub(super) resent: bool,
}

impl Parted {
    pub(super) fn of(call: &Call<RequestContext>) -> Self {
        let RequestContext { job, shape, offset, count, queued, slot, session, resent, files, .. } = call.context;
        let since = call.sent.map_or(queued, |(first, _)| first);
        let (xid, sent) = (xid_of(call.id, &call.context), call.sent.is_some());
        Self { job, shape, data: (offset, count), slot, session, xid, files, since, sent, resent }
    }

    /// A request of this job that asks whether the server has used the sequence ID of a slot.
    pub(super) fn renewal(job: JobId, slot: u32, session: u32, since: i64) -> Self {
        let (shape, data, slot, files) = (shapes::RENEWAL, (0, 0), Some(slot), [None; 2]);
        Self { job, shape, data, slot, session, xid: 0, files, since, sent: false, resent: false }
    }

    /// Whether this request of a job, which is about to be sent, is the same one.
    fn is(&self, job: JobId, shape: Shape, data: (u64, u32), files: &[Option<FileIdentity>; 2]) -> bool {
        (self.job, self.shape, self.data, &self.files) == (job, shape, data, files)
    }

    /// The failure of its operation if the request is not sent again.
    pub(super) fn failure(&self, cause: Cause) -> Failure {
        let outcome = if self.sent { Outcome::Unanswered } else { Outcome::NeverSent };
        Failure { procedure: Some(shapes::about(self.shape)), status: None, outcome, cause }
    }
}

/// The requests that are sent again, oldest first.
#[derive(Debug, Default)]
pub(super) struct Resends {
    /// Requests that were outstanding when the connection was lost, and were not sent again yet.
    due: VecDeque<Parted>,
    /// Requests that were sent again while the server may still execute the first sending, and when they are sent once more, ns.
    delayed: Vec<(i64, Parted)>,
    /// Requests that jobs will send again with their xids, in 4.0.
    retransmitted: Vec<Parted>,
}

impl Resends {
    /// The connection with these requests was lost. Requests that still waited to be sent again come after them.
    pub(super) fn part(&mut self, sent: VecDeque<Parted>) {
        let mut waited = std::mem::replace(&mut self.due, sent);
        self.due.extend(self.delayed.drain(..).map(|(_, delayed)| delayed));
        self.due.append(&mut waited);
    }

    /// A session was recovered. Its slots are sent again, first those of `asked`. Returns the other requests.
    pub(super) fn keep_slots(&mut self, session: u32, asked: Vec<Parted>) -> Vec<Parted> {
        let is_kept = |one: &Parted| one.slot.is_some() && one.session == session;
        let (same, other): (Vec<Parted>, Vec<Parted>) = std::mem::take(&mut self.due).into_iter().partition(is_kept);
        self.due.extend(asked.into_iter().chain(same));
        other
    }

    /// Another request is to be sent again.
    pub(super) fn add(&mut self, request: Parted) {
        self.due.push_back(request);
    }

    /// Takes the request that is sent again next.
    pub(super) fn take_next(&mut self) -> Option<Parted> {
        self.due.pop_front()
    }

    /// That request cannot be sent yet.
    pub(super) fn put_back(&mut self, request: Parted) {
        self.due.push_front(request);
    }

    pub(super) fn are_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// A request is sent again at this time, ns.
    pub(super) fn delay(&mut self, until: i64, request: Parted) {
        self.delayed.push((until, request));
    }

    /// Requests whose delay is over are due.
    pub(super) fn end_delays(&mut self, now: i64) {
        self.due.extend(self.delayed.extract_if(.., |(at, _)| *at <= now).map(|(_, request)| request));
    }

    /// End of the next delay, ns.
    pub(super) fn wakes_at(&self) -> i64 {
        self.delayed.iter().map(|(at, _)| *at).min().unwrap_or(i64::MAX)
    }

    /// Takes requests that were first sent before `before`, and are due.
    pub(super) fn take_overdue(&mut self, before: i64) -> Vec<Parted> {
        let (late, rest): (Vec<Parted>, Vec<Parted>) =
            std::mem::take(&mut self.due).into_iter().partition(|request| request.since < before);
        self.due = rest.into();
        late
    }

    /// Takes requests that were first sent before `before`, and are delayed.
    pub(super) fn take_overdue_delayed(&mut self, before: i64) -> Vec<Parted> {
        self.delayed.extract_if(.., |(_, request)| request.since < before).map(|(_, request)| request).collect()
    }

    /// Takes all requests.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Parted> {
        std::mem::take(&mut self.due).into_iter().chain(self.delayed.drain(..).map(|(_, delayed)| delayed))
    }

    /// Number of requests.
    pub(super) fn count(&self) -> usize {
        self.due.len() + self.delayed.len()
    }

    /// The jobs of all requests that are due will send them with the same xids.
    pub(super) fn keep_xids(&mut self) {
        self.retransmitted.extend(self.due.iter().filter(|one| one.sent).copied());
    }

    /// No request is sent with an earlier xid.
    pub(super) fn forget_xids(&mut self) {
        self.retransmitted.clear();
    }

    /// A job ends, and sends nothing again.
    pub(super) fn forget_xids_of(&mut self, job: JobId) {
        self.retransmitted.retain(|one| one.job != job);
    }

    /// Takes the earlier xid of a request that a job is about to send.
    pub(super) fn take_xid(
        &mut self,
        job: JobId,
        shape: Shape,
        data: (u64, u32),
        files: &[Option<FileIdentity>; 2],
    ) -> Option<u32> {
        let at = self.retransmitted.iter().position(|one| one.is(job, shape, data, files))?;
        Some(self.retransmitted.remove(at).xid)
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::{Goal, Job, Jobs};
    use super::*;

    fn request(slot: u32, session: u32, since: i64) -> Parted {
        Parted::renewal(Jobs::default().add(Job::unasked(None, Goal::Renew)), slot, session, since)
    }

    fn due(resends: &mut Resends) -> Vec<Option<u32>> {
        std::iter::from_fn(|| resends.take_next()).map(|request| request.slot).collect()
    }

    #[test]
    fn requests_of_the_last_connection_come_first() {
        let mut resends = Resends::default();
        resends.add(request(0, 1, 0));
        resends.delay(50, request(1, 1, 0));
        resends.part(VecDeque::from([request(2, 1, 0), request(3, 1, 0)]));
        assert_eq!((resends.count(), resends.wakes_at()), (4, i64::MAX), "no delay is left");
        assert_eq!(due(&mut resends), [2, 3, 1, 0].map(Some));
    }

    #[test]
    fn slots_of_a_lost_session_are_not_sent_again() {
        let mut resends = Resends::default();
        let slotless = Parted { slot: None, ..request(9, 2, 0) };
        resends.part(VecDeque::from([request(0, 1, 0), request(1, 2, 0), slotless]));
        let other = resends.keep_slots(2, vec![request(7, 2, 0)]);
        assert_eq!(other.iter().map(|request| request.slot).collect::<Vec<_>>(), [Some(0), None]);
        assert_eq!(due(&mut resends), [7, 1].map(Some));
    }

    #[test]
    fn a_delayed_request_is_due_at_the_end_of_its_delay_or_overdue_before() {
        let mut resends = Resends::default();
        for (until, slot, since) in [(50, 0, 30), (40, 1, 5), (60, 2, 30)] {
            resends.delay(until, request(slot, 1, since));
        }
        assert_eq!(resends.wakes_at(), 40);
        let overdue = resends.take_overdue_delayed(10);
        assert_eq!(overdue.iter().map(|request| request.slot).collect::<Vec<_>>(), [Some(1)]);
        resends.end_delays(50);
        assert_eq!((resends.are_due(), resends.wakes_at()), (true, 60));
        assert!(resends.take_overdue(30).is_empty());
        assert_eq!(resends.take_overdue(31).len(), 1);
        assert_eq!((resends.are_due(), resends.take_all().count()), (false, 1));
    }
}
