//! Where packets and messages stand in their streams, for whoever reads a capture a second time to change it.

use crate::message::Message;
use crate::packet::Address;

/// What the fragments of a datagram have in common: source, destination, identification, protocol.
pub type FragmentKey = (Address, Address, u32, u8);

/// Is told where packets and messages stand. Directions are 0 and 1; a connection's number is never used again.
pub trait Tracer: std::fmt::Debug {
    /// A packet brought data of a stream, the first byte of which stands at `offset`.
    fn segment(&mut self, frame: u64, connection: u32, direction: usize, offset: u64);

    /// A message was found in a stream. What it lacks was not captured, or is not needed for its header and names.
    fn message(&mut self, connection: u32, direction: usize, message: &Message<'_>);

    /// A message came in a datagram; of one in several fragments, `frame` completed it.
    fn datagram(&mut self, frame: u64, connection: u32, direction: usize, message: &Message<'_>);

    /// A packet brought a fragment of a datagram, which stands at `offset` in it.
    fn fragment(&mut self, frame: u64, key: FragmentKey, offset: u32);

    /// All fragments of a datagram have come, the last of them with this packet.
    fn whole(&mut self, frame: u64, key: FragmentKey);
}
