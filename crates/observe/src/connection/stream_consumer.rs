//! The layers above one stream of a connection: framing, pairing and the account of missing data.

mod beginnings;

use plimsoll_model::{Anomaly, PacketCounts, Sink};
use serde::{Deserialize, Serialize};

use super::first_bytes::FirstBytes;
use super::may_be_client;
use super::packet_counts::Holes;
use crate::connection_context::ConnectionContext;
use crate::message::tls::{self, TlsRecords};
use crate::message::{Content, Framer, Framing, Message};
use crate::missing::Ledger;
use crate::pairing::Pairing;
use crate::shared_state::Shared;
use crate::stream::{Chunk, Receiver};

/// Length of the bytes before a message.
const MARK_LEN: u64 = 4;

/// The messages in the streams of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Framed {
    pub(crate) framing: Framing,
    pub(super) framers: [Framer; 2],
    /// Of each direction, framing being unknown, bytes that are too few to show it.
    pub(super) first_bytes: [Option<Box<FirstBytes>>; 2],
    /// Segments that look like RPC replies, framing being unknown.
    replies: u8,
    /// Directions in which calls of programs went that are not part of a file service, framing being unknown.
    calls_others: [bool; 2],
    /// The snap length cut a segment while framing was unknown: a message may begin in the cut bytes.
    pub(super) cut_unread: bool,
    /// The records of TLS, if messages are in them, or may be.
    pub(super) tls: Option<Box<TlsRecords>>,
    /// Missing data per direction.
    pub(super) holes: [Holes; 2],
}

/// Results for the messages of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Paired {
    pub(crate) pairing: Pairing,
    pub(super) context: ConnectionContext,
    pub(super) ledger: Ledger,
}

/// The layers above one stream of a connection. Contains few references, because it is created for every packet.
pub(super) struct StreamConsumer<'c, S> {
    pub(super) framed: &'c mut Framed,
    pub(super) messages: Messages<'c, S>,
    pub(super) packets: &'c mut PacketCounts,
}

/// Where the messages of one of the streams go.
pub(super) struct Messages<'c, S> {
    pub(super) paired: &'c mut Paired,
    /// Which stream.
    pub(super) direction: usize,
    pub(super) shared: &'c mut Shared<S>,
}

impl Framed {
    pub(super) fn new(decrypts: bool) -> Self {
        Self {
            framing: Framing::Unknown,
            framers: [Framer::new(decrypts), Framer::new(decrypts)],
            first_bytes: Default::default(),
            replies: 0,
            calls_others: [false; 2],
            cut_unread: false,
            tls: None,
            holes: Default::default(),
        }
    }
}

impl<S: Sink> Messages<'_, S> {
    #[inline]
    pub(super) fn take(&mut self, message: &Message<'_>) {
        let direction = self.direction;
        if let Some(tracer) = &mut self.shared.tracer {
            tracer.message(self.paired.context.connection, direction, message);
        }
        if matches!(message.content, Content::Service(_) | Content::Beginning) {
            return;
        }
        let Paired { pairing, context, ledger } = &mut *self.paired;
        ledger.message(direction, message.len + MARK_LEN, message.end_offset, context.breaks[direction]);
        let cut = self.shared.output.anomalies.count(Anomaly::HeaderCutShort);
        let unread = self.shared.output.unread;
        pairing.take(message, direction, context, self.shared);
        ledger.add(direction, &mut self.shared.output.tally);
        if self.shared.output.unread != unread {
            context.unread[direction] = context.unread[direction].wrapping_add(1);
        }
        if self.shared.output.anomalies.count(Anomaly::HeaderCutShort) != cut {
            self.lacks_header(message);
        }
    }

    /// A header in this message is not in the capture: the snap length cut it off, or it is in a hole, which counts as a loss already.
    #[cold]
    fn lacks_header(&mut self, message: &Message<'_>) {
        let (at, context) = (self.direction, &mut self.paired.context);
        let has_holes = context.holes[at] > context.cuts[at];
        if message.resent_wait_ns.is_some() || (message.last.is_none() && !has_holes) {
            return self.count_cuts(1);
        }
        self.shared.output.anomalies.take_back(Anomaly::HeaderCutShort);
        // The IDs after the message continue after the missing ones.
        context.breaks[at] = context.breaks[at].wrapping_add(1);
    }

    /// The snap length cut packets behind which messages may be hidden.
    #[cold]
    fn count_cuts(&mut self, cuts: u32) {
        let (at, context) = (self.direction, &mut self.paired.context);
        context.cuts[at] = context.cuts[at].saturating_add(cuts);
        context.holes[at] = context.holes[at].saturating_add(cuts);
        context.breaks[at] = context.breaks[at].wrapping_add(1);
    }
}

impl<S: Sink> StreamConsumer<'_, S> {
    /// Whether the connection is a file server's, as far as is known with these bytes.
    #[inline]
    fn is_recognised(&mut self, chunk: &Chunk<'_>) -> bool {
        if self.framed.framing == Framing::Unknown {
            let Some(framing) = self.recognise(chunk.bytes).or_else(|| self.replies(chunk)) else {
                self.framed.cut_unread |= chunk.bytes.len() < chunk.wire_len as usize;
                return self.begins_in_small_segments(chunk);
            };
            (self.framed.framing, self.framed.tls) = (framing, None);
            self.framed.first_bytes = Default::default();
        }
        true
    }

    /// Whether these bytes and the preceding ones, which were too few, show a message. If so, the framer takes the preceding ones.
    #[cold]
    fn begins_in_small_segments(&mut self, chunk: &Chunk<'_>) -> bool {
        let direction = self.messages.direction;
        if self.shows_tls(chunk) {
            return false;
        }
        let Some(first) = self.framed.first_bytes[direction].take() else {
            self.framed.first_bytes[direction] = FirstBytes::new(chunk).map(Box::new);
            return false;
        };
        let Some(framing) = first.with(chunk).and_then(|bytes| self.recognise(&bytes)) else {
            let longer = first.joined(chunk).or_else(|| FirstBytes::new(chunk));
            self.framed.first_bytes[direction] = longer.map(Box::new);
            return false;
        };
        (self.framed.framing, self.framed.tls) = (framing, None);
        self.framed.first_bytes = Default::default();
        self.framed.framers[direction].restart(true);
        self.bytes(&first.chunk(), None);
        true
    }

    /// The other end answers data of this stream that was not captured, from `next` to `acknowledged`. If nothing follows in the stream,
    /// only this answer shows the hole, so it counts as a hole for the pairing, unless it was `noted` before.
    #[cold]
    pub(super) fn answered_unseen(&mut self, next: u64, acknowledged: u64, noted: bool) {
        if self.framed.tls.as_ref().is_some_and(|tls| tls.is_certain()) {
            return;
        }
        let messages = &mut self.messages;
        messages.paired.context.holes[messages.direction] += u32::from(!noted);
        let at = messages.direction;
        self.framed.framers[at].answered(next, acknowledged, |message| messages.take(message));
        messages.paired.context.breaks[at] = messages.paired.context.breaks[at].wrapping_add(1);
    }
}

impl<S: Sink> StreamConsumer<'_, S> {
    /// Takes bytes in order. For bytes that filled a gap, also the time since which later ones were there.
    #[inline(always)]
    fn bytes(&mut self, chunk: &Chunk<'_>, gap_seen_ns: Option<i64>) {
        if !self.is_recognised(chunk)
            || ((self.framed.tls.is_some() || tls::may_begin_record(chunk.bytes)) && self.is_tls(chunk))
        {
            return;
        }
        let framer = &self.framed.framers[self.messages.direction];
        let (cuts, hidden, found_once) = (framer.faults.cuts, framer.faults.hidden, framer.found_once());
        if framer.is_lost() {
            self.expect_due(chunk);
        }
        let messages = &mut self.messages;
        let framer = &mut self.framed.framers[messages.direction];
        let continues_raw = framer.in_raw();
        let allow_raw = messages.paired.pairing.expects_raw(messages.direction);
        let begun = match gap_seen_ns {
            None => framer.data(chunk, self.framed.framing, allow_raw, |message| messages.take(message)),
            Some(seen_ns) => {
                framer.late((chunk, seen_ns), self.framed.framing, allow_raw, |message| messages.take(message))
            }
        };
        if framer.keeps_much() {
            framer.count_kept(&mut messages.shared.long_messages);
        }
        if framer.faults.cuts != cuts {
            messages.count_cuts(framer.faults.cuts - cuts);
        }
        let is_hidden = framer.faults.hidden != hidden;
        let from_client = may_be_client(self.messages.paired.pairing.client, self.messages.direction);
        // The start of a client's stream is the rest of a request from before the capture.
        if is_hidden && (found_once || !from_client) {
            let losses = &mut self.messages.paired.context.holes[self.messages.direction];
            *losses = losses.saturating_add(1);
        }
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
        if self.tls_hole(len, acknowledged) {
            return;
        }
        let messages = &mut self.messages;
        messages.paired.context.holes[messages.direction] += 1;
        self.framed.holes[messages.direction].add(len, acknowledged);
        let at = messages.direction;
        self.framed.framers[at].hole(len, end, |message| messages.take(message));
        messages.paired.context.breaks[at] = messages.paired.context.breaks[at].wrapping_add(1);
    }

    #[cold]
    fn found(&mut self, chunk: &Chunk<'_>, is_last: bool) {
        let direction = self.messages.direction;
        self.framed.holes[direction].found(u64::from(chunk.wire_len), is_last);
        self.framed.framers[direction].found(chunk);
    }

    #[cold]
    fn reserve(&mut self, bytes: u64, since_ns: i64) -> bool {
        let Messages { paired, direction, shared } = &mut self.messages;
        // The other end is captured, and has not acknowledged the missing bytes: the network lost them, and they will come again.
        let will_come = paired.ledger.has_packet_since(1 - *direction, since_ns);
        will_come && self.framed.framing != Framing::Unknown && shared.hold_budget.reserve(bytes)
    }

    fn give_back(&mut self, bytes: u64) {
        self.messages.shared.hold_budget.give_back(bytes);
    }

    /// The stream continues at an unrelated position: the capture lacks the bytes in between.
    fn restart(&mut self) {
        let (at, paired) = (self.messages.direction, &mut *self.messages.paired);
        if let Some(tls) = &mut self.framed.tls {
            tls.restart(at);
        }
        paired.context.holes[at] += 1;
        paired.context.breaks[at] = paired.context.breaks[at].wrapping_add(1);
        paired.ledger.restart(at);
        self.framed.framers[at].restart(false);
    }
}

/// A packet with data on a file server's connection.
#[inline]
pub(super) fn count_data(begun: u32, continues_raw: bool, from_client: bool, packets: &mut PacketCounts) {
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
