//! Decodes captured frames of any link type into TCP segments and UDP datagrams.
//!
//! The decoder follows nested tunnels up to a depth: the result is the innermost TCP segment or UDP datagram, with its own addresses. The
//! tunnel's addresses and network numbers are dropped.
//!
//! Nothing is copied: payloads borrow from the frame. Lengths are those *on the wire*, so a short snap length does not look like short
//! packets.

mod content;
mod datagram;
mod erspan;
mod ethernet;
mod ethertype;
mod fragments;
mod geneve;
mod gre;
mod inner;
mod ip;
mod layer;
mod link;
mod mpls;
mod path;
mod ppp;
mod segment;
mod stamp;
mod transport;
mod vxlan;

pub use content::Packet;
pub use datagram::{Datagram, Fragment, Network};
pub use fragments::Fragments;
pub use path::{Address, Path, ip_address};
pub use segment::{Segment, SegmentBuf, TcpFlags};
pub use stamp::Stamp;

use crate::capture::LinkType;
use inner::Header;
use layer::Layer;

/// Decodes the most common frames quickly: TCP in plain IP in plain Ethernet. `None` for all other frames, valid or not, which [`decode`]
/// handles; for these frames it returns the same result.
#[inline]
pub fn decode_plain_tcp(link: LinkType, captured: &[u8]) -> Option<(Path, Segment<'_>)> {
    let datagram = ip::parse_plain(link::plain(link, captured)?)?;
    if datagram.protocol == transport::TCP { transport::tcp(&datagram) } else { None }
}

/// Decodes one frame. `original_len` is its length on the wire, bytes.
#[inline]
pub fn decode(link: LinkType, captured: &[u8], original_len: u32) -> Packet<'_> {
    link::decode(link, Layer { bytes: captured, wire_len: original_len, depth: 0 }, from_header)
}

/// Decodes a datagram reassembled by [`Fragments`]; a tunnel's datagram may contain a fragment of another one.
pub fn decode_whole<'a>(datagram: &Datagram<'a>) -> Packet<'a> {
    transport::parse(datagram, 0, from_header)
}

/// Decodes a packet from a header that may follow other headers.
fn from_header<'a>(header: Header, layer: Layer<'a>) -> Packet<'a> {
    match header {
        Header::Ethernet => ethernet::decode(layer, from_header),
        Header::Ethertype(ethertype) => ethernet::typed(ethertype, layer, from_header),
        Header::Ip => ip::decode(layer, from_header),
        Header::Mpls => mpls::decode(layer, from_header),
        Header::Ppp => ppp::decode(layer, from_header),
        Header::PppOverEthernet => ppp::over_ethernet(layer, from_header),
        Header::Erspan => erspan::decode(layer, from_header),
    }
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
