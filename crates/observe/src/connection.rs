//! One connection: its two streams, the messages in them, and their pairing.

use plimsoll_model::{Anomaly, Endpoint, PacketCounts, Sink};

use crate::message::{self, Framer, Framing, Message, Stamp};
use crate::packet::Segment;
use crate::pairing::{Link, Pairing, Shared};
use crate::stream::{Chunk, Half, Receiver};

/// A TCP connection, or a UDP conversation (which has no streams).
#[derive(Debug)]
pub(crate) struct Connection {
    link: Link,
    pub(crate) halves: [Half; 2],
    pub(crate) framing: Framing,
    framers: [Framer; 2],
    pub(crate) pairing: Pairing,
    /// Where in each direction bytes were missing that the other end had before it went on to send.
    unseen_from: [u64; 2],
}

impl Connection {
    /// With `decrypts`, messages that decryption needs whole are kept whole.
    pub(crate) fn new(number: u32, ends: [Endpoint; 2], decrypts: bool) -> Self {
        Self {
            link: Link { connection: number, ends, holes: [0; 2], from_start: false },
            halves: Default::default(),
            framing: Framing::Unknown,
            framers: [Framer::new(decrypts), Framer::new(decrypts)],
            pairing: Pairing::default(),
            unseen_from: [0; 2],
        }
    }

    /// The two ends, lower first.
    pub(crate) fn ends(&self) -> [Endpoint; 2] {
        self.link.ends
    }

    /// Takes a message that came in a datagram.
    pub(crate) fn message<S: Sink>(&mut self, message: &Message<'_>, direction: usize, shared: &mut Shared<S>) {
        self.pairing.take(message, direction, &self.link, shared);
    }

    /// Takes a TCP segment that went in `direction`.
    #[inline]
    pub(crate) fn segment<S: Sink>(
        &mut self,
        segment: &Segment<'_>,
        direction: usize,
        stamp: Stamp,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        if segment.flags.syn() {
            self.link.from_start = true;
            self.framers[direction].restart(true);
        }
        let [low, high] = &mut self.halves;
        let (half, other) = if direction == 0 { (low, high) } else { (high, low) };
        let mut above = Above {
            framing: &mut self.framing,
            framers: &mut self.framers,
            messages: Messages { pairing: &mut self.pairing, link: &mut self.link, direction: 1 - direction, shared },
            largest: other.largest,
            packets,
        };
        let (mut acknowledges, mut acknowledged_new) = (0, false);
        if segment.flags.ack() && !segment.flags.rst() {
            (acknowledges, acknowledged_new) = other.acknowledge(segment.ack, &mut above);
            if let Some(next) = other.next()
                && acknowledges > next
                && segment.wire_len > 0
            {
                let noted = std::mem::replace(&mut self.unseen_from[1 - direction], next) == next;
                above.answered_unseen(next, acknowledges, noted);
            }
        }
        (above.messages.direction, above.largest) = (direction, half.largest);
        let from_client = above.messages.pairing.client == Some(direction);
        let counts = half.segment(segment, (stamp.time_ns, stamp.frame, acknowledges), &mut above);
        if segment.wire_len == 0 {
            count_empty(segment, acknowledged_new, from_client, packets);
            return;
        }
        packets.tcp_data += 1;
        if let Some(fresh) = counts {
            packets.retransmitted += fresh.retransmitted;
            packets.out_of_order += fresh.out_of_order;
            shared.output.anomalies.add_many(Anomaly::SegmentLate, fresh.late);
            shared.output.anomalies.add_many(Anomaly::GapFilled, fresh.holes_filled);
            if self.pairing.client == Some(direction) && fresh.retransmitted + fresh.keep_alive + fresh.late > 0 {
                packets.commands += 1;
                packets.command_retry += 1;
            }
        }
    }

    /// The connection has ended or is forgotten: nothing more comes.
    pub(crate) fn end<S: Sink>(&mut self, shared: &mut Shared<S>, packets: &mut PacketCounts) {
        for direction in 0..2 {
            let mut above = Above {
                framing: &mut self.framing,
                framers: &mut self.framers,
                messages: Messages { pairing: &mut self.pairing, link: &mut self.link, direction, shared },
                largest: self.halves[direction].largest,
                packets,
            };
            self.halves[direction].finish(&mut above);
        }
        for direction in 0..2 {
            let end = self.halves[direction].next().unwrap_or_default();
            let (pairing, link) = (&mut self.pairing, &self.link);
            self.framers[direction].end(end, |message| pairing.take(message, direction, link, shared));
            let faults = self.framers[direction].faults;
            let anomalies = &mut shared.output.anomalies;
            anomalies.add_many(Anomaly::HeaderCutShort, faults.cut_short);
            anomalies.add_many(Anomaly::BytesUnrecognised, faults.unrecognised);
            anomalies.add_many(Anomaly::Resynchronised, faults.resynchronised);
            anomalies.add_many(Anomaly::MessageMalformed, faults.malformed);
        }
        self.pairing.end(&self.link, shared);
    }
}

/// What is above one of the streams of a connection.
struct Above<'c, S> {
    framing: &'c mut Framing,
    framers: &'c mut [Framer; 2],
    messages: Messages<'c, S>,
    /// The stream's largest segment, bytes.
    largest: u32,
    packets: &'c mut PacketCounts,
}

/// Where the messages of one of the streams go.
struct Messages<'c, S> {
    pairing: &'c mut Pairing,
    link: &'c mut Link,
    /// Which stream.
    direction: usize,
    shared: &'c mut Shared<S>,
}

impl<S: Sink> Messages<'_, S> {
    #[inline]
    fn take(&mut self, message: &Message<'_>) {
        self.pairing.take(message, self.direction, self.link, self.shared);
    }
}

impl<S: Sink> Above<'_, S> {
    /// Data goes the other way, and its sender had more of this stream than was captured: from `next` to `acknowledged`. Where nothing
    /// follows, nothing but this tells of the hole: it counts as one in time for the pairing, unless it was `noted` before.
    #[cold]
    fn answered_unseen(&mut self, next: u64, acknowledged: u64, noted: bool) {
        let messages = &mut self.messages;
        messages.link.holes[messages.direction] += u32::from(!noted);
        self.framers[messages.direction].answered(next, acknowledged, |message| messages.take(message));
    }
}

impl<S: Sink> Receiver for Above<'_, S> {
    #[inline]
    fn data(&mut self, chunk: &Chunk<'_>) {
        if *self.framing == Framing::Unknown {
            let Some(framing) = message::recognise(chunk.bytes) else { return };
            *self.framing = framing;
        }
        let messages = &mut self.messages;
        let framer = &mut self.framers[messages.direction];
        let continues_raw = framer.in_raw();
        let allow_raw = messages.pairing.expects_raw(messages.direction);
        let begun = framer.data(chunk, *self.framing, allow_raw, |message| messages.take(message));
        let from_client = self.messages.pairing.client == Some(self.messages.direction);
        count_data(begun, continues_raw, from_client, self.packets);
    }

    fn hole(&mut self, len: u64, end: u64, acknowledged: bool) {
        let messages = &mut self.messages;
        messages.link.holes[messages.direction] += 1;
        self.packets.dropped_at_least += len.div_ceil(u64::from(self.largest.max(1)));
        let anomaly = if acknowledged { Anomaly::GapInCapture } else { Anomaly::GapUnexplained };
        messages.shared.output.anomalies.add(anomaly);
        self.framers[messages.direction].hole(len, end, |message| messages.take(message));
    }

    fn restart(&mut self) {
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

/// A packet without data: an acknowledgement, or the opening or closing of a connection.
#[inline]
fn count_empty(segment: &Segment<'_>, new: bool, from_client: bool, packets: &mut PacketCounts) {
    let opens_or_closes = segment.flags.syn() || segment.flags.fin() || segment.flags.rst();
    if new || opens_or_closes {
        packets.ack_only += 1;
        packets.command_ack += u64::from(from_client);
    } else {
        packets.ack_repeated += 1;
        packets.command_retry += u64::from(from_client);
    }
    packets.commands += u64::from(from_client);
}
