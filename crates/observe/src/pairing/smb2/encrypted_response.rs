//! Encrypted responses to requests that are not encrypted: a server encrypts what it says in a session that it has set up.

use plimsoll_model::{Outcome, Sink};
use plimsoll_wire::smb2::transform;

use super::{Smb2, Smb2Shared, sealed};
use crate::message::Message;
use crate::pairing::{Answer, ConnectionContext, Output};

impl Smb2 {
    /// Whether an encrypted message is the response to the only request that waits, which was not encrypted: then they are a pair whose
    /// status is unknown. If the client sends encrypted requests, too, or a request has an interim answer, it may be the response to one of
    /// these.
    pub(super) fn answers_plain<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        shared: &Smb2Shared,
        output: &mut Output<S>,
    ) -> bool {
        let may_be_of_another = self.sealed.has_requests() || shared.asynchronous.has_any_of(context.connection);
        if !context.from_start || may_be_of_another || self.waiting.len() != 1 {
            return false;
        }
        let Some(header) = transform::Encrypted::new(message.bytes) else { return false };
        let (Some(session), Some(size)) = (header.session_id(), header.original_message_size()) else { return false };
        let waiting = self.waiting.iter().find(|waiting| {
            let pending = &waiting.pending;
            usize::from(pending.direction) != direction
                && pending.session == Some(session)
                && pending.holes == context.holes
                && (message.acknowledges == 0 || message.acknowledges >= pending.end_offset)
        });
        let id = waiting.and_then(|waiting| waiting.id).filter(|_| !sealed::may_be_break(size));
        let Some(waiting) = id.and_then(|id| self.waiting.remove(id, &mut output.waiting)) else { return false };
        let bytes = Some(u64::from(size));
        let answer = Answer { bytes, ..Answer::of(message, None, Outcome::Unknown) };
        output.pair(context, waiting.id, &waiting.pending, &answer);
        true
    }
}
