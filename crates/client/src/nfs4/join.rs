//! How a connection joins and recovers a session that it shares with others.

use super::client::Nfs4Client;
use super::job::{Connecting, Goal, Job, Rest};
use super::options::Negotiated;
use super::recovery::{Recovery, Stage};
use super::session::MOST;
use super::trunk::{Bound, Claims, Join};
use crate::jobs::JobId;
use crate::operation::{Cause, Failure, Reply};

/// Interval between checks whether another connection has created the session, ns: connecting takes some round trips.
const CHECK_INTERVAL: i64 = 1_000_000;
/// Time for which a connection that has reclaimed everything waits for the others of its session, ns. A connection without requests may not
/// detect the loss of the session for a long time; its later reclaims become new opens.
const PATIENCE: i64 = 5_000_000_000;

impl Nfs4Client {
    /// Number of slots to request for a session, at least one per connection. The client that checks the server requests the maximum, to
    /// find the server's limit.
    pub(super) fn wanted_slots(&self) -> u32 {
        let least = self.membership.connections();
        if self.client_id.is_of_load() { self.options.slots.max(least) } else { MOST }
    }

    /// Creates the session, binds the connection to the session of the client's other connections, or waits for that session.
    pub(super) fn join(&mut self, id: JobId, job: &mut Job, now: i64) {
        job.goal = Goal::Connect(match self.membership.join(&self.options) {
            None | Some(Join::Make(_) | Join::MakeOwn) => Connecting::ExchangeId,
            Some(Join::Bind(bound)) => {
                self.change_to(&bound);
                self.agreed = Negotiated::of(&bound.session, self.session.slots());
                Connecting::Bind
            }
            Some(Join::Wait) => {
                self.look_later(id, job, now);
                Connecting::Join
            }
        });
    }

    /// The same in a recovery: creates the next session, joins it, or waits for it.
    pub(super) fn join_again(&mut self, id: JobId, job: &mut Job, now: i64) {
        let Some(join) = self.membership.join(&self.options) else { return };
        let stage = match join {
            Join::Wait => return self.look_later(id, job, now),
            Join::Make(client) => {
                client.into_iter().for_each(|client| self.client_id.share(client));
                Stage::Create
            }
            // Only the server knows the sequence ID of the next CREATE_SESSION, because other connections have created sessions.
            Join::MakeOwn => Stage::Identify,
            Join::Bind(bound) => {
                if let Goal::Recover(recovery) = &mut job.goal {
                    self.follow(recovery, &bound);
                }
                Stage::Bind
            }
        };
        if let Goal::Recover(recovery) = &mut job.goal {
            recovery.stage = stage;
        }
    }

    /// Another connection has recovered the session.
    fn follow(&mut self, recovery: &mut Recovery, bound: &Bound) {
        recovery.follows |= self.membership.is_another(bound);
        if self.membership.has_forgotten(bound) {
            recovery.forget(&self.opens.files);
            self.forget_state();
        }
        self.change_to(bound);
    }

    /// The last connection that reclaims sends RECLAIM_COMPLETE; the others wait for it.
    pub(super) fn complete(&mut self, id: JobId, job: &mut Job, now: i64) {
        let since = job.rest.as_ref().map_or(now, |rest| rest.since);
        let Some(next) = self.membership.claimed(now.saturating_sub(since) < PATIENCE) else { return };
        let Goal::Recover(recovery) = &mut job.goal else { return };
        match next {
            Claims::Complete => {}
            Claims::Wait => self.look_later(id, job, now),
            Claims::Over => recovery.completed(),
            Claims::Lost => {
                recovery.stage = Stage::Join;
                self.join_again(id, job, now);
            }
        }
    }

    /// The next step of a recovery that needs no request.
    pub(super) fn step_recovery(&mut self, id: JobId, job: &mut Job, now: i64) {
        let idle = job.pending == 0 && !job.is_resting();
        let Goal::Recover(recovery) = &mut job.goal else { return };
        recovery.step(&self.opens.files);
        if self.options.is_sessionless() {
            self.skip_steps(recovery);
        }
        match recovery.stage {
            Stage::Join if idle => self.join_again(id, job, now),
            Stage::Complete if idle => self.complete(id, job, now),
            _ => {}
        }
        let Goal::Recover(recovery) = &mut job.goal else { return };
        recovery.step(&self.opens.files);
        if recovery.stage == Stage::Over {
            job.reply = Some(Reply::Nothing);
        }
    }

    fn look_later(&mut self, id: JobId, job: &mut Job, now: i64) {
        let failure = Failure::never_sent(Cause::TimedOut);
        let since = job.rest.as_ref().map_or(now, |rest| rest.since);
        let rest = job.rest.insert(Rest { since, pause: CHECK_INTERVAL, waits: false, failure });
        self.waiting.rest(id, rest, now);
    }

    fn change_to(&mut self, bound: &Bound) {
        self.client_id.share(bound.client);
        if self.membership.bind(bound) {
            self.session = self.session.next(&bound.session, self.wanted_slots(), self.membership.part());
            self.agreed = self.agreed.within(&bound.session, self.session.slots());
        }
    }
}
