//! Segments too small for recognising a protocol: some programs send the length of a message in a separate segment.

use serde::{Deserialize, Serialize};

use crate::message::HEADER_NEED;
use crate::packet::Stamp;
use crate::stream::Chunk;

/// The bytes of one direction in front of the next ones, as long as the framing is unknown and they are too few to show it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FirstBytes {
    bytes: Vec<u8>,
    offset: u64,
    stamp: Stamp,
    acknowledges: u64,
}

impl FirstBytes {
    /// Bytes that may begin a message; nothing where they are enough to show one, or were cut.
    pub(super) fn new(chunk: &Chunk<'_>) -> Option<Self> {
        let few = chunk.bytes.len() < HEADER_NEED && chunk.bytes.len() == chunk.wire_len as usize;
        let Chunk { offset, stamp, acknowledges, .. } = *chunk;
        few.then(|| Self { bytes: chunk.bytes.to_vec(), offset, stamp, acknowledges })
    }

    /// These bytes and enough of the next ones to recognise a message; None if `next` does not follow them directly.
    pub(super) fn with(&self, next: &Chunk<'_>) -> Option<Vec<u8>> {
        let follows = self.chunk().end() == next.offset;
        let few = next.bytes.get(..HEADER_NEED).unwrap_or(next.bytes);
        follows.then(|| [&self.bytes, few].concat())
    }

    /// The same with the next bytes added, where they are still too few.
    pub(super) fn joined(self, next: &Chunk<'_>) -> Option<Self> {
        let bytes = self.with(next).filter(|bytes| bytes.len() < HEADER_NEED)?;
        (next.bytes.len() == next.wire_len as usize).then_some(Self { bytes, ..self })
    }

    /// As the first of the packets brought them.
    pub(super) fn chunk(&self) -> Chunk<'_> {
        let &Self { ref bytes, offset, stamp, acknowledges } = self;
        Chunk { offset, bytes, wire_len: bytes.len() as u32, stamp, acknowledges }
    }
}
