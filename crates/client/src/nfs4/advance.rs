//! Sends the next request of a job, or ends the job.

use plimsoll_model::Outcome;

use super::client::Nfs4Client;
use super::job::{Connecting, Goal, Leaving};
use super::requests::Calling;
use crate::client::Events;
use crate::jobs::JobId;
use crate::operation::{Cause, Failure};
use crate::outbox::Outbox;

impl Nfs4Client {
    /// Sends the next request of a job, or ends the job if none is left.
    pub(super) fn advance(&mut self, id: JobId, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let Some(mut job) = self.jobs.take(id) else { return };
        self.step_recovery(id, &mut job, now);
        if let Goal::Connect(Connecting::Join) = job.goal
            && !job.is_resting()
        {
            self.join(id, &mut job, now);
        }
        if let Goal::Leave(Leaving::Session) = job.goal
            && !self.membership.leave(self.options.is_sessionless()).of_session
        {
            // Other connections are still using the session.
            self.leave_context(&mut job);
        }
        while job.has_more() {
            if self.holds_back(&job) || self.waits_for_owner(&job) || self.connection.room() == 0 {
                // A recovery takes the first free place, and so does the return of a delegation.
                let first = matches!(job.goal, Goal::Recover(_) | Goal::Return(_));
                self.waiting.hold(id, &mut job, now, first);
                break;
            }
            if self.connection.needs_context() {
                let calling = Calling { client: self, id, now, out, slot: None, resent: false, sequenced: None };
                job.pending += u32::from(calling.begin_context(&mut job));
                break;
            }
            let slot = match job.needs_no_slot() || self.options.is_sessionless() {
                true => None,
                false => match self.session.take(false) {
                    None => {
                        self.wait_for_slot(id, &mut job, now);
                        break;
                    }
                    slot => slot,
                },
            };
            let sent = Calling { client: self, id, now, out, slot, resent: false, sequenced: None }.next(&mut job);
            if sent {
                job.pending += 1;
                continue;
            }
            // The job had no request to send.
            if let Some(slot) = slot {
                self.session.free(slot.slot, false);
            }
            break;
        }
        if job.pending > 0 || job.waits || job.is_resting() {
            return self.jobs.put(id, job);
        }
        if job.reply.is_none() {
            job.fail(match job.goal {
                // It was sent over a connection that was lost, and its file was closed in the meantime.
                Goal::Lock { .. } | Goal::Unlock { .. } if job.unanswered.is_some() => {
                    Failure::without_answer(Cause::LocksUnknown)
                }
                // The state that it needs was lost while it waited for a session.
                Goal::Lock { file, .. } | Goal::Unlock { file, .. } => {
                    Failure::never_sent(self.opens.files.get(file).map_or(Cause::Unsupported, |_| Cause::SessionLost))
                }
                // All responses have arrived, but none contained the expected result.
                _ => Failure { procedure: None, status: None, outcome: Outcome::Failed, cause: Cause::Malformed },
            });
        }
        if let (Goal::Recover(recovery), None) = (&job.goal, &job.failure) {
            self.recovering.end();
            self.go_on(recovery, now, out);
        }
        self.end(id, job, now, events);
    }
}
