//! IP datagrams, whole and in pieces.

use super::path::Address;

/// The payload of a complete IP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Protocol number (6 TCP, 17 UDP).
    pub protocol: u8,
    /// The captured part of the payload.
    pub payload: &'a [u8],
    /// Length of the payload on the wire, bytes.
    pub wire_len: u32,
}

/// A piece of an IP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    /// The piece, as if it were a datagram.
    pub piece: Datagram<'a>,
    /// Identification.
    pub id: u32,
    /// Place of the piece in the whole, bytes.
    pub offset: u32,
    /// Whether more pieces follow.
    pub more: bool,
}

/// Content of an IP packet.
#[derive(Clone, Copy, Debug)]
pub enum Network<'a> {
    /// A complete datagram.
    Datagram(Datagram<'a>),
    /// A piece of one.
    Fragment(Fragment<'a>),
    /// Cut off or contradictory.
    Malformed,
}
