//! Where messages begin in a stream: at first, and after its framing was lost.

use super::StreamConsumer;
use crate::message::{self, Framing};
use crate::missing::client_by_port;
use crate::stream::Chunk;

/// Segments that look like RPC replies before they are believed to be.
const REPLIES: u8 = 3;

impl<S> StreamConsumer<'_, S> {
    /// Framing is lost: an expected message shows where it resumes.
    #[cold]
    #[inline(never)]
    pub(super) fn expect_due(&mut self, chunk: &Chunk<'_>) {
        let (direction, pairing) = (self.messages.direction, &mut self.messages.paired.pairing);
        match self.framed.framing {
            Framing::Unknown => {}
            Framing::Rpc if pairing.is_due_reply(chunk.bytes, direction) => self.framed.framers[direction].resume(),
            Framing::Rpc => {}
            Framing::Smb => {
                let mut headers = message::smb_headers(chunk.bytes);
                let found = headers.find(|&(_, len, bytes)| pairing.is_due(bytes, len, direction));
                if let Some((at, ..)) = found {
                    self.framed.framers[direction].expect(chunk.offset + at as u64);
                }
            }
        }
    }

    /// The framing that these bytes show, where it is unknown.
    #[inline]
    pub(super) fn recognise(&mut self, bytes: &[u8]) -> Option<Framing> {
        message::recognise(bytes).or_else(|| self.other_program(bytes))
    }

    /// A call of a program that is not part of a file service shows the framing only if it is the first message to a server's port.
    #[cold]
    fn other_program(&mut self, bytes: &[u8]) -> Option<Framing> {
        if !message::is_call(bytes) {
            return None;
        }
        let direction = self.messages.direction;
        self.framed.calls_others[direction] = true;
        let to_server = client_by_port(&self.messages.paired.context.ends) == Some(direction);
        (to_server && self.framed.framers[direction].is_at_boundary()).then_some(Framing::Rpc)
    }

    /// A reply's header is weak evidence, so several are needed, each in a segment that it fills: the answers of a server whose requests
    /// were not captured. From a server's port one is enough. Replies of other programs show nothing.
    #[cold]
    pub(super) fn replies(&mut self, chunk: &Chunk<'_>) -> Option<Framing> {
        let answers_others = self.framed.calls_others[1 - self.messages.direction];
        if answers_others || !message::is_reply(chunk.bytes, chunk.wire_len as usize) {
            return None;
        }
        self.framed.replies = self.framed.replies.saturating_add(1);
        let from_server = client_by_port(&self.messages.paired.context.ends) == Some(1 - self.messages.direction);
        (from_server || self.framed.replies >= REPLIES).then_some(Framing::Rpc)
    }
}
