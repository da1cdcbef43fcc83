//! The network layer: IPv4 and IPv6, extension headers, fragments.
//!
//! Spec: RFC 791; RFC 8200.

use super::content::Packet;
use super::datagram::{Datagram, Fragment, Network};
use super::inner::Inner;
use super::layer::{Layer, be16, be32};
use super::path::Address;
use super::transport;

/// ::ffff:0:0/96, the place of IPv4 addresses among IPv6's (RFC 4291 2.5.5.2).
const IPV4_MAPPED: Address = 0xffff_0000_0000;

/// A packet from its IP header on.
#[inline]
pub(super) fn decode<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    match parse(layer.bytes, layer.wire_len) {
        Network::Datagram(datagram) => transport::parse(&datagram, layer.depth, inner),
        Network::Fragment(fragment) => Packet::Fragment(fragment),
        Network::Malformed => Packet::Malformed,
    }
}

#[inline]
fn parse(bytes: &[u8], wire_len: u32) -> Network<'_> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => ipv4(bytes, wire_len),
        Some(6) => ipv6(bytes, wire_len),
        _ => Network::Malformed,
    }
}

/// The datagram of a packet with the most common header: no options, no extension headers, not a fragment, and with a length. `None` for
/// all other packets, which [`parse`] handles.
#[inline]
pub(super) fn parse_plain(bytes: &[u8]) -> Option<Datagram<'_>> {
    let start = bytes.first_chunk::<20>()?;
    match start[0] {
        0x45 => {
            let total = u32::from(u16::from_be_bytes([start[2], start[3]]));
            let is_fragment = u16::from_be_bytes([start[6], start[7]]) & 0x3fff != 0;
            if total < 20 || is_fragment {
                return None;
            }
            Some(Datagram {
                source: ipv4_address([start[12], start[13], start[14], start[15]]),
                destination: ipv4_address([start[16], start[17], start[18], start[19]]),
                protocol: start[9],
                payload: clip(bytes, 20, total as usize)?,
                wire_len: total - 20,
            })
        }
        0x60..=0x6f => {
            let (header, behind) = bytes.split_first_chunk::<40>()?;
            let wire_len = u32::from(u16::from_be_bytes([header[4], header[5]]));
            if wire_len == 0 || is_extension(header[6]) {
                return None;
            }
            let payload = behind.get(..wire_len as usize).unwrap_or(behind);
            let (source, destination) = (address(header, 8), address(header, 24));
            Some(Datagram { source, destination, protocol: header[6], payload, wire_len })
        }
        _ => None,
    }
}

#[inline]
fn ipv4_address(octets: [u8; 4]) -> Address {
    IPV4_MAPPED | Address::from(u32::from_be_bytes(octets))
}

// The result is made where it is returned, not unwrapped from an option: it is large, and moved for every packet.

#[inline]
fn ipv4(bytes: &[u8], wire_len: u32) -> Network<'_> {
    let Some(header) = bytes.first_chunk::<20>() else { return Network::Malformed };
    let header_len = usize::from(header[0] & 0x0f) * 4;
    // A total length of 0 comes from segmentation offload, in captures of outgoing packets.
    let total = match u16::from_be_bytes([header[2], header[3]]) {
        0 => wire_len,
        total => u32::from(total),
    };
    if header_len < 20 || (total as usize) < header_len {
        return Network::Malformed;
    }
    let Some(payload) = clip(bytes, header_len, total as usize) else { return Network::Malformed };
    let datagram = Datagram {
        source: ipv4_address([header[12], header[13], header[14], header[15]]),
        destination: ipv4_address([header[16], header[17], header[18], header[19]]),
        protocol: header[9],
        payload,
        wire_len: total - header_len as u32,
    };
    let flags = u16::from_be_bytes([header[6], header[7]]);
    // Bit 13 is "more fragments", the low 13 bits the offset in units of 8 bytes.
    if flags & 0x3fff == 0 {
        return Network::Datagram(datagram);
    }
    Network::Fragment(Fragment {
        piece: datagram,
        id: u32::from(u16::from_be_bytes([header[4], header[5]])),
        offset: u32::from(flags & 0x1fff) * 8,
        more: flags & 0x2000 != 0,
    })
}

#[inline]
fn ipv6(bytes: &[u8], wire_len: u32) -> Network<'_> {
    let Some((header, behind)) = bytes.split_first_chunk::<40>() else { return Network::Malformed };
    let (source, destination) = (address(header, 8), address(header, 24));
    let payload_len = match u32::from(u16::from_be_bytes([header[4], header[5]])) {
        // A jumbogram, or segmentation offload.
        0 if wire_len < 40 => return Network::Malformed,
        0 => wire_len - 40,
        length => length,
    };
    let payload = behind.get(..payload_len as usize).unwrap_or(behind);
    let whole = Datagram { source, destination, protocol: header[6], payload, wire_len: payload_len };
    if is_extension(header[6]) {
        behind_extensions(whole).unwrap_or(Network::Malformed)
    } else {
        Network::Datagram(whole)
    }
}

#[inline]
fn is_extension(protocol: u8) -> bool {
    matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION | MOBILITY)
}

#[inline]
fn address(header: &[u8; 40], at: usize) -> Address {
    let mut octets = [0; 16];
    octets.copy_from_slice(&header[at..at + 16]);
    Address::from_be_bytes(octets)
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const EXTENSION_HEADERS_MAX: usize = 16;

/// Steps over the extension headers that `whole` begins with.
fn behind_extensions(whole: Datagram<'_>) -> Option<Network<'_>> {
    let (mut protocol, mut at) = (whole.protocol, 0usize);
    let mut piece_of = None;
    for _ in 0..EXTENSION_HEADERS_MAX {
        let header = whole.payload.get(at..).unwrap_or_default();
        match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => at += (usize::from(*header.get(1)?) + 1) * 8,
            AUTHENTICATION => at += (usize::from(*header.get(1)?) + 2) * 4,
            FRAGMENT => {
                let flags = be16(header, 2)?;
                piece_of = Some((be32(header, 4)?, u32::from(flags & 0xfff8), flags & 1 != 0));
                at += 8;
            }
            _ => break,
        }
        protocol = *header.first()?;
        if piece_of.is_some() {
            break;
        }
    }
    let wire_len = whole.wire_len.checked_sub(u32::try_from(at).ok()?)?;
    let piece = Datagram { protocol, payload: whole.payload.get(at..)?, wire_len, ..whole };
    Some(match piece_of {
        Some((id, offset, more)) if more || offset > 0 => Network::Fragment(Fragment { piece, id, offset, more }),
        _ => Network::Datagram(piece),
    })
}

/// The captured part of `start..end`: Ethernet pads short packets, and a snaplen cuts long ones.
#[inline]
fn clip(bytes: &[u8], start: usize, end: usize) -> Option<&[u8]> {
    bytes.get(start..end.min(bytes.len()))
}
