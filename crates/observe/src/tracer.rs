//! Reports the positions of packets and messages in their streams, for a second pass that rewrites a capture.

use crate::message::Message;
use crate::packet::Address;

/// The common fields of a datagram's fragments: source, destination, identification, protocol.
pub type FragmentKey = (Address, Address, u32, u8);

/// Receives the positions of packets and messages. Directions are 0 and 1; a connection's number is never used again.
pub trait Tracer: std::fmt::Debug {
    /// A packet brought data of a stream, the first byte of which stands at `offset`.
    fn segment(&mut self, frame: u64, connection: u32, direction: usize, offset: u64);

    /// A message was found in a stream. Missing bytes were not captured, or are not needed for its header and names.
    fn message(&mut self, connection: u32, direction: usize, message: &Message<'_>);

    /// A record of TLS begins at `offset` of a stream. `head`: its header, and the type of the message if it is a handshake.
    fn tls_record(&mut self, connection: u32, direction: usize, offset: u64, head: &[u8]);

    /// A message came in a datagram; of one in several fragments, `frame` completed it.
    fn datagram(&mut self, frame: u64, connection: u32, direction: usize, message: &Message<'_>);

    /// A packet contained a fragment, at `offset` of its datagram. `is_new`: of a datagram of which no other fragment is waiting.
    fn fragment(&mut self, frame: u64, key: FragmentKey, offset: u32, is_new: bool);

    /// All fragments of a datagram have come, the last one with this packet.
    fn whole(&mut self, frame: u64, key: FragmentKey);
}
