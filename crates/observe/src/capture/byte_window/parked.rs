//! Bytes that the window has left and that are still needed: packets that were read and not given out.

use std::ops::Range;

use super::{BUFFER_BYTES, ByteWindow};

/// Pieces that may be parked before all that waits is given out. A block of packets takes a handful of buffers.
const PARKED_MAX: usize = 16;

/// Bytes that the window has left.
pub(super) struct Parked {
    pub(super) place: u64,
    /// The place behind the last one.
    pub(super) end: u64,
    pub(super) bytes: Vec<u8>,
}

impl ByteWindow {
    /// From now on bytes before `place` are not needed any more, and later ones stay.
    pub(in super::super) fn keep_from(&mut self, place: u64) {
        self.kept_from = place;
        while self.parked.front().is_some_and(|parked| parked.end <= place)
            && let Some(parked) = self.parked.pop_front()
        {
            // A file that is mapped is rarely read again.
            if parked.bytes.len() == BUFFER_BYTES && self.spare.len() < PARKED_MAX && self.map.is_none() {
                self.spare.push(parked.bytes);
            }
        }
    }

    /// Whether the window is so full that it must release bytes before the next read.
    #[inline]
    pub(in super::super) fn is_crowded(&self) -> bool {
        self.parked.len() >= PARKED_MAX
    }

    /// The places in the window, in front of `available()`, that are needed.
    pub(super) fn needed(&self) -> Range<u64> {
        let end = self.skipping_from.unwrap_or(u64::MAX).min(self.place());
        self.kept_from.max(self.front())..end
    }

    /// Moves the needed bytes out before the window is replaced: a buffer as it is, of a map a copy.
    pub(super) fn park(&mut self) {
        let (kept, front) = (self.needed(), self.front());
        if kept.is_empty() {
            return;
        }
        let (place, bytes) = match &self.map {
            None => (front, std::mem::take(&mut self.buffer)),
            Some(map) => {
                let within = (kept.start - front) as usize..(kept.end - front) as usize;
                (kept.start, map.bytes().get(within).unwrap_or_default().to_vec())
            }
        };
        self.parked.push_back(Parked { place, end: kept.end, bytes });
    }

    /// Bytes that the window has left.
    #[cold]
    pub(super) fn left(&self, place: u64, len: usize) -> &[u8] {
        let within = |parked: &&Parked| parked.place <= place && place + len as u64 <= parked.end;
        let Some(parked) = self.parked.iter().find(within) else {
            debug_assert!(len == 0, "{len} bytes at offset {place} are no longer in the buffer");
            return &[];
        };
        let at = (place - parked.place) as usize;
        parked.bytes.get(at..at + len).unwrap_or_default()
    }
}
