//! A place in the bytes that a packet brought.

use crate::packet::Stamp;
use crate::stream::Chunk;

/// A place in a chunk.
pub(super) struct Cursor<'c, 'b> {
    pub(super) chunk: &'c Chunk<'b>,
    pub(super) at: usize,
    /// Messages that began in this chunk.
    pub(super) begun: u32,
}

impl<'b> Cursor<'_, 'b> {
    #[inline]
    pub(super) fn rest(&self) -> &'b [u8] {
        self.chunk.bytes.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn wire_rest(&self) -> usize {
        self.chunk.wire_len as usize - self.at
    }

    #[inline]
    pub(super) fn stamp(&self) -> Stamp {
        self.chunk.stamp
    }

    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.chunk.offset + self.at as u64
    }

    pub(super) fn skip_all(&mut self) {
        self.at = self.chunk.wire_len as usize;
    }
}
