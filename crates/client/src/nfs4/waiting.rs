//! Jobs that wait: in order for a slot or a connection, or for the end of a pause.

use std::collections::VecDeque;

use super::job::{Job, Rest};
use crate::jobs::JobId;

/// The jobs that wait. A job is here at most once, and knows it: [`Job::waits`], [`Rest::waits`].
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Jobs that wait for a slot or a connection, and the time since which they wait, ns.
    queue: VecDeque<(JobId, i64)>,
    /// Jobs that repeat a request, and when, ns.
    resting: Vec<(i64, JobId)>,
    /// Time of a timeout that may have made room for waiting requests, which have not been sent since then, ns.
    made_room: Option<i64>,
}

impl Waiting {
    /// A job waits until operations can be sent.
    pub(super) fn hold(&mut self, id: JobId, job: &mut Job, since: i64, first: bool) {
        if job.waits || job.is_resting() {
            return;
        }
        job.waits = true;
        match first {
            true => self.queue.push_front((id, since)),
            false => self.queue.push_back((id, since)),
        }
    }

    /// Takes the job that is sent next, and the time since which it waits; only the given one, if there is one.
    pub(super) fn take_next(&mut self, only: Option<JobId>) -> Option<(JobId, i64)> {
        match only {
            None => self.queue.pop_front(),
            Some(only) => {
                let at = self.queue.iter().position(|(id, _)| *id == only)?;
                self.queue.remove(at)
            }
        }
    }

    /// That job cannot be sent yet.
    pub(super) fn put_back(&mut self, id: JobId, since: i64) {
        self.queue.push_front((id, since));
    }

    /// Number of jobs that wait for a slot or a connection.
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Takes a job that has waited since before `before` for a slot or a connection.
    pub(super) fn take_overdue(&mut self, before: i64) -> Option<JobId> {
        self.queue.pop_front_if(|(_, since)| *since < before).map(|(id, _)| id)
    }

    /// A job waits for the end of its pause.
    pub(super) fn rest(&mut self, id: JobId, rest: &mut Rest, now: i64) {
        if !std::mem::replace(&mut rest.waits, true) {
            self.resting.push((now.saturating_add(rest.pause), id));
        }
    }

    /// Takes a job whose pause is over.
    pub(super) fn take_rested(&mut self, now: i64) -> Option<JobId> {
        let at = self.resting.iter().position(|(due, _)| *due <= now)?;
        Some(self.resting.swap_remove(at).1)
    }

    /// The jobs that pause.
    pub(super) fn resting(&self) -> Vec<JobId> {
        self.resting.iter().map(|(_, id)| *id).collect()
    }

    /// A job gives its pause up.
    pub(super) fn end_rest(&mut self, id: JobId) {
        self.resting.retain(|(_, rests)| *rests != id);
    }

    /// A job ends.
    pub(super) fn remove(&mut self, id: JobId, job: &Job) {
        if job.waits {
            self.queue.retain(|(waits, _)| *waits != id);
        }
        if job.is_resting() {
            self.end_rest(id);
        }
    }

    /// All jobs end.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.resting.clear();
    }

    /// A timeout may have made room for waiting requests.
    pub(super) fn note_room(&mut self, now: i64) {
        self.made_room = Some(now);
    }

    /// The waiting requests are tried again.
    pub(super) fn use_room(&mut self) {
        self.made_room = None;
    }

    /// Time at which the next job continues, ns.
    pub(super) fn wakes_at(&self) -> i64 {
        let rested = self.resting.iter().map(|(at, _)| *at).min().unwrap_or(i64::MAX);
        rested.min(self.made_room.unwrap_or(i64::MAX))
    }

    /// Number of jobs that wait.
    pub(super) fn count(&self) -> usize {
        self.queue.len() + self.resting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::{Goal, Jobs};
    use super::*;
    use crate::operation::{Cause, Failure};

    fn rest(pause: i64) -> Rest {
        Rest { since: 0, pause, waits: false, failure: Failure::never_sent(Cause::TimedOut) }
    }

    #[test]
    fn a_job_waits_at_one_place_only() {
        let (mut jobs, mut waiting) = (Jobs::default(), Waiting::default());
        let ids = [(); 3].map(|()| jobs.add(Job::unasked(None, Goal::Renew)));
        for (id, first) in ids.into_iter().zip([false, false, true]) {
            let job = jobs.get(id).unwrap();
            waiting.hold(id, job, 7, first);
            waiting.hold(id, job, 8, true);
        }
        assert_eq!((waiting.queued(), waiting.take_overdue(7)), (3, None));
        assert_eq!(waiting.take_next(Some(ids[1])), Some((ids[1], 7)), "the only one that can be sent");
        assert_eq!(waiting.take_next(Some(ids[1])), None);
        waiting.remove(ids[2], jobs.get(ids[2]).unwrap());
        assert_eq!((waiting.take_overdue(8), waiting.count()), (Some(ids[0]), 0));
    }

    #[test]
    fn a_pause_is_begun_once_and_then_ends() {
        let (mut jobs, mut waiting) = (Jobs::default(), Waiting::default());
        let id = jobs.add(Job::unasked(None, Goal::Renew));
        let job = jobs.get(id).unwrap();
        let pausing = job.rest.insert(rest(10));
        waiting.rest(id, pausing, 100);
        waiting.rest(id, pausing, 105);
        waiting.hold(id, job, 105, true);
        assert_eq!((waiting.count(), waiting.queued(), waiting.wakes_at()), (1, 0, 110));
        assert_eq!((waiting.take_rested(109), waiting.take_rested(110)), (None, Some(id)));
        waiting.note_room(120);
        assert_eq!(waiting.wakes_at(), 120);
        waiting.use_room();
        assert_eq!(waiting.wakes_at(), i64::MAX);
    }
}
