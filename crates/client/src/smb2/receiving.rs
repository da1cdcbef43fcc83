//! What an answer is to the client.
//!
//! Spec: MS-SMB2 3.2.5.1

use std::cell::RefCell;

use plimsoll_model::Outcome;
use plimsoll_wire::nbss;
use plimsoll_wire::smb2::{Kind, Reply, header, replies, status};

use super::answers::{self, Found};
use super::client::{SmbClient, State};
use super::connection::RequestContext;
use crate::calls::{Call, Ending};
use crate::client::{Arrived, Events};
use crate::operation::{Cause, Failure};
use crate::outbox::Outbox;

/// When a message arrived: its first and its last byte, ns.
pub(super) type Instants = (i64, i64);

impl SmbClient {
    /// Takes a message.
    pub(super) fn arrived(&mut self, message: &Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        if matches!(self.state, State::Over(_)) {
            return;
        }
        let bytes = message.head.get(nbss::PREFIX_LEN..).unwrap_or_default();
        let length = usize::try_from(message.length).unwrap_or(usize::MAX).saturating_sub(nbss::PREFIX_LEN);
        let at = (message.first, message.last);
        let taken = match Kind::of(bytes) {
            Some(Kind::Plain) if self.connection.misses_its_seal(bytes) => Err(Cause::Untrusted),
            Some(Kind::Plain) => self.members(bytes, length, false, at, out, events),
            Some(Kind::Encrypted) => self.sealed(bytes, at, out, events),
            Some(Kind::Compressed) | None => Err(Cause::Malformed),
        };
        match taken {
            Ok(()) => self.pump(message.last, out, events),
            Err(cause) => self.give_up(message.last, cause, events),
        }
    }

    fn sealed(&mut self, bytes: &[u8], at: Instants, out: &mut Outbox, events: &mut dyn Events) -> Result<(), Cause> {
        thread_local! {
            /// One for all clients of a thread, so that none holds memory for the longest message it ever had.
            static OPENED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let mut buffer = OPENED.take();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        let taken = match self.connection.open(&mut buffer) {
            Ok(Some(plain)) => self.members(plain, plain.len(), true, at, out, events),
            Ok(None) => Ok(()),
            Err(cause) => Err(cause),
        };
        OPENED.set(buffer);
        taken
    }

    fn members(
        &mut self,
        bytes: &[u8],
        length: usize,
        sealed: bool,
        at: Instants,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        for reply in replies(bytes, length) {
            self.reply(&reply.map_err(|_| Cause::Malformed)?, sealed, at, out, events)?;
        }
        Ok(())
    }

    fn reply(
        &mut self,
        reply: &Reply<'_>,
        sealed: bool,
        at: Instants,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        if reply.message_id() == header::UNSOLICITED {
            return self.notified(reply, at.1, out);
        }
        let Some(call) = self.connection.ended_by(reply, at.0) else { return Ok(()) };
        let found = if self.connection.trusts(reply, sealed) {
            answers::read(reply, &call.what).map_err(|_| Cause::Malformed)
        } else {
            Err(Cause::Untrusted)
        };
        self.report_answer(&call, reply, &found, at, events);
        match found {
            Ok(found) => self.progress(&call, reply, found, at.1, out, events),
            Err(cause) => {
                if let Some(job) = self.jobs.get(call.what.job) {
                    let procedure = Some(call.procedure);
                    job.fail(Failure { procedure, status: Some(reply.status()), outcome: Outcome::Failed, cause });
                }
                Err(cause)
            }
        }
    }

    fn report_answer(
        &self,
        call: &Call<RequestContext>,
        reply: &Reply<'_>,
        found: &Result<Found<'_>, Cause>,
        at: Instants,
        events: &mut dyn Events,
    ) {
        let (outcome, payload_bytes) = match found {
            Ok(Found::Data { length, .. }) => (outcome(reply.status()), Some(u64::from(*length))),
            Ok(_) => (outcome(reply.status()), None),
            Err(_) => (Outcome::Failed, None),
        };
        let status = Some(reply.status());
        let response_bytes = Some(reply.length() as u64);
        let ending = Ending { answered: Some(at), status, outcome, response_bytes, payload_bytes };
        self.report(call, &ending, events);
    }
}

/// What a status makes of a request. MORE_PROCESSING_REQUIRED is a step of a logon that goes on.
pub(super) fn outcome(status: u32) -> Outcome {
    match status {
        status::STATUS_CANCELLED => Outcome::Cancelled,
        status::STATUS_MORE_PROCESSING_REQUIRED => Outcome::Succeeded,
        status if status >> 30 == 3 => Outcome::Refused,
        _ => Outcome::Succeeded,
    }
}
