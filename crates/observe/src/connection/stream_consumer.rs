//! What is above one of the streams of a connection: framing, pairing and the account of what is missing.

use plimsoll_model::{Anomaly, PacketCounts, Sink};

use super::may_be_client;
use crate::commands::Holes;
use crate::connection_context::ConnectionContext;
use crate::message::{self, Framer, Framing, Message};
use crate::missing::{Ledger, client_by_port};
use crate::pairing::{Pairing, Shared};
use crate::stream::{Chunk, Receiver};

/// Length of what stands before a message.
const MARK_LEN: u64 = 4;
/// Segments that look like RPC replies before they are believed to be.
const REPLIES: u8 = 3;
/// What is above one of the streams of a connection.
pub(super) struct StreamConsumer<'c, S> {
    pub(super) framing: &'c mut Framing,
    pub(super) framers: &'c mut [Framer; 2],
    pub(super) messages: Messages<'c, S>,
    pub(super) replies: &'c mut u8,
    pub(super) cut_unread: &'c mut bool,
    pub(super) holes: &'c mut [Holes; 2],
    pub(super) packets: &'c mut PacketCounts,
}

/// Where the messages of one of the streams go.
pub(super) struct Messages<'c, S> {
    pub(super) pairing: &'c mut Pairing,
    pub(super) link: &'c mut ConnectionContext,
    pub(super) ledger: &'c mut Ledger,
    /// Which stream.
    pub(super) direction: usize,
    pub(super) shared: &'c mut Shared<S>,
}

impl<S: Sink> Messages<'_, S> {
    #[inline]
    pub(super) fn take(&mut self, message: &Message<'_>) {
        let (direction, losses) = (self.direction, self.link.breaks[self.direction]);
        self.ledger.message(direction, message.len + MARK_LEN, message.end_offset, losses);
        let cut = self.shared.output.anomalies.count(Anomaly::HeaderCutShort);
        self.pairing.take(message, direction, self.link, self.shared);
        self.ledger.add(direction, &mut self.shared.output.tally);
        if self.shared.output.anomalies.count(Anomaly::HeaderCutShort) != cut {
            self.count_cuts(1);
        }
    }

    /// The snap length cut packets behind which messages may be hidden.
    #[cold]
    fn count_cuts(&mut self, cuts: u32) {
        let at = self.direction;
        self.link.cuts[at] = self.link.cuts[at].saturating_add(cuts);
        self.link.holes[at] = self.link.holes[at].saturating_add(cuts);
        self.link.breaks[at] = self.link.breaks[at].wrapping_add(1);
    }
}

impl<S: Sink> StreamConsumer<'_, S> {
    /// Whether the connection is a file server's, as far as is known with these bytes.
    #[inline]
    fn is_recognised(&mut self, chunk: &Chunk<'_>) -> bool {
        if *self.framing == Framing::Unknown {
            let Some(framing) = message::recognise(chunk.bytes).or_else(|| self.replies(chunk)) else {
                *self.cut_unread |= chunk.bytes.len() < chunk.wire_len as usize;
                return false;
            };
            *self.framing = framing;
        }
        true
    }

    /// Data goes the other way, and its sender had more of this stream than was captured: from `next` to `acknowledged`. Where nothing
    /// follows, nothing but this tells of the hole: it counts as one in time for the pairing, unless it was `noted` before.
    #[cold]
    pub(super) fn answered_unseen(&mut self, next: u64, acknowledged: u64, noted: bool) {
        let messages = &mut self.messages;
        messages.link.holes[messages.direction] += u32::from(!noted);
        let at = messages.direction;
        self.framers[at].answered(next, acknowledged, |message| messages.take(message));
        messages.link.breaks[at] = messages.link.breaks[at].wrapping_add(1);
    }
}

impl<S> StreamConsumer<'_, S> {
    /// A reply's header is weak evidence, so several are needed, each in a segment that it fills: the answers of a server of which the
    /// questions were not captured. From a server's port one is enough.
    #[cold]
    fn replies(&mut self, chunk: &Chunk<'_>) -> Option<Framing> {
        if !message::is_reply(chunk.bytes, chunk.wire_len as usize) {
            return None;
        }
        *self.replies = self.replies.saturating_add(1);
        let from_server = client_by_port(&self.messages.link.ends) == Some(1 - self.messages.direction);
        (from_server || *self.replies >= REPLIES).then_some(Framing::Rpc)
    }
}

impl<S: Sink> StreamConsumer<'_, S> {
    /// Takes bytes in order; those that filled a gap with the time since when later ones had been there.
    #[inline(always)]
    fn bytes(&mut self, chunk: &Chunk<'_>, gap_seen_ns: Option<i64>) {
        if !self.is_recognised(chunk) {
            return;
        }
        let messages = &mut self.messages;
        let framer = &mut self.framers[messages.direction];
        let continues_raw = framer.in_raw();
        let allow_raw = messages.pairing.expects_raw(messages.direction);
        let cuts = framer.faults.cuts;
        let begun = match gap_seen_ns {
            None => framer.data(chunk, *self.framing, allow_raw, |message| messages.take(message)),
            Some(seen_ns) => framer.late((chunk, seen_ns), *self.framing, allow_raw, |message| messages.take(message)),
        };
        if framer.faults.cuts != cuts {
            messages.count_cuts(framer.faults.cuts - cuts);
        }
        let from_client = may_be_client(self.messages.pairing.client, self.messages.direction);
        count_data(begun, continues_raw, from_client, self.packets);
    }
}

impl<S: Sink> Receiver for StreamConsumer<'_, S> {
    #[inline(always)]
    fn data(&mut self, chunk: &Chunk<'_>) {
        self.bytes(chunk, None);
    }

    #[cold]
    fn late(&mut self, chunk: &Chunk<'_>, seen_ns: i64) {
        self.bytes(chunk, Some(seen_ns));
    }

    fn hole(&mut self, len: u64, end: u64, acknowledged: bool) {
        let messages = &mut self.messages;
        messages.link.holes[messages.direction] += 1;
        self.holes[messages.direction].add(len, acknowledged);
        let at = messages.direction;
        self.framers[at].hole(len, end, |message| messages.take(message));
        messages.link.breaks[at] = messages.link.breaks[at].wrapping_add(1);
    }

    fn restart(&mut self) {
        self.messages.ledger.restart(self.messages.direction);
        self.framers[self.messages.direction].restart(false);
    }
}

/// A packet with data on a file server's connection.
#[inline]
fn count_data(begun: u32, continues_raw: bool, from_client: bool, packets: &mut PacketCounts) {
    packets.continued += u64::from(begun == 0);
    if !from_client {
        return;
    }
    packets.commands += 1;
    if begun > 0 {
        packets.command_first += 1;
    } else if continues_raw {
        packets.command_continued_async += 1;
    } else {
        packets.command_continued_sync += 1;
    }
}
