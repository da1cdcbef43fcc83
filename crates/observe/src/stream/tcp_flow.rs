//! One direction of a TCP connection, put back in order.
//!
//! Spec: RFC 9293 3.4, 3.10.

mod jump;

use serde::{Deserialize, Serialize};

use super::given_up::GivenUp;
use super::held::HeldSegments;
use super::{Chunk, Counts, Receiver, Sizes, offset};
use crate::packet::{Segment, Stamp};

/// A jump in sequence numbers further than any window (RFC 7323: 1 GiB) is another life of the connection.
const JUMP_MAX: u64 = 1 << 30;

/// One direction of a TCP connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TcpFlow {
    /// Next offset to hand on; meaningless until `known`.
    next: u64,
    known: bool,
    /// Offset of the first byte, where the SYN was seen.
    origin: Option<u64>,
    /// Offset up to which the other side has acknowledged.
    acknowledged: u64,
    /// Whether the other side has acknowledged the SYN.
    syn_acknowledged: bool,
    /// The bytes before its first data passed before the capture began: they are not missing if they are acknowledged.
    begins_later: bool,
    /// Segments behind a hole.
    held: HeldSegments,
    /// Memory reserved for them beyond the usual, bytes.
    reserved: u64,
    given_up: GivenUp,
    /// Offset up to which bytes were seen again before the other side acknowledged them: the first copies may not have arrived.
    pub resent_to: u64,
    /// Largest payload seen in a packet, bytes.
    largest: u32,
    /// Packets with data, and the bytes in them.
    segments: u64,
    segment_bytes: u64,
    /// How far packets without data say that the stream had gone.
    reached: u64,
    /// FIN seen.
    pub finished: bool,
    /// Counts of segments by kind.
    pub counts: Counts,
}

impl TcpFlow {
    /// Next offset to hand on, where known.
    pub fn next(&self) -> Option<u64> {
        self.known.then_some(self.next)
    }

    /// Offset behind the last byte that was captured, acknowledged, or stood before a packet without data; where known. A FIN is
    /// acknowledged like a byte, so one more is none.
    pub fn end(&self) -> Option<u64> {
        let is_fin = self.finished && self.acknowledged == self.reached + 1;
        let told = if is_fin { self.reached } else { self.acknowledged.max(self.reached) };
        self.known.then_some(if told > self.next + 1 { told } else { self.next })
    }

    /// Offset up to which the other side has acknowledged, as far as its packets were captured.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The data in its packets.
    pub fn sizes(&self) -> Sizes {
        Sizes { largest: self.largest, segments: self.segments, bytes: self.segment_bytes }
    }

    /// The largest payload in a packet, bytes.
    #[inline]
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// Whether data is held back behind a hole that may be a loss.
    #[inline]
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty() && !self.begins_later
    }

    /// Whether data held back takes more memory than usual.
    pub fn has_reserved(&self) -> bool {
        self.reserved > 0
    }

    /// Whether data at `seq` come behind a gap that is new: bytes before them were neither captured nor acknowledged.
    #[inline(always)]
    pub fn skips_to(&self, seq: u32) -> bool {
        is_ahead(seq, self.next) && {
            let held = self.held.end().unwrap_or_default();
            self.is_followed() && offset::nearest(seq, self.next) > held.max(self.acknowledged)
        }
    }

    /// Whether `ack` is the first to acknowledge bytes that were not captured.
    #[inline(always)]
    pub fn lacks_up_to(&self, ack: u32) -> bool {
        is_ahead(ack, self.next) && {
            // A FIN is acknowledged like a byte.
            let end = self.acknowledged.max(self.next + u64::from(self.finished));
            self.is_followed() && offset::nearest(ack, self.next) > end
        }
    }

    /// Whether this direction is captured, as far as is known.
    fn is_followed(&self) -> bool {
        self.known && (self.segments > 0 || self.origin.is_some())
    }

    /// Where the data of a segment stand that this flow has taken.
    pub fn offset_of(&self, segment: Segment<'_>) -> Option<u64> {
        let seq = segment.seq.wrapping_add(u32::from(segment.flags.syn()));
        (self.known && segment.wire_len > 0).then(|| offset::nearest(seq, self.next))
    }

    /// Whether an acknowledgement is of bytes that were captured and are not all acknowledged by an earlier one.
    pub fn has_up_to(&self, ack: u32) -> bool {
        self.known && (self.acknowledged..=self.next).contains(&offset::nearest(ack, self.next))
    }

    /// How far a sequence number is from where the stream stands, in either direction; `None` where that is not known.
    pub fn distance(&self, seq: u32) -> Option<u64> {
        self.known.then(|| offset::nearest(seq, self.next).abs_diff(self.next))
    }

    /// Offset of the first byte, where the SYN was seen.
    pub fn origin(&self) -> Option<u64> {
        self.origin
    }

    /// Whether an acknowledgement up to this offset is the first of the SYN: it acknowledges no bytes, but something new.
    pub fn is_first_of_syn(&mut self, acknowledges: u64) -> bool {
        self.origin == Some(acknowledges) && !std::mem::replace(&mut self.syn_acknowledged, true)
    }

    /// Whether this SYN opens a new connection.
    pub fn is_other_start(&self, seq: u32) -> bool {
        // The same SYN again, or the first one after an acknowledgement that was captured before it.
        let start = offset::nearest(seq.wrapping_add(1), self.next);
        self.known && self.origin != Some(start) && start != self.next
    }

    /// The other side acknowledged up to `ack`. Returns its offset, and whether the acknowledgement is new. Holes that it covers are
    /// given up, and the stored data after them is passed on.
    #[inline]
    pub fn acknowledge(&mut self, ack: u32, out: &mut impl Receiver) -> (u64, bool) {
        if !self.known {
            // Joined midstream: the receiver says where we are.
            self.known = true;
            self.next = offset::first(ack);
            self.acknowledged = self.next;
            return (self.next, true);
        }
        let acked = offset::nearest(ack, self.next);
        if acked <= self.acknowledged || acked.saturating_sub(self.next) > JUMP_MAX {
            return (acked, false);
        }
        self.acknowledged = acked;
        if !self.held.is_empty() {
            self.release(out);
        }
        (acked, true)
    }

    /// Takes a segment with data, SYN or FIN; returns its kind, unless it was simply the next one.
    #[inline(always)]
    pub fn segment(
        &mut self,
        segment: &Segment<'_>,
        stamp: Stamp,
        acknowledges: u64,
        out: &mut impl Receiver,
    ) -> Option<Counts> {
        let is_next = self.known && segment.seq == self.next as u32 && !segment.flags.syn();
        if is_next && self.held.is_empty() {
            self.finished |= segment.flags.fin();
            if segment.wire_len > 0 {
                self.count_size(segment.wire_len);
                let chunk = Chunk::of(segment, self.next, stamp, acknowledges);
                self.next += u64::from(segment.wire_len);
                out.data(&chunk);
            }
            return None;
        }
        let before = self.counts;
        self.other_segment(*segment, stamp, acknowledges, out);
        Some(self.counts.since(&before))
    }

    /// Handles a segment that opens a stream, does not continue it, or continues it up to stored data.
    #[cold]
    #[inline(never)]
    fn other_segment(&mut self, segment: Segment<'_>, stamp: Stamp, acknowledges: u64, out: &mut impl Receiver) {
        let start = self.start(&segment, out);
        self.finished |= segment.flags.fin();
        if segment.wire_len == 0 {
            if !segment.flags.rst() && start.saturating_sub(self.next) <= JUMP_MAX {
                self.reached = self.reached.max(start);
            }
            return;
        }
        let chunk = Chunk::of(&segment, start, stamp, acknowledges);
        if start == self.next {
            self.continuing(&chunk, out)
        } else {
            self.unexpected(chunk, out)
        }
        self.count_size(segment.wire_len);
    }

    #[inline]
    fn count_size(&mut self, len: u32) {
        self.largest = self.largest.max(len);
        self.segments += 1;
        self.segment_bytes += u64::from(len);
    }

    /// A chunk that begins where the stream stands.
    fn continuing(&mut self, chunk: &Chunk<'_>, out: &mut impl Receiver) {
        self.begins_later = false;
        let end = chunk.end();
        let Some(held) = self.held.start() else {
            self.next = end;
            return hand_on(chunk, out);
        };
        self.counts.holes_filled += u64::from(held <= end);
        if end <= held {
            self.counts.out_of_order += 1;
            self.next = end;
            match self.held.earliest() {
                Some(seen_ns) => out.late(chunk, seen_ns),
                None => hand_on(chunk, out),
            }
        } else {
            self.hold(chunk);
        }
        self.release(out);
    }

    /// Ends the stream: passes on all stored data, with holes.
    pub fn finish(&mut self, out: &mut impl Receiver) {
        while !self.held.is_empty() {
            self.skip_hole(out);
            self.release(out);
        }
    }

    /// The segment's offset; learns where the stream is from its first packet.
    fn start(&mut self, segment: &Segment<'_>, out: &mut impl Receiver) -> u64 {
        let seq = segment.seq.wrapping_add(u32::from(segment.flags.syn()));
        if !self.known {
            self.known = true;
            self.next = offset::first(seq);
            self.acknowledged = self.next;
            self.origin = segment.flags.syn().then_some(self.next);
            return self.next;
        }
        let start = offset::nearest(seq, self.next);
        if segment.flags.syn() && start == self.next {
            self.origin = Some(start);
        }
        // A stray packet without data (a RST, for example) does not move the stream.
        if start.abs_diff(self.next) > JUMP_MAX && segment.wire_len > 0 {
            return self.jump(start, out);
        }
        start
    }

    /// A segment that is not the next one: seen before, or ahead of a hole.
    fn unexpected(&mut self, chunk: Chunk<'_>, out: &mut impl Receiver) {
        let end = chunk.end();
        if end <= self.next {
            self.old(&chunk, out);
        } else if chunk.offset < self.next {
            // A single byte was in a probe of a window of 0, and its receiver did not take it (RFC 9293 3.8.6.1).
            if self.next - chunk.offset > 1 {
                self.counts.retransmitted += 1;
                self.resent_to = self.resent_to.max(self.next);
            }
            self.continuing(&chunk.part(self.next, end), out);
        } else {
            self.hold(&chunk);
            if chunk.offset <= self.acknowledged {
                // The hole before it has been acknowledged: the capture dropped it.
                self.release(out);
            }
            while !self.fits(out) {
                self.skip_hole(out);
                self.release(out);
            }
        }
    }

    /// A segment in front of what was handed on.
    fn old(&mut self, chunk: &Chunk<'_>, out: &mut impl Receiver) {
        let (start, end) = (chunk.offset, chunk.end());
        if let Some(found) = self.given_up.find(start, end) {
            self.counts.late += 1;
            // Bytes that the receiver had before the capture: their packets are out of order in it.
            if !found.acknowledged {
                self.counts.holes_filled += u64::from(found.is_last);
                out.found(chunk, found.is_last);
            }
        } else if end - start == 1 && end == self.next {
            self.counts.keep_alive += 1;
        } else {
            self.counts.retransmitted += 1;
            if end > self.acknowledged {
                self.resent_to = self.resent_to.max(end);
            } else {
                self.counts.unneeded += 1;
            }
        }
    }

    /// Whether there is memory for the stored data.
    fn fits(&mut self, out: &mut impl Receiver) -> bool {
        let (excess, since_ns) = (self.held.excess(), self.held.first_ns().unwrap_or_default());
        if excess > self.reserved {
            if self.held.is_too_much() || !out.reserve(excess - self.reserved, since_ns) {
                return false;
            }
            self.reserved = excess;
        }
        true
    }

    fn hold(&mut self, chunk: &Chunk<'_>) {
        let relation = self.held.add(chunk);
        self.counts.retransmitted += u64::from(relation.repeats);
        self.counts.out_of_order += u64::from(relation.overtaken);
    }

    /// Passes on stored data while it is in order or its holes are acknowledged.
    #[cold]
    fn release(&mut self, out: &mut impl Receiver) {
        self.pass_on(out);
        let excess = self.held.excess();
        if excess < self.reserved {
            out.give_back(self.reserved - excess);
            self.reserved = excess;
            self.held.shrink();
        }
    }

    fn pass_on(&mut self, out: &mut impl Receiver) {
        while let Some(start) = self.held.start() {
            if start > self.next {
                if start > self.acknowledged {
                    return;
                }
                self.skip_hole(out);
            }
            let Some(held) = self.held.take_first() else { return };
            let chunk = held.chunk();
            self.next = chunk.end();
            match held.seen_ns {
                Some(seen_ns) => out.late(&chunk, seen_ns),
                None => hand_on(&chunk, out),
            }
        }
    }

    /// Gives up the hole before the first held segment.
    fn skip_hole(&mut self, out: &mut impl Receiver) {
        let Some(start) = self.held.start() else { return };
        let Some(len) = start.checked_sub(self.next).filter(|&len| len > 0) else { return };
        let acknowledged = start <= self.acknowledged;
        self.given_up.add(self.next, start, acknowledged);
        self.next = start;
        let passed_before = std::mem::take(&mut self.begins_later) && acknowledged;
        if !passed_before {
            out.hole(len, self.next, acknowledged);
        }
    }
}

/// Hands on bytes that did not simply come next: apart from the code for those that did.
#[inline(never)]
fn hand_on(chunk: &Chunk<'_>, out: &mut impl Receiver) {
    out.data(chunk);
}

/// Whether a sequence number is ahead of an offset, and no further than any window.
#[inline]
fn is_ahead(seq: u32, next: u64) -> bool {
    // One comparison: at the same place the difference comes round to more than any window.
    u64::from(seq.wrapping_sub(next as u32).wrapping_sub(1)) < JUMP_MAX
}

#[cfg(test)]
mod tests;
