//! From bytes that arrived to answers of calls: framing, seal, signatures, credits, pairing.
//!
//! Spec: MS-SMB2 3.2.5.1

use std::cell::RefCell;

use plimsoll_model::Outcome;
use plimsoll_wire::nbss;
use plimsoll_wire::smb2::{Command, Header, Kind, Reply, header, read, replies, status, transform};

use super::answers::{self, Found};
use super::client::{MOST, SmbClient, State, What};
use super::step::Step;
use crate::calls::{Call, Ending};
use crate::client::{Arrived, Events, Framing};
use crate::operation::{Cause, Failure};
use crate::outbox::Outbox;

/// Messages up to this length are kept in whole without a look at them, bytes.
const SHORT: usize = 1024;
/// The longest message that a server may send: the longest answer, and room for headers, bytes.
const LONGEST: usize = MOST as usize + (64 << 10);

/// When a message arrived: its first and its last byte, ns.
pub(super) type Instants = (i64, i64);

impl SmbClient {
    /// How the message that begins with `head` is framed.
    pub(super) fn frame(&self, head: &[u8]) -> Framing {
        if matches!(self.state, State::Over(_)) {
            return Framing::Broken;
        }
        let Some(prefix) = nbss::Header::parse(head) else { return Framing::Need(nbss::PREFIX_LEN) };
        let (length, body) = (prefix.total_len(), prefix.length as usize);
        if prefix.kind != nbss::MESSAGE || !(transform::ENCRYPTED_LEN..=LONGEST).contains(&body) {
            return Framing::Broken;
        }
        let whole = Framing::Message { length: length as u64, keep: length };
        if length <= SHORT || self.session.is_protected() {
            return whole;
        }
        let Some(message) = head.get(nbss::PREFIX_LEN..nbss::PREFIX_LEN + header::LEN) else {
            return Framing::Need(nbss::PREFIX_LEN + header::LEN);
        };
        if self.can_drop_data(message) {
            return Framing::Message { length: length as u64, keep: nbss::PREFIX_LEN + read::RESPONSE_END };
        }
        whole
    }

    /// Whether a message is the answer to a read whose data nobody wants, alone and unsigned.
    fn can_drop_data(&self, message: &[u8]) -> bool {
        let Some(header) = Header::new(message) else { return false };
        let plain = header.command() == Command::Read && header.is_response() && header.status() == Some(0);
        if !plain || header.is_signed() || header.next_command() != 0 {
            return false;
        }
        let Some(id) = header.message_id() else { return false };
        let call = self.calls.find(id).or_else(|| self.parked.iter().find(|call| call.id == id));
        call.is_some_and(|call| call.what.step == Step::Read && !call.what.keep)
    }

    /// Takes a message.
    pub(super) fn arrived(&mut self, message: &Arrived<'_>, out: &mut Outbox, events: &mut dyn Events) {
        if matches!(self.state, State::Over(_)) {
            return;
        }
        let bytes = message.head.get(nbss::PREFIX_LEN..).unwrap_or_default();
        let length = usize::try_from(message.length).unwrap_or(usize::MAX).saturating_sub(nbss::PREFIX_LEN);
        let at = (message.first, message.last);
        let taken = match Kind::of(bytes) {
            Some(Kind::Plain) if self.session.seals && !is_notice(bytes) => Err(Cause::Untrusted),
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
        let of = transform::Encrypted::new(bytes).and_then(|header| header.session_id());
        let known =
            of == Some(self.session.id) || self.standing.as_deref().is_some_and(|standing| Some(standing.id) == of);
        if !known && !self.late.is_empty() {
            // The late answer of a session that was given up: nobody is there who could open it.
            self.strangers += 1;
            return Ok(());
        }
        thread_local! {
            /// One for all clients of a thread, so that none holds memory for the longest message it ever had.
            static OPENED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let mut buffer = OPENED.take();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        let standing = self.standing.as_deref().filter(|standing| Some(standing.id) == of);
        let opened = match &standing.unwrap_or(&self.session).seal {
            Some(seal) => seal.1.open(&mut buffer).map_err(|_| Cause::Untrusted),
            None => Err(Cause::Malformed),
        };
        let taken = opened.and_then(|plain| self.members(plain, plain.len(), true, at, out, events));
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
        let Some(mut call) = self.take_call(reply.message_id()) else {
            self.stranger(reply);
            return Ok(());
        };
        self.credits.granted(std::mem::take(&mut call.what.charge), reply.credits());
        if reply.command() == call.what.step.command() && reply.is_interim() {
            call.interim.get_or_insert(at.0);
            call.what.async_id = reply.header().async_id();
            call.held |= call.what.may_wait;
            self.parked.push(call);
            return Ok(());
        }
        let found = if self.trusts(reply, sealed) {
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

    /// Takes the call that an answer is for, wherever it waits.
    fn take_call(&mut self, id: u64) -> Option<Call<What>> {
        if let Some(call) = self.calls.take(id) {
            self.held = self.held.saturating_sub(usize::from(call.held));
            return Some(call);
        }
        let place = self.parked.iter().position(|call| call.id == id)?;
        Some(self.parked.swap_remove(place))
    }

    /// An answer to nothing that waits: late, sent twice, or made up.
    fn stranger(&mut self, reply: &Reply<'_>) {
        self.strangers += 1;
        if let Some(place) = self.late.iter().position(|id| *id == reply.message_id()) {
            self.credits.granted(0, reply.credits());
            // The final answer may still come after an interim one.
            if !reply.is_interim() {
                self.late.remove(place);
            }
        }
    }

    /// Whether an answer is the server's, as far as the session lets us know.
    fn trusts(&self, reply: &Reply<'_>, sealed: bool) -> bool {
        if sealed {
            return true;
        }
        match &self.session.signer {
            Some(signer) if reply.header().is_signed() => signer.verify(reply.header().bytes(), &[]).is_ok(),
            Some(_) | None => !self.session.signs,
        }
    }

    fn report_answer(
        &self,
        call: &Call<What>,
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

/// Whether a message is nothing but the notice of a break: that is of a file or a lease, not of a session, and comes unsigned, and
/// in plain where all else is encrypted (MS-SMB2 3.3.4.6, 3.3.4.7).
fn is_notice(message: &[u8]) -> bool {
    Header::new(message).is_some_and(|header| {
        header.message_id() == Some(header::UNSOLICITED)
            && header.command() == Command::OplockBreak
            && header.next_command() == 0
    })
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
