//! A connection on its way into the session that it shares with others, and out of it.

use plimsoll_model::Outcome;
use plimsoll_wire::nfs::v4::create_session::Session as Created;

use super::client::Nfs4Client;
use super::job::{Connecting, Goal, Job, Rest};
use super::options::Agreed;
use super::session::{MOST, Part};
use super::trunk::{Join, Last};
use crate::nfs::JobId;
use crate::operation::{Cause, Failure};

/// Between looks at whether another connection has made the session, ns: connecting takes some round trips.
const LOOK: i64 = 1_000_000;

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
            Some(Join::Make) => {
                self.makes = true;
                Connecting::ExchangeId
            }
            Some(Join::MakeOwn) => {
                self.part = Part::default();
                Connecting::ExchangeId
            }
            Some(Join::Bind(session, client)) => {
                let wanted = self.wanted_slots();
                self.client_id = client;
                self.session = self.session.next(&session, wanted, self.part);
                self.agreed = Agreed::of(&session, self.session.slots());
                self.enter();
                Connecting::Bind
            }
            Some(Join::Wait) => {
                let failure =
                    Failure { procedure: None, status: None, outcome: Outcome::NeverSent, cause: Cause::TimedOut };
                let since = job.rest.as_ref().map_or(now, |rest| rest.since);
                job.rest = Some(Rest { since, pause: LOOK, waits: true, failure });
                self.resting.push((now.saturating_add(LOOK), id));
                Connecting::Join
            }
        });
    }

    /// A session was made: others may have it.
    pub(super) fn share_session(&mut self, session: Created) {
        if std::mem::take(&mut self.makes)
            && let Some(trunk) = &self.trunk
        {
            trunk.made(session, self.client_id);
        }
        self.enter();
    }

    fn enter(&mut self) {
        if let Some(trunk) = &self.trunk {
            self.joined = true;
            trunk.joined(self.session.id);
        }
    }

    /// What a connection that leaves gives back.
    pub(super) fn leaves(&mut self) -> Last {
        match &self.trunk {
            Some(trunk) if std::mem::take(&mut self.joined) => trunk.leave(self.session.id),
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
            trunk.forget(self.session.id);
        }
    }
}
