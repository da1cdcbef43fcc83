//! One direction of a TCP connection, put back in order.
//!
//! Spec: RFC 9293 3.4, 3.10.

use super::offset;
use crate::packet::Segment;

/// Segments held back behind a hole, at most. A window of 64 KiB segments is far below it.
const HELD_SEGMENTS_MAX: usize = 1_024;
/// Bytes held back behind a hole, at most, each direction.
const HELD_BYTES_MAX: usize = 1 << 20;
/// A jump in sequence numbers further than any window (RFC 7323: 1 GiB) is another life of the connection.
const JUMP_MAX: u64 = 1 << 30;

/// Bytes of a stream as one packet brought them.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Place of the first byte in the stream.
    pub offset: u64,
    /// What was captured; shorter than `wire_len` where a snaplen cut it.
    pub bytes: &'a [u8],
    /// Length on the wire.
    pub wire_len: u32,
    /// Capture time, ns since the Unix epoch.
    pub time_ns: i64,
    /// Frame number.
    pub frame: u64,
    /// How far this packet acknowledged the other direction, as an offset there; 0 where it does not say.
    pub acknowledges: u64,
}

impl Chunk<'_> {
    /// Place behind the last byte.
    fn end(&self) -> u64 {
        self.offset + u64::from(self.wire_len)
    }
}

/// What comes out of a [`Half`], in stream order.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Bytes.
    Data(Chunk<'a>),
    /// This many bytes will never be seen; `acknowledged` if the receiver got them.
    Hole {
        /// Length of the hole, bytes.
        len: u64,
        /// Stream offset behind it.
        end: u64,
        /// The receiver acknowledged them: the capture dropped them.
        acknowledged: bool,
    },
    /// The stream began anew at an unrelated place: whatever was under way is lost.
    Restart,
}

/// Takes what comes out of a [`Half`]. (Calls, not a value to match on: this is the hottest path there is.)
pub trait Receiver {
    /// Bytes, in order.
    fn data(&mut self, chunk: &Chunk<'_>);
    /// Bytes, in order, that filled a gap: a segment with later bytes had been there since `seen_ns`.
    fn late(&mut self, chunk: &Chunk<'_>, _seen_ns: i64) {
        self.data(chunk);
    }
    /// See [`Event::Hole`].
    fn hole(&mut self, len: u64, end: u64, acknowledged: bool);
    /// See [`Event::Restart`].
    fn restart(&mut self);
}

impl<F: FnMut(Event<'_>)> Receiver for F {
    fn data(&mut self, chunk: &Chunk<'_>) {
        self(Event::Data(*chunk));
    }

    fn hole(&mut self, len: u64, end: u64, acknowledged: bool) {
        self(Event::Hole { len, end, acknowledged });
    }

    fn restart(&mut self) {
        self(Event::Restart);
    }
}

/// What a segment turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data seen before.
    pub retransmitted: u64,
    /// A keep-alive probe: its byte was seen before, by design.
    pub keep_alive: u64,
    /// New data, but later data was there already.
    pub out_of_order: u64,
    /// New data whose hole had been given up.
    pub late: u64,
    /// Holes opened and then filled.
    pub holes_filled: u64,
}

impl Counts {
    /// What has come since an earlier reading.
    pub fn since(&self, before: &Counts) -> Counts {
        Counts {
            retransmitted: self.retransmitted - before.retransmitted,
            keep_alive: self.keep_alive - before.keep_alive,
            out_of_order: self.out_of_order - before.out_of_order,
            late: self.late - before.late,
            holes_filled: self.holes_filled - before.holes_filled,
        }
    }
}

#[derive(Debug)]
struct Held {
    offset: u64,
    bytes: Vec<u8>,
    wire_len: u32,
    time_ns: i64,
    frame: u64,
    acknowledges: u64,
    /// Since when later bytes had been there when it came; `None` if none were.
    seen_ns: Option<i64>,
}

impl Held {
    fn of(chunk: &Chunk<'_>, seen_ns: Option<i64>) -> Self {
        let Chunk { offset, bytes, wire_len, time_ns, frame, acknowledges } = *chunk;
        Self { offset, bytes: bytes.to_vec(), wire_len, time_ns, frame, acknowledges, seen_ns }
    }

    fn chunk(&self) -> Chunk<'_> {
        let Self { offset, ref bytes, wire_len, time_ns, frame, acknowledges, .. } = *self;
        Chunk { offset, bytes, wire_len, time_ns, frame, acknowledges }
    }

    fn end(&self) -> u64 {
        self.offset + u64::from(self.wire_len)
    }
}

/// The data in packets: what a dropped one may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Most in a packet, bytes.
    pub largest: u32,
    /// Packets with data.
    pub segments: u64,
    /// Bytes in all of them.
    pub bytes: u64,
}

/// One direction of a TCP connection.
#[derive(Debug, Default)]
pub struct Half {
    /// Next offset to hand on; meaningless until `known`.
    next: u64,
    known: bool,
    /// Offset of the first byte, where the SYN was seen.
    origin: Option<u64>,
    /// Offset up to which the other side has acknowledged.
    acknowledged: u64,
    /// Segments behind a hole, by offset; no two overlap.
    held: Vec<Held>,
    held_bytes: usize,
    /// Holes given up lately, so that a late arrival is told from a retransmission: (start, end).
    given_up: [(u64, u64); 4],
    given_up_next: usize,
    /// Offset up to which bytes were seen again before the other side had acknowledged them: they may not have arrived before.
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
    /// What the segments were.
    pub counts: Counts,
}

impl Half {
    /// Next offset to hand on, where known.
    pub fn next(&self) -> Option<u64> {
        self.known.then_some(self.next)
    }

    /// Offset behind the last byte that was captured, acknowledged, or stood before a packet without data; where known. A FIN is
    /// acknowledged like a byte, so one more is none.
    pub fn end(&self) -> Option<u64> {
        let told = self.acknowledged.max(self.reached);
        self.known.then_some(if told > self.next + 1 { told } else { self.next })
    }

    /// The data in its packets.
    pub fn sizes(&self) -> Sizes {
        Sizes { largest: self.largest, segments: self.segments, bytes: self.segment_bytes }
    }

    /// Whether data is held back behind a hole.
    #[inline]
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether data at `seq` come behind a gap that is new: bytes before them were neither captured nor acknowledged.
    #[inline]
    pub fn skips_to(&self, seq: u32) -> bool {
        is_ahead(seq, self.next) && {
            let held = self.held.last().map_or(0, Held::end);
            self.is_followed() && offset::nearest(seq, self.next) > held.max(self.acknowledged)
        }
    }

    /// Whether `ack` is the first to acknowledge bytes that were not captured.
    #[inline]
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

    /// Whether this SYN opens another connection than the one being followed.
    pub fn is_other_start(&self, seq: u32) -> bool {
        // The same SYN again, or the first one after an acknowledgement that was captured before it.
        let start = offset::nearest(seq.wrapping_add(1), self.next);
        self.known && self.origin != Some(start) && start != self.next
    }

    /// The other side acknowledged up to `ack`. Gives its offset, and whether it acknowledges something new.
    /// Holes that it covers are given up and what is held behind them is handed on.
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

    /// Takes a segment with data, SYN or FIN; returns what it was, where it was not simply the next one.
    #[inline]
    pub fn segment(
        &mut self,
        segment: &Segment<'_>,
        stamp: (i64, u64, u64),
        out: &mut impl Receiver,
    ) -> Option<Counts> {
        let is_next = self.known && segment.seq == self.next as u32 && !segment.flags.syn();
        if is_next && self.held.is_empty() {
            self.finished |= segment.flags.fin();
            if segment.wire_len > 0 {
                self.count_size(segment.wire_len);
                let chunk = chunk(segment, self.next, stamp);
                self.next += u64::from(segment.wire_len);
                out.data(&chunk);
            }
            return None;
        }
        let before = self.counts;
        self.other_segment(segment, stamp, out);
        Some(self.counts.since(&before))
    }

    /// A segment that opens a stream, does not continue it, or continues it up to what is held.
    #[cold]
    fn other_segment(&mut self, segment: &Segment<'_>, stamp: (i64, u64, u64), out: &mut impl Receiver) {
        let start = self.start(segment, out);
        self.finished |= segment.flags.fin();
        if segment.wire_len == 0 {
            if !segment.flags.rst() && start.saturating_sub(self.next) <= JUMP_MAX {
                self.reached = self.reached.max(start);
            }
            return;
        }
        let chunk = chunk(segment, start, stamp);
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
        let end = chunk.end();
        let Some(held) = self.held.first().map(|first| first.offset) else {
            self.next = end;
            return out.data(chunk);
        };
        self.counts.holes_filled += u64::from(held <= end);
        if end <= held {
            self.counts.out_of_order += 1;
            self.next = end;
            match earliest(&self.held) {
                Some(seen_ns) => out.late(chunk, seen_ns),
                None => out.data(chunk),
            }
        } else {
            self.hold(chunk);
        }
        self.release(out);
    }

    /// Nothing more will come: hands on what is held, holes and all.
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
        if start.abs_diff(self.next) > JUMP_MAX {
            self.finish(out);
            out.restart();
            // Never back: offsets stay comparable, and far from 0.
            let ahead = if start < self.next { start + (1 << 32) } else { start };
            self.next = ahead;
            self.acknowledged = ahead;
            return ahead;
        }
        start
    }

    /// A segment that is not the next one: seen before, or ahead of a hole.
    fn unexpected(&mut self, chunk: Chunk<'_>, out: &mut impl Receiver) {
        let end = chunk.end();
        if end <= self.next {
            self.count_old(chunk.offset, end);
        } else if chunk.offset < self.next {
            self.counts.retransmitted += 1;
            self.resent_to = self.resent_to.max(self.next);
            self.continuing(&part(&chunk, self.next, end), out);
        } else {
            self.hold(&chunk);
            if chunk.offset <= self.acknowledged {
                // The hole before it has been acknowledged: the capture dropped it.
                self.release(out);
            }
            while self.held.len() > HELD_SEGMENTS_MAX || self.held_bytes > HELD_BYTES_MAX {
                self.skip_hole(out);
                self.release(out);
            }
        }
    }

    fn count_old(&mut self, start: u64, end: u64) {
        let in_hole = self.given_up.iter().any(|&(from, to)| start >= from && end <= to && from < to);
        if in_hole {
            self.counts.late += 1;
        } else if end - start == 1 && end == self.next {
            self.counts.keep_alive += 1;
        } else {
            self.counts.retransmitted += 1;
            if end > self.acknowledged {
                self.resent_to = self.resent_to.max(end);
            }
        }
    }

    /// Keeps what is new of a chunk. What is held already stays as it is: bytes keep the time and frame that brought them first.
    fn hold(&mut self, chunk: &Chunk<'_>) {
        let (mut from, end) = (chunk.offset, chunk.end());
        let mut at = self.held.partition_point(|held| held.end() <= from);
        let (mut repeats, mut overtaken) = (false, false);
        while from < end {
            let behind = self.held.get(at).map(|held| (held.offset, held.end()));
            match behind {
                Some((start, held_end)) if start <= from => {
                    repeats = true;
                    from = held_end;
                }
                _ => {
                    let to = behind.map_or(end, |(start, _)| start.min(end));
                    overtaken |= behind.is_some();
                    let seen_ns = self.held.get(at..).and_then(earliest);
                    let held = Held::of(&part(chunk, from, to), seen_ns);
                    self.held_bytes += held.bytes.len();
                    self.held.insert(at, held);
                    from = to;
                }
            }
            at += 1;
        }
        self.counts.retransmitted += u64::from(repeats);
        self.counts.out_of_order += u64::from(overtaken);
    }

    /// Hands on what is held as far as it is in order or its holes are acknowledged.
    #[cold]
    fn release(&mut self, out: &mut impl Receiver) {
        while let Some(first) = self.held.first() {
            let start = first.offset;
            if start > self.next {
                if start > self.acknowledged {
                    return;
                }
                self.skip_hole(out);
            }
            let held = self.held.remove(0);
            self.held_bytes -= held.bytes.len();
            self.next = held.end();
            match held.seen_ns {
                Some(seen_ns) => out.late(&held.chunk(), seen_ns),
                None => out.data(&held.chunk()),
            }
        }
    }

    /// Gives up the hole before the first held segment.
    fn skip_hole(&mut self, out: &mut impl Receiver) {
        let Some(first) = self.held.first() else { return };
        let Some(len) = first.offset.checked_sub(self.next).filter(|&len| len > 0) else { return };
        self.given_up[self.given_up_next] = (self.next, first.offset);
        self.given_up_next = (self.given_up_next + 1) % self.given_up.len();
        let acknowledged = first.offset <= self.acknowledged;
        self.next = first.offset;
        out.hole(len, self.next, acknowledged);
    }
}

/// The data of a segment that begins at `offset`; `stamp` is its time, its frame and what it acknowledges.
#[inline]
fn chunk<'a>(segment: &Segment<'a>, offset: u64, (time_ns, frame, acknowledges): (i64, u64, u64)) -> Chunk<'a> {
    let wire_len = segment.wire_len;
    let captured = segment.payload.len().min(wire_len as usize);
    let bytes = segment.payload.get(..captured).unwrap_or_default();
    Chunk { offset, bytes, wire_len, time_ns, frame, acknowledges }
}

/// Whether a sequence number is ahead of an offset, and no further than any window.
#[inline]
fn is_ahead(seq: u32, next: u64) -> bool {
    let ahead = u64::from(seq.wrapping_sub(next as u32));
    ahead != 0 && ahead <= JUMP_MAX
}

/// When the first of these segments came.
fn earliest(held: &[Held]) -> Option<i64> {
    held.iter().map(|held| held.time_ns).min()
}

/// The part of a chunk between two offsets within it.
fn part<'a>(chunk: &Chunk<'a>, from: u64, to: u64) -> Chunk<'a> {
    let captured = |offset: u64| ((offset - chunk.offset) as usize).min(chunk.bytes.len());
    let bytes = chunk.bytes.get(captured(from)..captured(to)).unwrap_or_default();
    Chunk { offset: from, bytes, wire_len: (to - from) as u32, ..*chunk }
}

#[cfg(test)]
mod tests;
