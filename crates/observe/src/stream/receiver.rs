//! What takes the bytes and holes of a stream.

use super::Chunk;

/// Takes what comes out of a [`TcpFlow`](super::TcpFlow). (Calls, not a value to match on: this is the hottest path there is.)
pub trait Receiver {
    /// Bytes, in order.
    fn data(&mut self, chunk: &Chunk<'_>);
    /// Bytes, in order, that filled a gap: a segment with later bytes had been there since `seen_ns`.
    fn late(&mut self, chunk: &Chunk<'_>, _seen_ns: i64) {
        self.data(chunk);
    }
    /// `len` bytes in front of the stream offset `end` will never be seen. They are `acknowledged` if the receiver got them: then the capture
    /// dropped them.
    fn hole(&mut self, len: u64, end: u64, acknowledged: bool);
    /// The stream began anew at an unrelated place: whatever was under way is lost.
    fn restart(&mut self);
}
