//! Segments that wait behind a hole.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Chunk;

/// Segments and bytes of each direction that wait in any case.
pub(super) const SEGMENTS_USUAL: usize = 1_024;
const BYTES_USUAL: usize = 1 << 20;
/// Segments and bytes that wait at most, if there is memory: a path of 10 Gbit/s and 10 ms has 12.5 MB in flight.
pub(super) const SEGMENTS_MAX: usize = 16_384;
const BYTES_MAX: usize = 16 << 20;
/// Memory that a waiting segment takes in addition to its bytes. It includes unused room of the queue, which may be half empty.
pub(super) const SEGMENT_BYTES: u64 = 208;

/// A segment that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Held {
    /// Without its bytes.
    chunk: Chunk<'static>,
    bytes: Vec<u8>,
    /// Since when later bytes had been there when it came; `None` if none were.
    pub(super) seen_ns: Option<i64>,
    /// When the first of this segment and all later ones came, ns.
    earliest_ns: i64,
}

impl Held {
    fn of(chunk: &Chunk<'_>, seen_ns: Option<i64>) -> Self {
        let came_ns = chunk.stamp.time_ns;
        let earliest_ns = seen_ns.map_or(came_ns, |seen_ns| seen_ns.min(came_ns));
        Self { chunk: Chunk { bytes: &[], ..*chunk }, bytes: chunk.bytes.to_vec(), seen_ns, earliest_ns }
    }

    pub(super) fn chunk(&self) -> Chunk<'_> {
        Chunk { bytes: &self.bytes, ..self.chunk }
    }
}

/// Relation of a new chunk to the stored bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Relation {
    /// Bytes that waited already.
    pub(super) repeats: bool,
    /// Bytes in front of some that waited already.
    pub(super) overtaken: bool,
}

/// Segments behind a hole, by offset; no two overlap.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct HeldSegments {
    segments: VecDeque<Held>,
    bytes: usize,
}

impl HeldSegments {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.segments.len() > SEGMENTS_MAX || self.bytes > BYTES_MAX
    }

    /// Memory of what waits beyond the usual, bytes.
    pub(super) fn excess(&self) -> u64 {
        let segments = self.segments.len().saturating_sub(SEGMENTS_USUAL) as u64;
        segments * SEGMENT_BYTES + self.bytes.saturating_sub(BYTES_USUAL) as u64
    }

    /// Gives memory back that only many segments need.
    pub(super) fn shrink(&mut self) {
        if self.segments.len() <= SEGMENTS_USUAL {
            self.segments.shrink_to(SEGMENTS_USUAL);
        }
    }

    /// When the packet came whose bytes are the first.
    pub(super) fn first_ns(&self) -> Option<i64> {
        self.segments.front().map(|held| held.chunk.stamp.time_ns)
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.segments.capacity()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Offset of the first byte.
    pub(super) fn start(&self) -> Option<u64> {
        self.segments.front().map(|held| held.chunk.offset)
    }

    /// Offset behind the last byte.
    pub(super) fn end(&self) -> Option<u64> {
        self.segments.back().map(|held| held.chunk.end())
    }

    /// When the first of the segments came.
    pub(super) fn earliest(&self) -> Option<i64> {
        self.earliest_from(0)
    }

    fn earliest_from(&self, at: usize) -> Option<i64> {
        self.segments.get(at).map(|held| held.earliest_ns)
    }

    /// Stores a segment in front of the one at `at`.
    fn insert(&mut self, at: usize, held: Held) {
        let earliest_ns = held.earliest_ns;
        self.bytes += held.bytes.len();
        self.segments.insert(at, held);
        // These times never fall from one segment to the next, so the first that is early enough ends the loop: mostly the first of all.
        for before in self.segments.range_mut(..at).rev() {
            if before.earliest_ns <= earliest_ns {
                return;
            }
            before.earliest_ns = earliest_ns;
        }
    }

    pub(super) fn take_first(&mut self) -> Option<Held> {
        let held = self.segments.pop_front()?;
        self.bytes -= held.bytes.len();
        Some(held)
    }

    /// Stores the new bytes of a chunk. Stored bytes stay: they keep the time and frame of their first arrival.
    pub(super) fn add(&mut self, chunk: &Chunk<'_>) -> Relation {
        let (mut from, end) = (chunk.offset, chunk.end());
        let mut at = self.segments.partition_point(|held| held.chunk.end() <= from);
        let mut relation = Relation::default();
        while from < end {
            let behind = self.segments.get(at).map(|held| (held.chunk.offset, held.chunk.end()));
            match behind {
                Some((start, held_end)) if start <= from => {
                    relation.repeats = true;
                    from = held_end;
                }
                _ => {
                    let to = behind.map_or(end, |(start, _)| start.min(end));
                    relation.overtaken |= behind.is_some();
                    self.insert(at, Held::of(&chunk.part(from, to), self.earliest_from(at)));
                    from = to;
                }
            }
            at += 1;
        }
        relation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Stamp;

    #[test]
    fn the_earliest_segment_is_known_in_any_order_of_offsets_and_times() {
        let mut held = HeldSegments::default();
        let arrivals = [(50, 9), (10, 12), (30, 7), (20, 8), (60, 3), (40, 5), (5, 20), (70, 1), (65, 30)];
        for (offset, time_ns) in arrivals {
            let stamp = Stamp { time_ns, frame: 1 };
            held.add(&Chunk { offset, bytes: b"x", wire_len: 1, stamp, acknowledges: 0 });
            for at in 0..held.len() {
                let times = held.segments.iter().skip(at).map(|held| held.chunk.stamp.time_ns);
                assert_eq!(held.earliest_from(at), times.min());
            }
        }
        let seen: Vec<_> = std::iter::from_fn(|| held.take_first()).map(|held| held.seen_ns).collect();
        let later = [Some(3), Some(9), Some(7), Some(9), Some(3), None, None, Some(1), None];
        assert_eq!(seen, later, "as it was when each came");
    }
}
