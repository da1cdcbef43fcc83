//! From bytes that arrived to answers of calls: framing, seal, signatures, credits, pairing.
//!
//! Spec: MS-SMB2 3.2.5.1

use plimsoll_wire::nbss;
use plimsoll_wire::smb2::{Command, Header, Reply, header, read, status, transform};

use super::{Connection, MOST, RequestContext, Session};
use crate::calls::Call;
use crate::client::Framing;
use crate::operation::Cause;
use crate::smb2::request_kind::RequestKind;

/// Messages up to this length are stored completely without inspection, bytes.
const SHORT: usize = 1024;
/// The longest message that a server may send: the longest answer, and room for headers, bytes.
const LONGEST: usize = MOST as usize + (64 << 10);

impl Connection {
    /// How the message that begins with `head` is framed.
    pub(in crate::smb2) fn frame(&self, head: &[u8]) -> Framing {
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

    /// Whether a message is the unsigned response to a single read whose data the caller does not need.
    fn can_drop_data(&self, message: &[u8]) -> bool {
        let Some(header) = Header::new(message) else { return false };
        let plain = header.command() == Command::Read && header.is_response() && header.status() == Some(0);
        if !plain || header.is_signed() || header.next_command() != 0 {
            return false;
        }
        let Some(id) = header.message_id() else { return false };
        let call = self.calls.find(id).or_else(|| self.pending_async.iter().find(|call| call.id == id));
        call.is_some_and(|call| call.context.kind == RequestKind::Read && !call.context.keep)
    }

    /// Whether a message must have been encrypted, and is not.
    pub(in crate::smb2) fn misses_its_seal(&self, message: &[u8]) -> bool {
        let session = self.session_of(Header::new(message).and_then(|header| header.session_id()));
        session.seals && !is_notice(message)
    }

    /// The session that a message names: the one in use, or the primary one that waits. The response to a request from before a second
    /// logon may come while the secondary session is in use.
    fn session_of(&self, id: Option<u64>) -> &Session {
        let waiting = self.primary_session.as_deref().filter(|waiting| waiting.id != self.session.id);
        waiting.filter(|waiting| Some(waiting.id) == id).unwrap_or(&self.session)
    }

    /// Decrypts a message in place; `None` if it belongs to a session that has ended, because its key no longer exists.
    pub(in crate::smb2) fn open<'a>(&mut self, message: &'a mut [u8]) -> Result<Option<&'a [u8]>, Cause> {
        let of = transform::Encrypted::new(message).and_then(|header| header.session_id());
        let standing = self.primary_session.as_deref().filter(|standing| Some(standing.id) == of);
        if of != Some(self.session.id) && standing.is_none() && !self.abandoned.is_empty() {
            self.unmatched_responses += 1;
            return Ok(None);
        }
        match &standing.unwrap_or(&self.session).seal {
            Some(seal) => seal.1.open(message).map(|plain| Some(&*plain)).map_err(|_| Cause::Untrusted),
            None => Err(Cause::Malformed),
        }
    }

    /// The call that a response ends; `None` for an interim or unmatched response.
    pub(in crate::smb2) fn ended_by(&mut self, reply: &Reply<'_>, first_byte: i64) -> Option<Call<RequestContext>> {
        // By reference, because a call is long: it would be copied each time that it is unpacked.
        let mut taken = self.take_call(reply.message_id());
        let Some(call) = &mut taken else {
            self.unmatched(reply);
            return None;
        };
        self.credits.granted(std::mem::take(&mut call.context.charge), reply.credits());
        if reply.command() == call.context.kind.command() && reply.is_interim() {
            call.interim.get_or_insert(first_byte);
            call.context.async_id = reply.header().async_id();
            call.long_lived |= call.context.may_wait;
            self.pending_async.extend(taken);
            return None;
        }
        taken
    }

    /// Removes and returns the call of a response from any of the lists.
    fn take_call(&mut self, id: u64) -> Option<Call<RequestContext>> {
        let taken = self.calls.take(id);
        if let Some(call) = &taken {
            self.long_lived = self.long_lived.saturating_sub(usize::from(call.long_lived));
            return taken;
        }
        let place = self.pending_async.iter().position(|call| call.id == id)?;
        Some(self.pending_async.swap_remove(place))
    }

    /// Counts an unmatched response: late, repeated or unrequested.
    fn unmatched(&mut self, reply: &Reply<'_>) {
        self.unmatched_responses += 1;
        if let Some(place) = self.abandoned.iter().position(|call| call.id == reply.message_id()) {
            self.credits.granted(0, reply.credits());
            // The final answer may still come after an interim one.
            if !reply.is_interim() {
                self.abandoned.remove(place);
            }
        }
    }

    /// Whether a response says that an abandoned open succeeded, in the session and on the share that are in use. Its file is then open
    /// at the server, but no operation owns it: no break of its lease would be acknowledged.
    pub(in crate::smb2) fn is_late_open(&self, reply: &Reply<'_>) -> bool {
        reply.command() == Command::Create
            && reply.status() == status::STATUS_SUCCESS
            && reply.session_id() == self.session.id
            && reply.header().tree_id().is_none_or(|tree| tree == self.session.tree)
            && self.abandoned.iter().any(|call| call.opens && call.id == reply.message_id())
    }

    /// Whether a response is authentic, as far as the session can verify it.
    pub(in crate::smb2) fn trusts(&self, reply: &Reply<'_>, sealed: bool) -> bool {
        if sealed || self.is_binding {
            return true;
        }
        let session = self.session_of(Some(reply.session_id()));
        match &session.signer {
            Some(signer) if reply.header().is_signed() => signer.verify(reply.header().bytes(), &[]).is_ok(),
            Some(_) | None => !session.signs,
        }
    }
}

/// Whether a message contains only a break notification. Notifications concern a file or a lease, not a session, so they are unsigned, and
/// unencrypted even if all else is encrypted (MS-SMB2 3.3.4.6, 3.3.4.7).
fn is_notice(message: &[u8]) -> bool {
    Header::new(message).is_some_and(|header| {
        header.message_id() == Some(header::UNSOLICITED)
            && header.command() == Command::OplockBreak
            && header.next_command() == 0
    })
}
