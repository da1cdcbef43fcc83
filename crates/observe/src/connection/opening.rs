//! A SYN in the middle of a connection: the beginning of another one between the same ends, or a stray one. A segment whose sequence
//! number has wrapped or is damaged waits in the same way: another segment decides.

use plimsoll_model::{PacketCounts, Sink};
use serde::{Deserialize, Serialize};

use super::Connection;
use super::stream_consumer::{Messages, StreamConsumer};
use crate::packet::{Segment, SegmentBuf, Stamp, TcpFlags};
use crate::shared_state::Shared;
use crate::stream::TcpFlow;

/// Maximum distance from a SYN to the next captured packet of its connection, bytes: an unscaled window.
const CONFIRMED_WITHIN: u32 = 1 << 16;
/// Maximum distance from the first segment behind a wrap to the position that the next segment shows, bytes: more than most windows, and
/// less than the distance that counts as far behind.
const WRAPPED_WITHIN: u32 = 16 << 20;
/// If bytes are on the way when the capture begins, captured bytes follow within this time, ns: a long round trip.
const IN_FLIGHT_NS: i64 = 1_000_000_000;

/// A segment that may begin a stream at another position, not confirmed yet: a SYN, or one whose sequence number seems to have wrapped.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    segment: SegmentBuf,
    direction: usize,
    stamp: Stamp,
}

impl Opening {
    /// Drops the SYN's acknowledgement number, because the SYN may be stray.
    pub(crate) fn new(segment: &Segment<'_>, direction: usize, stamp: Stamp) -> Self {
        let segment = SegmentBuf { ack: 0, flags: TcpFlags(0x02), ..SegmentBuf::of(segment) };
        Self { segment, direction, stamp }
    }

    /// Of a segment whose sequence number seems to have wrapped.
    pub(crate) fn wrapped(segment: &Segment<'_>, direction: usize, stamp: Stamp) -> Self {
        Self { segment: SegmentBuf::of(segment), direction, stamp }
    }

    /// The direction whose sequence numbers seem to have wrapped; `None` for a SYN.
    pub(crate) fn wrapped_direction(&self) -> Option<usize> {
        (!self.segment.flags.syn()).then_some(self.direction)
    }

    /// Whether a segment confirms the SYN: the other end acknowledges it, or its sender continues after it.
    fn fits(&self, segment: &Segment<'_>, direction: usize) -> bool {
        let begin = self.segment.seq.wrapping_add(1);
        if direction == self.direction {
            return !segment.flags.syn() && segment.seq.wrapping_sub(begin) < CONFIRMED_WITHIN;
        }
        segment.flags.ack() && segment.ack.wrapping_sub(begin) < CONFIRMED_WITHIN
    }

    /// Whether the next segment of the connection shows that the sequence numbers have wrapped: both ends then continue near this one.
    /// `None` if it shows nothing, for example a second copy of the same packet.
    fn has_wrapped(&self, next: &Segment<'_>, direction: usize) -> Option<bool> {
        let (first, flags, is_same) = (&self.segment, next.flags, direction == self.direction);
        let is_copy = is_same && (next.seq, next.ack, next.wire_len) == (first.seq, first.ack, first.wire_len);
        let shows_nothing = is_copy || flags.syn() || flags.rst() || !(is_same || flags.ack());
        let number = if is_same { next.seq } else { next.ack };
        let is_near = number.wrapping_sub(first.seq).wrapping_add(WRAPPED_WITHIN) < 2 * WRAPPED_WITHIN;
        (!shows_nothing).then_some(is_near)
    }

    /// The segment as it came.
    pub(crate) fn segment(&self) -> (Segment<'_>, usize, Stamp) {
        (self.segment.as_segment(), self.direction, self.stamp)
    }
}

impl Connection {
    /// Takes the SYN that waits if a segment shows that it opened another connection, and forgets it if the segment shows that the
    /// connection goes on. A segment that may belong to either shows nothing.
    pub(crate) fn take_confirmed(&mut self, segment: &Segment<'_>, direction: usize) -> Option<Box<Opening>> {
        let [tcp_flow, other] = [&self.tcp_flows[direction], &self.tcp_flows[1 - direction]];
        if !segment.flags.syn() && tcp_flow.distance(segment.seq) == Some(0) && other.has_up_to(segment.ack) {
            self.opening = None;
        }
        let tcp_flows = &self.tcp_flows;
        let confirms = |opening: &mut Box<Opening>| {
            // The other end's sequence numbers decide: those of the SYN may be near the connection's by chance or damage.
            let theirs = if direction == opening.direction { segment.ack } else { segment.seq };
            let is_old = !segment.flags.syn() && is_near(&tcp_flows[1 - opening.direction], theirs);
            opening.wrapped_direction().is_none() && opening.fits(segment, direction) && !is_old
        };
        self.opening.take_if(confirms)
    }

    /// Takes the waiting segment if this one shows that its sequence number has wrapped, and forgets it if this one shows that the number
    /// is damaged. A segment that is forgotten after a real wrap leaves no trace, so the next one waits in its place.
    pub(crate) fn take_wrapped(&mut self, segment: &Segment<'_>, direction: usize) -> Option<Box<Opening>> {
        let opening = self.opening.as_deref().filter(|opening| opening.wrapped_direction().is_some())?;
        let has_wrapped = opening.has_wrapped(segment, direction)?;
        self.opening.take().filter(|_| has_wrapped)
    }

    /// Whether a segment belongs to another connection between the same ends, although its SYN was not captured: this one was broken off
    /// or closed, and the numbers of both directions are far from where its streams ended. Otherwise the capture would seem to have dropped
    /// all bytes between these numbers, hundreds of megabytes.
    #[cold]
    pub(crate) fn is_followed_by(&self, segment: &Segment<'_>, direction: usize) -> bool {
        let is_far = |tcp_flow: &TcpFlow, seq: u32| {
            tcp_flow.distance(seq).is_some_and(|distance| distance >= u64::from(CONFIRMED_WITHIN))
        };
        let flags = segment.flags;
        self.is_closed()
            && flags.ack()
            && !flags.syn()
            && !flags.rst()
            && is_far(&self.tcp_flows[direction], segment.seq)
            && is_far(&self.tcp_flows[1 - direction], segment.ack)
    }

    /// Whether a direction has had no packet for some time before `now_ns`.
    #[inline]
    pub(crate) fn was_silent(&self, direction: usize, now_ns: i64) -> bool {
        self.paired.ledger.was_silent(direction, now_ns)
    }

    /// Whether a segment has the first data of its direction.
    #[inline]
    pub(crate) fn begins_data(&self, segment: &Segment<'_>, direction: usize) -> bool {
        segment.wire_len > 0 && self.tcp_flows[direction].largest() == 0
    }

    /// Notes if the bytes before a direction's first data passed before the capture began: then they are not missing. If the other
    /// direction has had data already, these bytes may be missing: a request, or the response to a captured request.
    #[cold]
    pub(crate) fn begin_data(&mut self, segment: &Segment<'_>, direction: usize, now_ns: i64) {
        let (context, ledger) = (&self.paired.context, &self.paired.ledger);
        let is_near = ledger.began_since(now_ns.saturating_sub(IN_FLIGHT_NS));
        let is_at_start = is_near && !context.from_start && !context.begins_late;
        let is_first = self.begins_data(segment, direction) && self.tcp_flows[1 - direction].largest() == 0;
        if is_first && is_at_start && self.tcp_flows[direction].begins_behind(segment.seq) {
            self.tcp_flows[direction].begin_later();
        }
    }

    /// Whether the sequence numbers of a direction seem to have wrapped: it had no packet for some time, and is now far behind bytes that
    /// the other end acknowledged. Then the capture lacks gigabytes in between, unless the number is damaged. A second copy of an old
    /// packet acknowledges nothing new. A SYN that waits is then stray: the other direction continues.
    #[cold]
    pub(crate) fn may_have_come_round(&self, segment: &Segment<'_>, direction: usize, now_ns: i64) -> bool {
        let flags = segment.flags;
        self.opening.as_deref().and_then(Opening::wrapped_direction).is_none()
            && self.was_silent(direction, now_ns)
            && flags.ack()
            && !flags.syn()
            && !flags.rst()
            && self.tcp_flows[direction].is_far_behind(segment.seq)
            && self.tcp_flows[1 - direction].is_first_ack(segment.ack)
    }

    /// A direction continues at this sequence number, after its sequence numbers have wrapped.
    #[cold]
    pub(crate) fn come_round<S: Sink>(
        &mut self,
        seq: u32,
        direction: usize,
        shared: &mut Shared<S>,
        packets: &mut PacketCounts,
    ) {
        let messages = Messages { paired: &mut self.paired, direction, shared };
        let mut consumer = StreamConsumer { framed: &mut self.framed, messages, packets };
        self.tcp_flows[direction].come_round(seq, &mut consumer);
        self.acknowledgements[direction].forget(self.tcp_flows[direction].next().unwrap_or_default());
    }

    /// Whether a SYN with an acknowledgement may be stray: it acknowledges data of this connection.
    pub(crate) fn is_acknowledged_by(&self, syn: &Segment<'_>, direction: usize) -> bool {
        is_near(&self.tcp_flows[1 - direction], syn.ack)
    }
}

/// Whether a sequence number is one of the stream as it stands.
fn is_near(tcp_flow: &TcpFlow, seq: u32) -> bool {
    tcp_flow.distance(seq).is_some_and(|distance| distance < u64::from(CONFIRMED_WITHIN))
}
