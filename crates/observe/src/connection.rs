//! One connection: its two streams, the messages in them, and their pairing.

use plimsoll_model::{Anomaly, Coverage, Endpoint, PacketCounts, Sink};

use crate::commands::{Commands, Holes, count_datagrams};
use crate::message::{self, Framer, Framing, Message, Stamp};
use crate::missing::{Ledger, client_by_port};
use crate::packet::{Segment, SegmentBuf, TcpFlags};
use crate::pairing::{Link, Pairing, Shared};
use crate::stream::{Chunk, Half, Receiver};

/// Length of what stands before a message.
const MARK_LEN: u64 = 4;
/// Segments that look like RPC replies before they are believed to be.
const REPLIES: u8 = 3;
/// Connections of which it is remembered when they were seen, at most.
const ENDS_MAX: usize = 65_536;

/// A TCP connection, or a UDP conversation (which has no streams).
#[derive(Debug)]
pub(crate) struct Connection {
    link: Link,
    pub(crate) halves: [Half; 2],
    pub(crate) framing: Framing,
    framers: [Framer; 2],
    pub(crate) pairing: Pairing,
    /// A SYN that may begin another connection between the same ends.
    pub(crate) opening: Option<Box<Opening>>,
    /// Where in each direction bytes were missing that the other end had before it went on to send.
    unseen_from: [u64; 2],
    ledger: Ledger,
    /// Segments that look like RPC replies, framing being unknown.
    replies: u8,
    /// Packets that were counted as a client's before it was known which end that is.
    unsure: [Commands; 2],
    /// What is missing of each direction.
    holes: [Holes; 2],
}

/// How far behind a SYN the next packet of its connection stands at most, bytes, where those between were not captured: a window that
/// is not scaled.
const CONFIRMED_WITHIN: u32 = 1 << 16;

/// A SYN in the middle of a connection that nobody has answered yet.
#[derive(Debug)]
pub(crate) struct Opening {
    syn: SegmentBuf,
    direction: usize,
    stamp: Stamp,
}

impl Opening {
    /// With what it acknowledges left out: it may be a stray one.
    pub(crate) fn new(segment: &Segment<'_>, direction: usize, stamp: Stamp) -> Self {
        let syn = SegmentBuf { ack: 0, flags: TcpFlags(0x02), ..SegmentBuf::of(segment) };
        Self { syn, direction, stamp }
    }

    /// Whether a segment fits the SYN: the other end acknowledges it, or its sender goes on behind it.
    fn fits(&self, segment: &Segment<'_>, direction: usize) -> bool {
        let begin = self.syn.seq.wrapping_add(1);
        if direction == self.direction {
            return !segment.flags.syn() && segment.seq.wrapping_sub(begin) < CONFIRMED_WITHIN;
        }
        segment.flags.ack() && segment.ack.wrapping_sub(begin) < CONFIRMED_WITHIN
    }

    /// The SYN as it came.
    pub(crate) fn segment(&self) -> (Segment<'_>, usize, Stamp) {
        (self.syn.as_segment(), self.direction, self.stamp)
    }
}

impl Connection {
    /// With `decrypts`, messages that decryption needs whole are kept whole.
    pub(crate) fn new(number: u32, ends: [Endpoint; 2], decrypts: bool) -> Self {
        Self {
            link: Link {
                connection: number,
                ends,
                holes: [0; 2],
                cuts: [0; 2],
                breaks: [0; 2],
                resent_to: [0; 2],
                from_start: false,
                datagrams: false,
            },
            halves: Default::default(),
            framing: Framing::Unknown,
            framers: [Framer::new(decrypts), Framer::new(decrypts)],
            pairing: Pairing::default(),
            opening: None,
            unseen_from: [0; 2],
            ledger: Ledger::default(),
            replies: 0,
            unsure: Default::default(),
            holes: Default::default(),
        }
    }

    /// The two ends, lower first.
    pub(crate) fn ends(&self) -> [Endpoint; 2] {
        self.link.ends
    }

    /// Whether a segment comes behind bytes, of either direction, that have not come and are not known to be missing: at the same time as
    /// others it may have overtaken them.
    #[inline]
    pub(crate) fn is_early(&self, segment: &Segment<'_>, direction: usize) -> bool {
        let skips = segment.wire_len > 0 && self.halves[direction].skips_to(segment.seq);
        let lacks = segment.flags.ack() && self.halves[1 - direction].lacks_up_to(segment.ack);
        (skips || lacks) && !segment.flags.syn() && !segment.flags.rst()
    }

    /// Takes the SYN that waits if a segment shows that it opened another connection, and forgets it if the segment shows that the
    /// connection goes on. A segment that may belong to either shows nothing.
    pub(crate) fn take_confirmed(&mut self, segment: &Segment<'_>, direction: usize) -> Option<Box<Opening>> {
        let [half, other] = [&self.halves[direction], &self.halves[1 - direction]];
        if !segment.flags.syn() && half.distance(segment.seq) == Some(0) && other.has_up_to(segment.ack) {
            self.opening = None;
        }
        let halves = &self.halves;
        let confirms = |opening: &mut Box<Opening>| {
            // The sequence numbers of the other end tell: those of the SYN may be near the connection's by chance or damage.
            let theirs = if direction == opening.direction { segment.ack } else { segment.seq };
            let is_old = !segment.flags.syn() && is_near(&halves[1 - opening.direction], theirs);
            opening.fits(segment, direction) && !is_old
        };
        self.opening.take_if(confirms)
    }

    /// Whether a SYN that acknowledges something may be a stray one: what it acknowledges is of this connection.
    pub(crate) fn is_acknowledged_by(&self, syn: &Segment<'_>, direction: usize) -> bool {
        is_near(&self.halves[1 - direction], syn.ack)
    }

    /// Takes a message that came in a datagram.
    pub(crate) fn message<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        self.link.datagrams = true;
        let again = shared.output.anomalies.count(Anomaly::DuplicateRequest);
        self.pairing.take(message, direction, &self.link, shared);
        let again = shared.output.anomalies.count(Anomaly::DuplicateRequest) > again;
        let is_call = self.pairing.client == Some(direction) && plimsoll_wire::rpc::Call::new(message.bytes).is_some();
        count_datagrams(message, is_call, again, packets);
        self.ledger.packet(direction, message.first.time_ns);
        self.ledger.add(direction, &mut shared.output.tally);
    }

    /// Takes a SYN that was counted when it came, but as nobody's.
    #[cold]
    #[inline(never)]
    pub(crate) fn confirmed<S: Sink>(
        &mut self,
        syn: &Segment<'_>,
        direction: usize,
        stamp: Stamp,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        let mut counted = PacketCounts::default();
        self.segment(syn, direction, stamp, shared, &mut counted);
        Commands::of(&counted).add_to(packets);
    }

    /// Takes a TCP segment that went in `direction`.
    #[inline(always)]
    pub(crate) fn segment<S: Sink>(
        &mut self,
        segment: &Segment<'_>,
        direction: usize,
        stamp: Stamp,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        if self.pairing.client.is_some() {
            self.take_segment(segment, direction, stamp, shared, packets);
        } else {
            self.segment_of_unknown(segment, direction, stamp, shared, packets);
        }
    }

    /// Takes a segment that may be the client's: it counts as such until the end says otherwise.
    #[cold]
    #[inline(never)]
    fn segment_of_unknown<S: Sink>(
        &mut self,
        segment: &Segment<'_>,
        direction: usize,
        stamp: Stamp,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        let before = Commands::of(packets);
        self.take_segment(segment, direction, stamp, shared, packets);
        self.unsure[direction].add_since(before, packets);
    }

    #[inline(always)]
    fn take_segment<S: Sink>(
        &mut self,
        segment: &Segment<'_>,
        direction: usize,
        stamp: Stamp,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        let reset;
        let segment = if segment.flags.rst() {
            // What it carries is a text for people (RFC 9293 3.10.7), not part of the stream.
            reset = Segment { payload: &[], wire_len: 0, ..*segment };
            &reset
        } else {
            segment
        };
        if segment.flags.syn() {
            self.link.from_start = true;
            self.framers[direction].restart(true);
        }
        let before_ns = self.ledger.packet(direction, stamp.time_ns);
        let losses = self.link.holes;
        let [low, high] = &mut self.halves;
        let (half, other) = if direction == 0 { (low, high) } else { (high, low) };
        let mut above = Above {
            framing: &mut self.framing,
            framers: &mut self.framers,
            messages: Messages {
                pairing: &mut self.pairing,
                link: &mut self.link,
                ledger: &mut self.ledger,
                direction: 1 - direction,
                shared,
            },
            replies: &mut self.replies,
            holes: &mut self.holes,
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
        above.messages.direction = direction;
        let from_client = may_be_client(above.messages.pairing.client, direction);
        let counts = half.segment(segment, (stamp.time_ns, stamp.frame, acknowledges), &mut above);
        if segment.flags.syn() {
            self.ledger.begin(direction, half.origin());
        }
        if (self.link.holes != losses || half.is_holding()) && self.is_file_server() {
            shared.account.bursts.add(before_ns, stamp.time_ns);
        }
        if segment.wire_len == 0 {
            count_empty(segment, acknowledged_new, from_client, packets);
            return;
        }
        packets.tcp_data += 1;
        if let Some(fresh) = counts {
            packets.retransmitted += fresh.retransmitted;
            packets.out_of_order += fresh.out_of_order;
            self.link.resent_to[direction] = self.halves[direction].resent_to;
            shared.output.anomalies.add_many(Anomaly::SegmentLate, fresh.late);
            shared.output.anomalies.add_many(Anomaly::GapFilled, fresh.holes_filled);
            if may_be_client(self.pairing.client, direction) && fresh.retransmitted + fresh.keep_alive + fresh.late > 0
            {
                packets.commands += 1;
                packets.command_retry += 1;
            }
        }
    }

    /// The connection has ended or is forgotten: nothing more comes.
    pub(crate) fn end<S: Sink>(&mut self, shared: &mut Shared<S>, packets: &mut PacketCounts) {
        for direction in 0..2 {
            let half = &mut self.halves[direction];
            let mut above = Above {
                framing: &mut self.framing,
                framers: &mut self.framers,
                messages: Messages {
                    pairing: &mut self.pairing,
                    link: &mut self.link,
                    ledger: &mut self.ledger,
                    direction,
                    shared,
                },
                replies: &mut self.replies,
                holes: &mut self.holes,
                packets,
            };
            half.finish(&mut above);
        }
        for direction in 0..2 {
            let half = &self.halves[direction];
            let end = half.next().unwrap_or_default();
            let mut messages = Messages {
                pairing: &mut self.pairing,
                link: &mut self.link,
                ledger: &mut self.ledger,
                direction,
                shared,
            };
            self.framers[direction].end(end, |message| messages.take(message));
            if self.framing != Framing::Unknown && half.end() > half.next() {
                messages.link.holes[direction] += 1;
                messages.link.breaks[direction] = messages.link.breaks[direction].wrapping_add(1);
                self.holes[direction].add_end(half.end().unwrap_or(end) - end);
            }
            let faults = self.framers[direction].faults;
            let anomalies = &mut shared.output.anomalies;
            anomalies.add_many(Anomaly::HeaderCutShort, faults.cut_short);
            anomalies.add_many(Anomaly::BytesUnrecognised, faults.unrecognised);
            anomalies.add_many(Anomaly::Resynchronised, faults.resynchronised);
            anomalies.add_many(Anomaly::MessageMalformed, faults.malformed);
        }
        self.pairing.end(&self.link, shared);
        self.settle_packets(shared, packets);
        self.settle(shared);
    }

    /// Whether it is known to be a file server's, or is by its port: then it may have lost all by which it would be known.
    fn is_file_server(&self) -> bool {
        self.framing != Framing::Unknown || client_by_port(&self.link.ends).is_some()
    }

    /// Counts the packets that were dropped, and takes those that were no client's from the client's.
    fn settle_packets<S>(&self, shared: &mut Shared<S>, packets: &mut PacketCounts) {
        let client = self.pairing.client.or_else(|| client_by_port(&self.link.ends));
        let client = client.filter(|_| self.framing != Framing::Unknown);
        for direction in (0..2).filter(|&direction| client != Some(direction)) {
            self.unsure[direction].take_from(packets);
        }
        // Losses of other traffic are none of a file server, and what went past another place was not dropped.
        if self.is_file_server() {
            for direction in (0..2).filter(|&direction| !self.ledger.is_silent(direction)) {
                self.holes[direction].count(self.halves[direction].sizes(), packets, &mut shared.output.anomalies);
            }
        }
    }

    /// Adds what is missing of this connection to the account of all.
    fn settle<S>(&mut self, shared: &mut Shared<S>) {
        let mut ledger = std::mem::take(&mut self.ledger);
        ledger.add(0, &mut shared.output.tally);
        let account = &mut shared.account;
        if self.framing == Framing::Unknown {
            return;
        }
        let is_stream = self.halves.iter().any(|half| half.next().is_some());
        let ids = self.pairing.client.and_then(|client| self.pairing.ids(client));
        ledger.end_streams(&self.halves, &self.link);
        if is_stream && account.ends.len() < ENDS_MAX {
            account.ends.extend(ledger.end(&self.halves, ids, &self.link));
        }
        let (unseen, one_sided) = ledger.close(self.pairing.client, ids, is_stream.then_some(&self.halves), &self.link);
        account.unseen.add(&unseen);
        if let Some(one_sided) = one_sided {
            account.one_sided += 1;
            if account.one_sided_named.len() < Coverage::ONE_SIDED_NAMED {
                account.one_sided_named.push(one_sided);
            }
        }
    }
}

/// Whether a sequence number is one of the stream as it stands.
fn is_near(half: &Half, seq: u32) -> bool {
    half.distance(seq).is_some_and(|distance| distance < u64::from(CONFIRMED_WITHIN))
}

/// What is above one of the streams of a connection.
struct Above<'c, S> {
    framing: &'c mut Framing,
    framers: &'c mut [Framer; 2],
    messages: Messages<'c, S>,
    replies: &'c mut u8,
    holes: &'c mut [Holes; 2],
    packets: &'c mut PacketCounts,
}

/// Where the messages of one of the streams go.
struct Messages<'c, S> {
    pairing: &'c mut Pairing,
    link: &'c mut Link,
    ledger: &'c mut Ledger,
    /// Which stream.
    direction: usize,
    shared: &'c mut Shared<S>,
}

impl<S: Sink> Messages<'_, S> {
    #[inline]
    fn take(&mut self, message: &Message<'_>) {
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

impl<S: Sink> Above<'_, S> {
    /// Whether the connection is a file server's, as far as is known with these bytes.
    #[inline]
    fn is_recognised(&mut self, chunk: &Chunk<'_>) -> bool {
        if *self.framing == Framing::Unknown {
            let Some(framing) = message::recognise(chunk.bytes).or_else(|| self.replies(chunk)) else { return false };
            *self.framing = framing;
        }
        true
    }

    /// Data goes the other way, and its sender had more of this stream than was captured: from `next` to `acknowledged`. Where nothing
    /// follows, nothing but this tells of the hole: it counts as one in time for the pairing, unless it was `noted` before.
    #[cold]
    fn answered_unseen(&mut self, next: u64, acknowledged: u64, noted: bool) {
        let messages = &mut self.messages;
        messages.link.holes[messages.direction] += u32::from(!noted);
        let at = messages.direction;
        self.framers[at].answered(next, acknowledged, |message| messages.take(message));
        messages.link.breaks[at] = messages.link.breaks[at].wrapping_add(1);
    }
}

impl<S> Above<'_, S> {
    /// A reply's header is weak evidence, so several are needed, each in a segment that it fills: the answers of a server of which the
    /// questions were not captured.
    #[cold]
    fn replies(&mut self, chunk: &Chunk<'_>) -> Option<Framing> {
        if !message::is_reply(chunk.bytes, chunk.wire_len as usize) {
            return None;
        }
        *self.replies = self.replies.saturating_add(1);
        (*self.replies >= REPLIES).then_some(Framing::Rpc)
    }
}

impl<S: Sink> Receiver for Above<'_, S> {
    #[inline]
    fn data(&mut self, chunk: &Chunk<'_>) {
        if !self.is_recognised(chunk) {
            return;
        }
        let messages = &mut self.messages;
        let framer = &mut self.framers[messages.direction];
        let continues_raw = framer.in_raw();
        let allow_raw = messages.pairing.expects_raw(messages.direction);
        let cuts = framer.faults.cuts;
        let begun = framer.data(chunk, *self.framing, allow_raw, |message| messages.take(message));
        if framer.faults.cuts != cuts {
            messages.count_cuts(framer.faults.cuts - cuts);
        }
        let from_client = may_be_client(self.messages.pairing.client, self.messages.direction);
        count_data(begun, continues_raw, from_client, self.packets);
    }

    #[cold]
    fn late(&mut self, chunk: &Chunk<'_>, seen_ns: i64) {
        if !self.is_recognised(chunk) {
            return;
        }
        let messages = &mut self.messages;
        let framer = &mut self.framers[messages.direction];
        let continues_raw = framer.in_raw();
        let allow_raw = messages.pairing.expects_raw(messages.direction);
        let cuts = framer.faults.cuts;
        let begun = framer.late((chunk, seen_ns), *self.framing, allow_raw, |message| messages.take(message));
        if framer.faults.cuts != cuts {
            messages.count_cuts(framer.faults.cuts - cuts);
        }
        let from_client = may_be_client(self.messages.pairing.client, self.messages.direction);
        count_data(begun, continues_raw, from_client, self.packets);
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

/// Whether a packet of `direction` may be a client's: it is, or nobody knows.
#[inline]
fn may_be_client(client: Option<usize>, direction: usize) -> bool {
    client.is_none_or(|client| client == direction)
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
