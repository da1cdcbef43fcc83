//! Packets: from a captured frame to a TCP segment or UDP datagram, whatever the link type.
//!
//! Tunnels are followed, one in another up to a depth: what counts is the innermost TCP segment or UDP datagram, with its
//! own addresses. The tunnel's addresses and network numbers are not kept.
//!
//! Nothing is copied: payloads borrow from the frame. Lengths are those *on the wire*, so that a short snaplen
//! does not look like short packets.

mod erspan;
mod ethernet;
mod fragments;
mod geneve;
mod gre;
mod ip;
mod layer;
mod link;
mod mpls;
mod ppp;
mod transport;
mod vxlan;

pub use fragments::Fragments;
pub use ip::{Datagram, Fragment, Network};
use layer::Layer;
pub use transport::{Segment, SegmentBuf, TcpFlags};

use crate::capture::LinkType;

/// An IPv4 (mapped into IPv6 as ::ffff:a.b.c.d) or IPv6 address as one number: cheap to hash and compare.
pub type Address = u128;

/// The address as the standard library has it.
pub fn ip_address(address: Address) -> std::net::IpAddr {
    std::net::Ipv6Addr::from(address).to_canonical()
}

/// A time and the frame that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Capture time, ns since the Unix epoch.
    pub time_ns: i64,
    /// Frame number, from 1.
    pub frame: u64,
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
    /// Tunnels in each other, more than are followed.
    TooDeep,
    /// A link type that is not understood.
    UnknownLink,
}

impl Packet<'_> {
    /// Whether there was traffic behind every header: what a guess at the kind of a packet needs to be right.
    fn is_decoded(&self) -> bool {
        matches!(self, Packet::Tcp(..) | Packet::Udp(..) | Packet::Fragment(_) | Packet::TooDeep)
    }
}

/// Decodes a frame that is as most are, by the shortest way: TCP in plain IP in plain Ethernet. `None` for all others,
/// sound or not: they are for [`decode`], which says the same of these.
#[inline]
pub fn decode_plain_tcp(link: LinkType, captured: &[u8]) -> Option<(Path, Segment<'_>)> {
    let datagram = ip::parse_plain(link::plain(link, captured)?)?;
    if datagram.protocol == transport::TCP { transport::tcp(&datagram) } else { None }
}

/// Decodes one frame. `original_len` is its length on the wire, bytes.
#[inline]
pub fn decode(link: LinkType, captured: &[u8], original_len: u32) -> Packet<'_> {
    link::decode(link, Layer { bytes: captured, wire_len: original_len, depth: 0 })
}

/// Decodes a datagram put together by [`Fragments`]; what it holds may be a fragment of another, where it is a tunnel's.
pub fn decode_whole<'a>(datagram: &Datagram<'a>) -> Packet<'a> {
    transport::parse(datagram, 0)
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[inline]
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Ethernet, IP and TCP headers as most packets have them, and some payload.
    fn plain(is_ipv6: bool) -> Vec<u8> {
        let mut frame = vec![2; 12];
        if is_ipv6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 30, 6, 64]);
            frame.extend([[0xfe; 16], [0xfd; 16]].concat());
        } else {
            frame.extend([8, 0, 0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend([3, 255, 8, 1, 0, 0, 0, 7, 0, 0, 0, 9, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        frame.extend(*b"ten bytes.");
        frame
    }

    #[test]
    fn the_short_way_takes_what_most_packets_are() {
        for frame in [plain(false), plain(true)] {
            let (path, segment) = decode_plain_tcp(LinkType::Ethernet, &frame).unwrap();
            assert_eq!((path.source_port, path.destination_port), (1023, 2049));
            assert_eq!((segment.seq, segment.ack, segment.payload), (7, 9, &b"ten bytes."[..]));
        }
    }

    proptest! {
        #[test]
        fn the_short_way_says_what_the_long_one_does(
            is_ipv6: bool, cut in 0usize..90, padding in 0usize..10,
            damage in prop::collection::vec((0usize..80, prop_oneof![any::<u8>(), Just(0), Just(0x45), Just(6)]), 0..4)
        ) {
            let mut frame = plain(is_ipv6);
            frame.extend(vec![0; padding]);
            for (at, byte) in damage {
                let len = frame.len();
                frame[at % len] = byte;
            }
            let original_len = frame.len() as u32;
            frame.truncate(cut.max(20));
            if let Some((path, segment)) = decode_plain_tcp(LinkType::Ethernet, &frame) {
                let long = decode(LinkType::Ethernet, &frame, original_len);
                prop_assert_eq!(format!("{long:?}"), format!("{:?}", Packet::Tcp(path, segment)));
            }
        }
    }
}
