//! Handles received messages.
//!
//! Spec: MS-SMB2 3.2.5.1

use std::cell::RefCell;

use plimsoll_model::Outcome;
use plimsoll_wire::nbss;
use plimsoll_wire::smb2::{Answer, Header, Kind, Reply, create, header, replies, status};

use super::answers::{self, Found};
use super::channel_loss::Repeated;
use super::client::{SmbClient, State};
use super::connection::RequestContext;
use crate::calls::{Call, Ending};
use crate::client::{Arrived, Events};
use crate::operation::{Cause, Failure};
use crate::outbox::Outbox;

/// When a message arrived: its first and its last byte, ns.
pub(super) type Instants = (i64, i64);
/// The connection that a message came on, and whether it was encrypted.
type Way = (u32, bool);

impl SmbClient {
    pub(super) fn arrived(&mut self, message: &Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        if matches!(self.state, State::Over(_)) {
            return;
        }
        let bytes = message.head.get(nbss::PREFIX_LEN..).unwrap_or_default();
        let length = usize::try_from(message.length).unwrap_or(usize::MAX).saturating_sub(nbss::PREFIX_LEN);
        let (at, channel) = ((message.first, message.last), message.channel);
        if let Some(found) = self.channels.as_mut().and_then(|channels| channels.get_mut(channel)) {
            found.came_sealed = Kind::of(bytes) == Some(Kind::Encrypted);
        }
        let taken = match Kind::of(bytes) {
            Some(Kind::Plain) if self.on(channel).misses_its_seal(bytes) => {
                Err(Header::new(bytes).map_or(Cause::Untrusted, of_distrusted))
            }
            Some(Kind::Plain) => self.members(bytes, length, (channel, false), at, out, events),
            Some(Kind::Encrypted) => self.sealed(bytes, channel, at, out, events),
            Some(Kind::Compressed) | None => Err(Cause::Malformed),
        };
        match taken {
            Ok(()) => self.pump(message.last, out, events),
            // A connection that is not bound yet has no state of the session.
            Err(cause) if self.fail_binding(channel, cause, message.last, events) => {}
            Err(cause) => self.give_up(message.last, cause, events),
        }
    }

    fn sealed(
        &mut self,
        bytes: &[u8],
        channel: u32,
        at: Instants,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        thread_local! {
            /// One buffer for all clients of a thread, so that not every client keeps memory for its longest message.
            static OPENED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let mut buffer = OPENED.take();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        let taken = match self.on_mut(channel).open(&mut buffer) {
            Ok(Some(plain)) => self.members(plain, plain.len(), (channel, true), at, out, events),
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
        way: Way,
        at: Instants,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        let mut ended = Ok(());
        for reply in replies(bytes, length) {
            match self.reply(&reply.map_err(|_| Cause::Malformed)?, way, at, out, events) {
                // The other members have their responses, too.
                Err(cause @ (Cause::SessionLost | Cause::SessionEndedUnsigned)) => ended = Err(cause),
                taken => taken?,
            }
        }
        ended
    }

    fn reply(
        &mut self,
        reply: &Reply<'_>,
        (channel, sealed): Way,
        at: Instants,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        if reply.message_id() == header::UNSOLICITED {
            return self.notified(reply, at.1, out);
        }
        self.durable.iter_mut().for_each(|durable| durable.outage.answered(at.1));
        let is_late_open = self.on(channel).is_late_open(reply);
        let ended = self.on_mut(channel).ended_by(reply, at.0);
        let Some(call) = &ended else {
            if is_late_open && self.on(channel).trusts(reply, sealed) {
                self.close_late_open(reply, at.1);
            }
            return Ok(());
        };
        let found = if self.on(channel).trusts(reply, sealed) {
            answers::read(reply, &call.context).map_err(|_| Cause::Malformed)
        } else {
            Err(of_distrusted(reply.header()))
        };
        self.report_answer(channel, call, reply, &found, at, events);
        // By reference, because the content of a response is long.
        let found = match self.of_a_repeated_request(channel, call, reply.status(), at.1) {
            Some(Repeated::Later) => return Ok(()),
            Some(Repeated::DoneBefore) => &found.map(|_| Found::Nothing),
            None => &found,
        };
        let taken = match found {
            Ok(found) => self.progress((channel, call), reply, found, at.1, out, events),
            Err(cause) => Err(*cause),
        };
        if let (Err(cause), Some(job)) = (taken, self.jobs.get(call.context.job)) {
            let outcome = if cause == Cause::SessionLost { Outcome::Refused } else { Outcome::Failed };
            job.fail(Failure { procedure: Some(call.procedure), status: Some(reply.status()), outcome, cause });
        }
        taken
    }

    /// An open succeeded after its operation had timed out: its file is closed.
    fn close_late_open(&mut self, reply: &Reply<'_>, at: i64) {
        if self.state == State::Ready
            && let Ok(Answer::Done(opened)) = create::parse(reply)
        {
            self.close_later(opened.file, at);
        }
    }

    fn report_answer(
        &self,
        channel: u32,
        call: &Call<RequestContext>,
        reply: &Reply<'_>,
        found: &Result<Found<'_>, Cause>,
        at: Instants,
        events: &mut dyn Events,
    ) {
        let (outcome, payload_bytes) = match found {
            Ok(Found::Data { length: moved, .. } | Found::Written(moved)) => {
                (outcome(reply.status()), Some(u64::from(*moved)))
            }
            Ok(_) => (outcome(reply.status()), None),
            Err(_) => (Outcome::Failed, None),
        };
        let status = Some(reply.status());
        let response_bytes = Some(reply.length() as u64);
        let ending = Ending { answered: Some(at), status, outcome, response_bytes, payload_bytes };
        self.report(channel, call, &ending, events);
    }
}

/// Why the connection ends with a response that is not authentic. A server that has ended a session has no key to sign with, so it says so
/// without a signature. That word is not believed, but it is no sign of a forged or changed response either.
///
/// Spec: MS-SMB2 3.3.5.2.9
fn of_distrusted(header: Header<'_>) -> Cause {
    let says_so = !header.is_signed() && header.status().is_some_and(ends_session);
    if says_so { Cause::SessionEndedUnsigned } else { Cause::Untrusted }
}

/// Whether a status says that the server has ended the session: it refuses all further requests of the session, too.
///
/// Spec: MS-SMB2 3.2.5.1.6, 3.3.5.2.9
pub(super) fn ends_session(status: u32) -> bool {
    matches!(status, status::STATUS_USER_SESSION_DELETED | status::STATUS_NETWORK_SESSION_EXPIRED)
}

/// The outcome of a status. MORE_PROCESSING_REQUIRED is a step of a logon.
pub(super) fn outcome(status: u32) -> Outcome {
    match status {
        status::STATUS_CANCELLED => Outcome::Cancelled,
        status::STATUS_MORE_PROCESSING_REQUIRED => Outcome::Succeeded,
        status if status >> 30 == 3 => Outcome::Refused,
        _ => Outcome::Succeeded,
    }
}
