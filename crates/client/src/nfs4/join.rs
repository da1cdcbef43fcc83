//! A connection on its way into the session that it shares with others, from one that is lost into the next, and out of it.

use plimsoll_model::Outcome;
use plimsoll_wire::nfs::v4::create_session::Session as Created;

use super::client::Nfs4Client;
use super::job::{Connecting, Goal, Job, Rest};
use super::options::Agreed;
use super::recovery::Stage;
use super::session::{MOST, Part};
use super::trunk::{Bound, Claims, Join, Last, Trunk};
use crate::nfs::JobId;
use crate::operation::{Cause, Failure, Reply};

/// Between looks at whether another connection has made the session, ns: connecting takes some round trips.
const LOOK: i64 = 1_000_000;
/// How long a connection that has claimed everything waits for others of its session, ns. One that has nothing to send may not notice for
/// long that the session is lost; what comes too late is opened anew.
const PATIENCE: i64 = 5_000_000_000;

impl Nfs4Client {
    /// Slots that a session is asked for. Who asks for the first one wants to know how many the server has.
    pub(super) fn wanted_slots(&self) -> u32 {
        let least = self.trunk.as_ref().map_or(1, |trunk| trunk.connections());
        if self.counts { self.options.slots.max(least) } else { MOST }
    }

    /// Makes a session, is bound to that of the client's other connections, or waits for it.
    pub(super) fn join(&mut self, id: JobId, job: &mut Job, now: i64) {
        job.goal = Goal::Connect(match self.trunk.as_ref().map(|trunk| trunk.join()) {
            None => Connecting::ExchangeId,
            Some(Join::Make(_)) => {
                self.makes = true;
                Connecting::ExchangeId
            }
            Some(Join::MakeOwn) => {
                self.has_own();
                Connecting::ExchangeId
            }
            Some(Join::Bind(bound)) => {
                self.change_to(&bound);
                self.agreed = Agreed::of(&bound.session, self.session.slots());
                Connecting::Bind
            }
            Some(Join::Wait) => {
                self.look_later(id, job, now);
                Connecting::Join
            }
        });
    }

    /// The session of a recovery: this connection makes it, is bound to it, or waits for it.
    pub(super) fn join_again(&mut self, id: JobId, job: &mut Job, now: i64) {
        let Some(join) = self.shared().map(|trunk| trunk.join()) else { return };
        let mut bound = None;
        let stage = match join {
            Join::Wait => return self.look_later(id, job, now),
            Join::Make(client) => {
                self.makes = true;
                self.client_id = client.unwrap_or(self.client_id);
                Stage::Create
            }
            // It was this one's only, and there is no room for another connection in the next.
            Join::MakeOwn => {
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

    /// The last connection that claims says so; the others wait for that.
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

    /// The session is lost for all connections of the client, and this is what is done first; without others `alone`.
    pub(super) fn lost_with_others(&self, alone: Stage) -> Stage {
        let Some(trunk) = self.shared() else { return alone };
        trunk.lost(self.trunk_session);
        Stage::Join
    }

    fn look_later(&mut self, id: JobId, job: &mut Job, now: i64) {
        let failure = Failure { procedure: None, status: None, outcome: Outcome::NeverSent, cause: Cause::TimedOut };
        let since = job.rest.as_ref().map_or(now, |rest| rest.since);
        job.rest = Some(Rest { since, pause: LOOK, waits: true, failure });
        self.resting.push((now.saturating_add(LOOK), id));
    }

    /// What it shares with other connections, if it has no session of its own.
    pub(super) fn shared(&self) -> Option<&Trunk> {
        self.trunk.as_deref().filter(|_| self.part.step > 1)
    }

    /// It makes a session for itself.
    fn has_own(&mut self) {
        self.part = Part::default();
        self.trunk_session = self.trunk.as_ref().map_or(0, |trunk| trunk.made_own());
    }

    fn change_to(&mut self, bound: &Bound) {
        (self.client_id, self.forgotten) = (bound.client, bound.forgotten);
        if std::mem::replace(&mut self.trunk_session, bound.number) != bound.number {
            let wanted = self.wanted_slots();
            self.session = self.session.next(&bound.session, wanted, self.part);
        }
        self.enter();
    }

    /// A session was made, of a client that the server may have `forgotten` before: others may have it. False where others hold state
    /// in it, which they may still have to claim.
    pub(super) fn share_session(&mut self, session: Created, forgotten: bool) -> bool {
        let is_first = self.shared().is_none_or(|trunk| !trunk.is_used());
        if std::mem::take(&mut self.makes)
            && let Some(trunk) = &self.trunk
        {
            let made = trunk.made(session, self.client_id, forgotten);
            (self.trunk_session, self.forgotten) = (made.number, made.forgotten);
        }
        self.enter();
        is_first
    }

    fn enter(&mut self) {
        if let Some(trunk) = &self.trunk {
            self.joined = true;
            trunk.joined(self.member, self.trunk_session);
        }
    }

    /// What a connection that leaves gives back.
    pub(super) fn leaves(&mut self) -> Last {
        match &self.trunk {
            Some(trunk) if std::mem::take(&mut self.joined) => trunk.leave(self.member, self.trunk_session),
            _ => Last { of_session: true, of_client: true },
        }
    }

    /// A connection is over without having left: the numbers of its slots are gone with it.
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
