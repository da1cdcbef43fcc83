//! Jobs that wait: in order for a slot or a connection, or for the end of a pause.

use std::collections::VecDeque;

use super::job::{Job, Rest};
use crate::nfs::JobId;

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
