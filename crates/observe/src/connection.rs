//! One connection: its two streams, the messages in them, and their pairing.

mod acknowledgements;
mod client_paths;
mod end;
mod first_bytes;
mod largest;
mod lives;
mod moments;
mod opening;
mod packet_counts;
mod stream_consumer;
mod stuck;
mod tls;
mod watch;
mod windows;

use plimsoll_model::{Anomaly, Endpoint, PacketCounts, Sink};
use serde::{Deserialize, Serialize};

use crate::connection_context::ConnectionContext;
use crate::message::{Framing, Message};
use crate::missing::{Ledger, OpenGaps, client_by_port};
use crate::packet::{Segment, Stamp};
use crate::pairing::{Output, Pairing};
use crate::shared_state::Shared;
use crate::stream::{Counts, Over, TcpFlow, packable};
pub(crate) use client_paths::ClientPaths;
pub(crate) use lives::Lives;
pub(crate) use opening::Opening;

use acknowledgements::{Acknowledgements, More};
use packet_counts::{Commands, count_datagrams};
use stream_consumer::{Framed, Messages, Paired, StreamConsumer};
use watch::Watch;

/// A closed connection without a packet for this time is over, ns. Linux keeps the ports of a closed connection as long.
const CLOSED_FOR_NS: i64 = 60_000_000_000;
/// The same for a closed connection with a request that waits, ns. A forged reset ends no connection: then the response may come late, but
/// the client sends packets to keep the connection (TCP keep-alive, SMB2 ECHO, RENEW; about one per minute).
const WAITED_FOR_NS: i64 = 2 * CLOSED_FOR_NS;

packable!(Connection);

/// A TCP connection, or a UDP conversation (which has no streams).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Connection {
    pub(crate) tcp_flows: [TcpFlow; 2],
    pub(crate) framed: Framed,
    pub(crate) paired: Paired,
    /// A SYN that may begin another connection between the same ends, or a segment whose sequence number seems to have wrapped.
    pub(crate) opening: Option<Box<Opening>>,
    /// Per direction: where bytes were missing that the other end had received before it sent more.
    unseen_from: [u64; 2],
    /// Gaps that a later packet may still fill.
    open_gaps: OpenGaps,
    /// Packets that were counted as a client's before it was known which end that is.
    unsure: [Commands; 2],
    /// Waiting that TCP's headers tell of.
    watch: Watch,
    /// Acknowledgements, by direction of the data.
    acknowledgements: [Acknowledgements; 2],
    /// When both ends had closed it, or one had broken it off.
    closed_ns: Option<i64>,
    /// When one end closed it: when the other end, or the server at its place, last sent a response to anybody, ns.
    responded_ns: Option<i64>,
}

impl Connection {
    /// With `decrypts`, messages that decryption needs whole are kept whole.
    pub(crate) fn new(number: u32, ends: [Endpoint; 2], decrypts: bool) -> Self {
        let context = ConnectionContext::new(number, ends);
        Self {
            tcp_flows: Default::default(),
            framed: Framed::new(decrypts),
            paired: Paired { pairing: Pairing::default(), context, ledger: Ledger::default() },
            opening: None,
            unseen_from: [0; 2],
            open_gaps: OpenGaps::default(),
            unsure: Default::default(),
            watch: Watch::default(),
            acknowledgements: Default::default(),
            closed_ns: None,
            responded_ns: None,
        }
    }

    /// The same, whose first packet came late in the capture, or not.
    pub(crate) fn begun(mut self, late: bool) -> Self {
        self.paired.context.begins_late = late;
        self
    }

    /// The two ends, lower first.
    pub(crate) fn ends(&self) -> [Endpoint; 2] {
        self.paired.context.ends
    }

    /// Whether a segment follows bytes, of either direction, that have not come and are not known to be missing. It may have overtaken
    /// them in the capture, if both have the same time.
    #[inline(always)]
    pub(crate) fn is_early(&self, segment: &Segment<'_>, direction: usize) -> bool {
        let skips = segment.wire_len > 0 && self.tcp_flows[direction].skips_to(segment.seq);
        let lacks = segment.flags.ack() && self.tcp_flows[1 - direction].lacks_up_to(segment.ack);
        (skips || lacks) && !segment.flags.syn() && !segment.flags.rst()
    }

    /// Takes a message that came in a datagram.
    pub(crate) fn message<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        self.paired.context.datagrams = true;
        if let (Some(tracer), Some(last)) = (&mut shared.tracer, message.last) {
            tracer.datagram(last.frame, self.paired.context.connection, direction, message);
        }
        let again = shared.output.anomalies.count(Anomaly::DuplicateRequest);
        self.paired.pairing.take(message, direction, &self.paired.context, shared);
        let again = shared.output.anomalies.count(Anomaly::DuplicateRequest) > again;
        let is_call =
            self.paired.pairing.client == Some(direction) && plimsoll_wire::rpc::Call::new(message.bytes).is_some();
        count_datagrams(message, is_call, again, packets);
        self.paired.ledger.packet(direction, message.first.time_ns);
        self.paired.ledger.add(direction, &mut shared.output.tally);
    }

    /// Takes a SYN that was counted on arrival without a connection.
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
        self.rare_segment(*syn, direction, stamp, shared, &mut counted);
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
        if self.paired.pairing.client.is_some() {
            self.take_segment(*segment, direction, stamp, shared, packets);
        } else {
            self.rare_segment(*segment, direction, stamp, shared, packets);
        }
    }

    /// The same apart from the code for nearly all segments, for those that waited and those that may be the client's: they count as such
    /// until the end says otherwise.
    #[cold]
    #[inline(never)]
    pub(crate) fn rare_segment<S: Sink>(
        &mut self,
        segment: Segment<'_>,
        direction: usize,
        stamp: Stamp,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        let before = self.paired.pairing.client.is_none().then(|| Commands::of(packets));
        self.take_segment(segment, direction, stamp, shared, packets);
        if let Some(before) = before {
            self.unsure[direction].add_since(before, packets);
        }
    }

    #[inline(always)]
    fn take_segment<S: Sink>(
        &mut self,
        mut segment: Segment<'_>,
        direction: usize,
        stamp: Stamp,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        if segment.flags.ends() {
            self.one_end_closed(segment.flags.rst(), direction, stamp.time_ns, &shared.output);
        }
        if segment.flags.rst() {
            // The payload of a RST is a text for people (RFC 9293 3.10.7), not part of the stream.
            (segment.payload, segment.wire_len) = (&[], 0);
        }
        // A second copy of a SYN may come behind data. It must not end the message in progress.
        if segment.flags.syn() && self.tcp_flows[direction].largest() == 0 {
            self.paired.context.from_start = true;
            self.framed.framers[direction].restart(true);
        }
        let before_ns = self.paired.ledger.packet(direction, stamp.time_ns);
        let losses = self.paired.context.holes;
        let [low, high] = &mut self.tcp_flows;
        let (tcp_flow, other) = if direction == 0 { (low, high) } else { (high, low) };
        let messages = Messages { paired: &mut self.paired, direction: 1 - direction, shared };
        let mut consumer = StreamConsumer { framed: &mut self.framed, messages, packets };
        let (mut acknowledges, mut acknowledged_new, mut acknowledges_all) = (0, false, false);
        if segment.flags.ack() && !segment.flags.rst() {
            (acknowledges, acknowledged_new) = other.acknowledge(segment.ack, &mut consumer);
            acknowledges_all = acknowledged_new && other.next() == Some(acknowledges);
            if acknowledged_new {
                let is_inside = consumer.framed.framers[1 - direction].is_inside();
                let more = More::of(other, acknowledges, is_inside);
                let (largest, base_ns) = (other.largest(), || self.watch.round_trip_ns());
                self.acknowledgements[1 - direction].acknowledged(acknowledges, stamp.time_ns, more, largest, base_ns);
            }
            if let Some(next) = other.next()
                && acknowledges > next
                && segment.wire_len > 0
            {
                let noted = std::mem::replace(&mut self.unseen_from[1 - direction], next) == next;
                consumer.answered_unseen(next, acknowledges, noted);
            }
        }
        consumer.messages.direction = direction;
        let from_client = may_be_client(consumer.messages.paired.pairing.client, direction);
        let counts = tcp_flow.segment(&segment, stamp, acknowledges, &mut consumer);
        if let Some(tracer) = &mut shared.tracer
            && let Some(offset) = tcp_flow.offset_of(segment)
        {
            tracer.segment(stamp.frame, self.paired.context.connection, direction, offset);
        }
        if segment.flags.syn() {
            self.paired.ledger.begin(direction, tcp_flow.origin());
        }
        let lost = self.paired.context.holes != losses;
        if lost || tcp_flow.is_holding() || self.open_gaps.is_open(direction) {
            self.note_gap(direction, (before_ns, stamp.time_ns), lost, counts.as_ref(), shared);
        }
        let now_ns = stamp.time_ns;
        if segment.wire_len == 0 {
            if self.watch.sees_empty(&segment, direction, now_ns, acknowledges_all) {
                let is_inside = self.framed.framers[1 - direction].is_inside();
                self.watch.empty(segment, direction, now_ns, (acknowledges_all, is_inside));
                self.paired.context.to_client_ns = self.watch.to_client_ns();
            }
            let is_of_syn = segment.flags.ack() && self.tcp_flows[1 - direction].is_first_of_syn(acknowledges);
            count_empty(&segment, acknowledged_new || is_of_syn, from_client, packets);
            return;
        }
        packets.tcp_data += 1;
        match counts {
            Some(fresh) => self.unexpected(&fresh, segment, direction, now_ns, shared, packets),
            None => {
                let end = self.tcp_flows[direction].next().unwrap_or_default();
                self.acknowledgements[direction].data(end, segment.wire_len, now_ns);
            }
        }
        self.watch.data(&segment, direction, now_ns, self.tcp_flows[direction].largest());
    }

    /// A packet came at the end of `times` that showed a gap, or may have filled one. A hole in TLS is none of those that `lost` tells of.
    #[cold]
    #[inline(never)]
    fn note_gap<S>(
        &mut self,
        direction: usize,
        times: (i64, i64),
        lost: bool,
        counts: Option<&Counts>,
        shared: &mut Shared<S>,
    ) {
        if self.is_file_server() {
            let is_filled = counts.is_some_and(|fresh| fresh.holes_filled > 0);
            let is_holding = self.tcp_flows[direction].is_holding();
            let is_given_up = self.open_gaps.is_open(direction) && !is_holding && !is_filled;
            let (unexplained, bursts) = (self.framed.holes[direction].unexplained(), &mut shared.account.bursts);
            self.open_gaps.packet(direction, times, lost || is_given_up, is_holding, unexplained, bursts);
        }
    }

    /// One end closes the connection, or breaks it off.
    #[cold]
    fn one_end_closed<S>(&mut self, is_reset: bool, direction: usize, now_ns: i64, output: &Output<S>) {
        if self.watch.closed_by().is_none() {
            self.responded_ns = output.last_responses.of(&self.paired.context.ends[1 - direction]);
        }
        self.watch.ends(is_reset, direction, now_ns);
        if is_reset || self.tcp_flows[1 - direction].finished {
            self.closed_ns.get_or_insert(now_ns);
        }
    }

    /// A segment with data that was not simply the next one.
    #[cold]
    #[inline(never)]
    fn unexpected<S>(
        &mut self,
        fresh: &Counts,
        segment: Segment<'_>,
        direction: usize,
        now_ns: i64,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        packets.retransmitted += fresh.retransmitted;
        packets.out_of_order += fresh.out_of_order;
        self.paired.context.resent_to[direction] = self.tcp_flows[direction].resent_to;
        shared.output.anomalies.add_many(Anomaly::SegmentLate, fresh.late);
        shared.output.anomalies.add_many(Anomaly::GapFilled, fresh.holes_filled);
        if fresh.late > 0 {
            self.open_gaps.came(direction, self.framed.holes[direction].unexplained());
        }
        if fresh.retransmitted + fresh.late + fresh.out_of_order > 0 {
            let end = self.tcp_flows[direction].next().unwrap_or_default();
            self.acknowledgements[direction].forget(end);
        }
        let lacks = self.tcp_flows[direction].is_holding();
        self.watch.overtaken(fresh.out_of_order, lacks, direction, now_ns);
        let needed = fresh.retransmitted.saturating_sub(fresh.unneeded);
        if needed > 0 {
            let end = segment.seq.wrapping_add(segment.wire_len);
            let is_newest = self.tcp_flows[direction].next().is_some_and(|next| next as u32 == end);
            self.watch.retransmitted(&segment, needed, direction, now_ns, is_newest);
        }
        if may_be_client(self.paired.pairing.client, direction)
            && fresh.retransmitted + fresh.keep_alive + fresh.late > 0
        {
            packets.commands += 1;
            packets.command_retry += 1;
        }
    }

    /// Whether requests may wait for an answer: no end has closed it, packets of both directions were captured, and there was
    /// one since `since_ns`.
    pub(crate) fn is_alive(&self, since_ns: i64) -> bool {
        let ledger = &self.paired.ledger;
        let is_one_sided = (0..2).any(|direction| ledger.is_silent(direction));
        self.watch.closed_by().is_none() && !is_one_sided && ledger.last_ns().is_some_and(|last_ns| last_ns >= since_ns)
    }

    /// Per direction, whether it had a packet since this time. Such a packet acknowledges what its sender had received, captured or not.
    pub(crate) fn has_packet_since(&self, since_ns: i64) -> [bool; 2] {
        [0, 1].map(|direction| self.paired.ledger.has_packet_since(direction, since_ns))
    }

    /// Whether both ends have closed it, or one has broken it off.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed_ns.is_some()
    }

    /// Whether it is closed and has had no packet for so long that it is over at `now_ns`.
    pub(crate) fn is_over(&self, now_ns: i64) -> Over {
        let Some(closed_ns) = self.closed_ns else { return Over::No };
        let (waits, last_ns) = (self.paired.pairing.has_waiting(), self.paired.ledger.last_ns().unwrap_or(closed_ns));
        // Packets so long after the end show that it goes on.
        let goes_on = waits && last_ns.saturating_sub(closed_ns) > CLOSED_FOR_NS;
        if goes_on || self.watch.has_data_after(closed_ns) {
            return Over::No;
        }
        match now_ns.saturating_sub(last_ns) {
            ..=CLOSED_FOR_NS => Over::NotYet,
            ..=WAITED_FOR_NS if waits => Over::Later,
            _ => Over::Yes,
        }
    }

    /// Whether it is known to be a file server's, or is by its port: then it may have lost all by which it would be known.
    fn is_file_server(&self) -> bool {
        self.framed.framing != Framing::Unknown || client_by_port(&self.paired.context.ends).is_some()
    }
}

/// Whether a packet of `direction` may come from the client: it does, or the client's direction is unknown.
#[inline]
fn may_be_client(client: Option<usize>, direction: usize) -> bool {
    client.is_none_or(|client| client == direction)
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
