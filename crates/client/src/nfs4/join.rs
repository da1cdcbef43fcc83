//! How a connection joins, recovers and leaves a session that it shares with others.

use std::sync::atomic::Ordering::Relaxed;

use plimsoll_wire::nfs::v4::create_session::Session as Created;

use super::client::Nfs4Client;
use super::job::{Connecting, Goal, Job, Rest};
use super::options::Negotiated;
use super::recovery::Stage;
use super::session::{MOST, Part};
use super::trunk::{Bound, Claims, Join, Last, Trunk};
use crate::nfs::JobId;
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
        let least = self.trunk.as_ref().map_or(1, |trunk| trunk.connections());
        if self.counts { self.options.slots.max(least) } else { MOST }
    }

    /// Creates the session, binds the connection to the session of the client's other connections, or waits for that session.
    pub(super) fn join(&mut self, id: JobId, job: &mut Job, now: i64) {
        job.goal = Goal::Connect(match self.trunk.as_ref().map(|trunk| trunk.join()) {
            None => Connecting::ExchangeId,
            Some(Join::Make(_)) => {
                self.makes = true;
                Connecting::ExchangeId
            }
            Some(Join::MakeOwn) => {
                self.makes = true;
                self.has_own();
                Connecting::ExchangeId
            }
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
        let Some(join) = self.trunk.as_ref().map(|trunk| trunk.join()) else { return };
        let mut bound = None;
        let stage = match join {
            Join::Wait => return self.look_later(id, job, now),
            Join::Make(client) => {
                self.makes = true;
                self.client_id = client.unwrap_or(self.client_id);
                Stage::Create
            }
            // Only the server knows the sequence ID of the next CREATE_SESSION, because other connections have created sessions.
            Join::MakeOwn => {
                self.makes = true;
                self.has_own();
                Stage::Identify
            }
            Join::Bind(found) => {
                bound = Some(found);
                Stage::Bind
            }
        };
        let Goal::Recover(recovery) = &mut job.goal else { return };
        recovery.stage = stage;
        let Some(bound) = bound else { return };
        recovery.follows |= bound.number != self.trunk_session;
        if bound.forgotten != self.forgotten {
            recovery.forget(&self.files);
            self.forget_state();
        }
        self.change_to(&bound);
    }

    /// The last connection that reclaims sends RECLAIM_COMPLETE; the others wait for it.
    pub(super) fn complete(&mut self, id: JobId, job: &mut Job, now: i64) {
        let Some(trunk) = self.shared() else { return };
        let since = job.rest.as_ref().map_or(now, |rest| rest.since);
        let next = trunk.claimed(self.member, self.trunk_session, now.saturating_sub(since) < PATIENCE);
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
        recovery.step(&self.files);
        if self.options.is_sessionless() {
            self.skip_steps(recovery);
        }
        match recovery.stage {
            Stage::Join if idle => self.join_again(id, job, now),
            Stage::Complete if idle => self.complete(id, job, now),
            _ => {}
        }
        let Goal::Recover(recovery) = &mut job.goal else { return };
        recovery.step(&self.files);
        if recovery.stage == Stage::Over {
            job.reply = Some(Reply::Nothing);
        }
    }

    /// The first stage after the connections of a client lost their session; `alone` for a client with one connection.
    pub(super) fn lost_with_others(&self, alone: Stage) -> Stage {
        let Some(trunk) = &self.trunk else { return alone };
        trunk.lost(self.trunk_session);
        Stage::Join
    }

    fn look_later(&mut self, id: JobId, job: &mut Job, now: i64) {
        let failure = Failure::never_sent(Cause::TimedOut);
        let since = job.rest.as_ref().map_or(now, |rest| rest.since);
        let rest = job.rest.insert(Rest { since, pause: CHECK_INTERVAL, waits: false, failure });
        self.waiting.rest(id, rest, now);
    }

    /// The session that it shares with other connections; `None` if it has a separate one.
    pub(super) fn shared(&self) -> Option<&Trunk> {
        self.trunk.as_deref().filter(|_| self.part.step > 1)
    }

    /// Notes that each connection has a separate session.
    fn has_own(&mut self) {
        self.part = Part::default();
        if let Some(trunk) = &self.trunk {
            trunk.separate();
            self.options.separate_sessions.store(trunk.connections(), Relaxed);
        }
    }

    /// A new session has this number of slots: enough for all connections, or for this one alone.
    pub(super) fn granted(&mut self, slots: u32) {
        if self.shared().is_some_and(|trunk| slots < trunk.connections()) {
            self.has_own();
        }
    }

    fn change_to(&mut self, bound: &Bound) {
        (self.client_id, self.forgotten) = (bound.client, bound.forgotten);
        if std::mem::replace(&mut self.trunk_session, bound.number) != bound.number {
            let wanted = self.wanted_slots();
            self.session = self.session.next(&bound.session, wanted, self.part);
        }
        self.enter();
    }

    /// Shares a new session with the other connections, unless each has a separate one. `forgotten`: the server may have lost the client's
    /// state before. True if this connection must send RECLAIM_COMPLETE at once. False if others have sent it for the client ID, or may
    /// still have state to reclaim.
    pub(super) fn share_session(&mut self, session: Created, forgotten: bool) -> bool {
        let is_first = self.trunk.as_ref().is_none_or(|trunk| !trunk.is_used());
        let alone = self.shared().is_none();
        if std::mem::take(&mut self.makes)
            && let Some(trunk) = &self.trunk
        {
            if alone {
                self.trunk_session = trunk.made_own();
            } else {
                let made = trunk.made(session, self.client_id, forgotten);
                (self.trunk_session, self.forgotten) = (made.number, made.forgotten);
            }
        }
        self.enter();
        is_first || alone && forgotten
    }

    fn enter(&mut self) {
        if let Some(trunk) = &self.trunk {
            self.joined = true;
            trunk.joined(self.member, self.trunk_session);
        }
    }

    /// What a leaving connection must return. It has closed its files: until then it is one of those for which the session must remain.
    pub(super) fn leaves(&mut self) -> Last {
        if let Some(last) = self.last {
            return last;
        }
        let last = match &self.trunk {
            // The server drops the client ID when its lease ends.
            _ if self.options.is_sessionless() => Last { of_session: false, of_client: false },
            Some(trunk) if std::mem::take(&mut self.joined) => trunk.leave(self.member, self.trunk_session),
            _ => Last { of_session: true, of_client: true },
        };
        *self.last.insert(last)
    }

    /// A connection ends without leaving: the sequence IDs of its slots are lost.
    pub(super) fn part_ways(&mut self) {
        let Some(trunk) = &self.trunk else { return };
        if std::mem::take(&mut self.makes) {
            trunk.not_made();
        }
        if std::mem::take(&mut self.joined) {
            trunk.forget(self.member, self.trunk_session);
        }
    }
}
