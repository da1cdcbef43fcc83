//! Pauses before a request is repeated: the server asks to wait (DELAY, GRACE), or another owner holds a lock (DENIED).
//!
//! If the server still executes a request that the client sent on a lost connection, it answers the repeat on the next connection with
//! DELAY for SEQUENCE. The repeat then keeps its slot and sequence ID (RFC 8881 15.1.1.3). In another slot the server would execute the
//! request twice, and the next request of this slot would get its response.

use plimsoll_model::Outcome;
use plimsoll_wire::nfs::status::NFS4ERR_GRACE;

use super::client::Nfs4Client;
use super::job::{Job, LATER, Rest};
use super::parted::Parted;
use super::request_context::RequestContext;
use super::results::Results;
use super::shapes;
use crate::calls::Call;
use crate::client::Events;
use crate::operation::{Cause, Failure};

/// First and longest pause before a job repeats a request, ns (Linux: `NFS4_POLL_RETRY_MIN`, `NFS4_POLL_RETRY_MAX`).
const PAUSE: (i64, i64) = (100_000_000, 15_000_000_000);

impl Nfs4Client {
    /// A job repeats its request after a pause.
    pub(super) fn rest(&mut self, call: &Call<RequestContext>, job: &mut Job, failure: Failure, now: i64) {
        job.ask_again(call.context.shape, call.context.data());
        if failure.status == Some(NFS4ERR_GRACE) && self.condition.serves() {
            self.outage.go_on(now, self.agreed.lease_ns());
        }
        self.waiting.rest(call.context.job, job.pause(failure, now), now);
    }

    /// Whether the server may still execute an earlier sending of this request.
    pub(super) fn still_executes(&self, call: &Call<RequestContext>, results: &Results) -> bool {
        let same_slot = call.context.slot.is_some() && call.context.session == self.session.number;
        call.context.resent && same_slot && results.first().is_some_and(|status| LATER.contains(&status))
    }

    /// A request is sent again after a pause with the same slot and sequence ID, and remains outstanding until then.
    pub(super) fn delay(&mut self, call: &Call<RequestContext>, job: &mut Job, results: &Results, now: i64) {
        let (procedure, status) = (Some(shapes::about(call.context.shape)), results.first());
        let failure = Failure { procedure, status, outcome: Outcome::Refused, cause: Cause::Status };
        let Rest { since, pause, .. } = *job.pause(failure, now);
        self.resends.delay(now.saturating_add(pause), Parted { since, ..Parted::of(call) });
    }

    /// Fails operations whose requests the server has delayed for longer than the timeout.
    pub(super) fn fail_delayed(&mut self, before: i64, now: i64, events: &mut dyn Events) {
        for parted in self.resends.take_overdue_delayed(before) {
            let rest = self.jobs.find(parted.job).and_then(|job| job.rest.as_ref());
            let failure = rest.map_or_else(|| parted.failure(Cause::TimedOut), |rest| rest.failure.clone());
            self.fail_late(&parted, failure, now, events);
        }
    }
}

impl Job {
    /// Notes a refusal, and the pause after it: twice as long as the one before, unless that one is not over.
    fn pause(&mut self, failure: Failure, now: i64) -> &mut Rest {
        // The end of a grace period ends an outage, so keep this pause short.
        let longest = if failure.status == Some(NFS4ERR_GRACE) { PAUSE.0 } else { PAUSE.1 };
        let (since, pause, waits) = match &self.rest {
            Some(rest) if rest.waits => (rest.since, rest.pause, true),
            Some(rest) => (rest.since, (rest.pause * 2).min(longest), false),
            None => (now, PAUSE.0, false),
        };
        self.rest.insert(Rest { since, pause, waits, failure })
    }
}
