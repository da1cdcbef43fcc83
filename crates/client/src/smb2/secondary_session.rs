//! A second tree connection or session for some time, in addition to the primary one. Its user has the connection alone, because open files
//! belong to the session in which they were opened.
//!
//! Spec: MS-SMB2 3.2.4.2.3, 3.2.5.3, 3.2.5.5

use plimsoll_model::Outcome;
use plimsoll_wire::smb2::{Reply, tree_connect};

use super::answers::Found;
use super::client::SmbClient;
use super::connection::RequestContext;
use super::jobs::{Job, Kind};
use super::logon::Logon;
use super::request_kind::RequestKind;
use crate::calls::Call;
use crate::client::Events;
use crate::operation::{Cause, Failure, Ticket};
use crate::outbox::Outbox;

impl SmbClient {
    /// Begins to log on once more.
    pub(super) fn log_on_secondary(&mut self, ticket: &Ticket, now: i64, out: &mut Outbox) -> Result<(), Cause> {
        // A session that could not be ended is forgotten; the primary one is not.
        self.end_secondary_session();
        let agreed = self.negotiated_security.clone().ok_or(Cause::Unsupported)?;
        self.logon = Some(Box::new(Logon::again(self.authenticate(now)?, &agreed)));
        self.connection.push_session();
        let job = self.jobs.add(Job::new(ticket, Kind::LogOn));
        let offer = Some(agreed.offer.as_slice()).filter(|offer| !offer.is_empty());
        self.send_token(job, offer, now, out).inspect_err(|_| {
            self.jobs.remove(job);
            self.end_secondary_session();
        })
    }

    /// Handles a response.
    pub(super) fn secondary_logged_on(
        &mut self,
        call: &Call<RequestContext>,
        reply: &Reply<'_>,
        found: &Found<'_>,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        let id = call.context.job;
        let next = match found {
            Found::SessionSetup(setup) if reply.status() == 0 => self.take_session(reply, setup),
            Found::SessionSetup(setup) => match self.next_token(id, reply, setup, at, out) {
                Ok(()) => return,
                Err(cause) => Err(cause),
            },
            _ => Err(Cause::LogonRefused),
        };
        if let (Err(cause), Some(job)) = (next, self.jobs.get(id)) {
            let (procedure, status) = (Some(call.procedure), Some(reply.status()));
            let outcome = if reply.status() == 0 { Outcome::Failed } else { Outcome::Refused };
            job.fail(Failure { procedure, status, outcome, cause });
        }
        self.logon = None;
        self.finish(id, at, events);
    }

    /// Handles the effect of a response on the share and session in use.
    pub(super) fn switch(&mut self, kind: RequestKind, reply: &Reply<'_>, found: &Found<'_>) -> Result<(), Cause> {
        let (RequestKind::TreeConnect, Found::TreeConnected(share)) = (kind, found) else { return Ok(()) };
        if share.flags & tree_connect::SHARE_ENCRYPTS != 0 {
            self.connection.session.seals = true;
            self.connection.session.seal.as_ref().ok_or(Cause::NotOffered)?;
        }
        let tree = reply.header().tree_id().ok_or(Cause::Malformed)?;
        // A failed secondary session is dropped, the primary one is kept.
        let session = &mut self.connection.session;
        session.before.get_or_insert(session.tree);
        session.tree = tree;
        Ok(())
    }

    /// The primary session is in use again.
    pub(super) fn end_secondary_session(&mut self) {
        if self.connection.pop_session() {
            self.logon = None;
        }
    }
}
