//! Packets: from a captured frame to a TCP segment or UDP datagram, whatever the link type.
//!
//! Nothing is copied: payloads borrow from the frame. Lengths are those *on the wire*, so that a short snaplen
//! does not look like short packets.

mod fragments;
mod ip;
mod link;
mod transport;

pub use fragments::Fragments;
pub use ip::{Datagram, Fragment, Network};
pub use transport::{Segment, TcpFlags};

use crate::capture::LinkType;

/// An IPv4 (mapped into IPv6 as ::ffff:a.b.c.d) or IPv6 address as one number: cheap to hash and compare.
pub type Address = u128;

/// The address as the standard library has it.
pub fn ip_address(address: Address) -> std::net::IpAddr {
    std::net::Ipv6Addr::from(address).to_canonical()
}

/// Source and destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
}

impl Path {
    /// The way back.
    pub fn reversed(&self) -> Path {
        Path {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}

/// What a frame turned out to hold.
#[derive(Clone, Copy, Debug)]
pub enum Packet<'a> {
    /// A TCP segment.
    Tcp(Path, Segment<'a>),
    /// A whole UDP datagram: payload, and its length on the wire.
    Udp(Path, &'a [u8], u32),
    /// A piece of an IP datagram: give it to [`Fragments`].
    Fragment(Fragment<'a>),
    /// IP with another protocol inside, or not IP at all.
    Other,
    /// Headers cut off or in contradiction with themselves.
    Malformed,
    /// A link type that is not understood.
    UnknownLink,
}

/// Decodes one frame. `original_len` is its length on the wire, bytes.
#[inline]
pub fn decode(link: LinkType, captured: &[u8], original_len: u32) -> Packet<'_> {
    let network = match link::network(link, captured, original_len) {
        link::Payload::Ip { bytes, wire_len } => ip::parse(bytes, wire_len),
        link::Payload::NotIp => return Packet::Other,
        link::Payload::Malformed => return Packet::Malformed,
        link::Payload::UnknownLink => return Packet::UnknownLink,
    };
    match network {
        Network::Datagram(datagram) => transport::parse(&datagram),
        Network::Fragment(fragment) => Packet::Fragment(fragment),
        Network::Malformed => Packet::Malformed,
    }
}

/// Decodes the transport header of a datagram put together by [`Fragments`].
pub fn decode_whole<'a>(datagram: &Datagram<'a>) -> Packet<'a> {
    transport::parse(datagram)
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[inline]
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
