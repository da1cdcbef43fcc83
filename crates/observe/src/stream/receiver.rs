//! What takes the bytes and holes of a stream.

use super::Chunk;

/// Takes the output of a [`TcpFlow`](super::TcpFlow). (Method calls instead of an enum, because this is the hottest path.)
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
    /// Bytes came after their hole was given up, which was not acknowledged. `is_last`: no others of it are missing.
    fn found(&mut self, _chunk: &Chunk<'_>, _is_last: bool) {}
    /// The stream restarted at an unrelated position: incomplete data is lost.
    fn restart(&mut self);
    /// Asks for memory for more segments than usual, which wait behind a hole since `since_ns`.
    fn reserve(&mut self, _bytes: u64, _since_ns: i64) -> bool {
        true
    }
    /// Gives reserved memory back.
    fn give_back(&mut self, _bytes: u64) {}
}
