//! Bytes of a stream as a packet brought them.

use serde::{Deserialize, Serialize};

use crate::packet::{Segment, Stamp};

/// Bytes of a stream as one packet brought them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Chunk<'a> {
    /// Place of the first byte in the stream.
    pub offset: u64,
    /// The captured bytes; fewer than `wire_len` if the snap length cut them.
    #[serde(skip)]
    pub bytes: &'a [u8],
    /// Length on the wire.
    pub wire_len: u32,
    /// The packet that brought them.
    pub stamp: Stamp,
    /// Offset in the other direction that this packet acknowledged; 0 without an acknowledgement.
    pub acknowledges: u64,
}

impl<'a> Chunk<'a> {
    /// The data of a segment that begins at `offset`.
    #[inline]
    pub(super) fn of(segment: &Segment<'a>, offset: u64, stamp: Stamp, acknowledges: u64) -> Self {
        let wire_len = segment.wire_len;
        let captured = segment.payload.len().min(wire_len as usize);
        let bytes = segment.payload.get(..captured).unwrap_or_default();
        Self { offset, bytes, wire_len, stamp, acknowledges }
    }

    /// The part between two of its offsets.
    pub(super) fn part(&self, from: u64, to: u64) -> Self {
        let captured = |offset: u64| ((offset - self.offset) as usize).min(self.bytes.len());
        let bytes = self.bytes.get(captured(from)..captured(to)).unwrap_or_default();
        Self { offset: from, bytes, wire_len: (to - from) as u32, ..*self }
    }

    /// Place behind the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.offset + u64::from(self.wire_len)
    }
}
