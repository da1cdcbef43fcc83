//! The transport layer: TCP and UDP headers, and the tunnels with their own protocol or port number.
//!
//! Spec: RFC 9293 3.1; RFC 768; RFC 2003 (IPv4 in IPv4); RFC 2473 (in IPv6); RFC 4213 (IPv6 in IPv4)

use super::content::Packet;
use super::datagram::Datagram;
use super::inner::{Header, Inner};
use super::layer::Layer;
use super::path::Path;
use super::segment::{Segment, TcpFlags};
use super::{geneve, gre, vxlan};

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;
const MPLS_IN_IP: u8 = 137;

/// Decodes a datagram with `depth` encapsulations around it.
#[inline]
pub(super) fn parse<'a>(datagram: &Datagram<'a>, depth: u8, inner: impl Inner<'a>) -> Packet<'a> {
    match datagram.protocol {
        TCP => tcp(datagram).map_or(Packet::Malformed, |(path, segment)| Packet::Tcp(path, segment)),
        UDP => match udp(datagram) {
            Some((path, payload, wire_len)) => in_udp(&path, Layer { bytes: payload, wire_len, depth }, inner)
                .unwrap_or(Packet::Udp(path, payload, wire_len)),
            None => Packet::Malformed,
        },
        _ => tunnel(datagram, depth, inner),
    }
}

fn tunnel<'a>(datagram: &Datagram<'a>, depth: u8, inner: impl Inner<'a>) -> Packet<'a> {
    let payload = Layer { bytes: datagram.payload, wire_len: datagram.wire_len, depth };
    match datagram.protocol {
        IPV4_IN_IP | IPV6_IN_IP => payload.inside(0, |packet| inner(Header::Ip, packet)),
        GRE => gre::decode(payload, inner),
        MPLS_IN_IP => payload.inside(0, |packet| inner(Header::Mpls, packet)),
        _ => Packet::Other,
    }
}

/// Content of a tunnel's datagram; `None` if it is not a tunnel. The port alone is weak evidence, so a valid header with traffic after it
/// is required.
#[inline]
fn in_udp<'a>(path: &Path, payload: Layer<'a>, inner: impl Inner<'a>) -> Option<Packet<'a>> {
    let tunnelled = match path.destination_port {
        port if vxlan::PORTS.contains(&port) => vxlan::decode(payload, inner),
        geneve::PORT => geneve::decode(payload, inner),
        _ => return None,
    };
    tunnelled.filter(Packet::is_decoded)
}

/// The ends of a packet; `None` if both are the same, because the direction is then ambiguous (a forged packet).
#[inline]
fn path(datagram: &Datagram<'_>, header: &[u8; 4]) -> Option<Path> {
    let path = Path {
        source: datagram.source,
        destination: datagram.destination,
        source_port: u16::from_be_bytes([header[0], header[1]]),
        destination_port: u16::from_be_bytes([header[2], header[3]]),
    };
    (path.source_port != path.destination_port || path.source != path.destination).then_some(path)
}

/// The segment of a datagram that holds TCP; `None` where it is malformed.
#[inline]
pub(super) fn tcp<'a>(datagram: &Datagram<'a>) -> Option<(Path, Segment<'a>)> {
    let header: &[u8; 20] = datagram.payload.first_chunk()?;
    let header_len = usize::from(header[12] >> 4) * 4;
    let wire_len = datagram.wire_len.checked_sub(header_len as u32)?;
    if header_len < 20 {
        return None;
    }
    let flags = TcpFlags(header[13]);
    let segment = Segment {
        seq: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        ack: u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
        flags,
        window: u16::from_be_bytes([header[14], header[15]]),
        window_scale: if flags.syn() {
            window_scale(datagram.payload.get(20..header_len).unwrap_or_default())
        } else {
            None
        },
        // A snaplen may have cut inside the options.
        payload: datagram.payload.get(header_len..).unwrap_or_default(),
        wire_len,
    };
    Some((path(datagram, datagram.payload.first_chunk()?)?, segment))
}

/// The window scale among a SYN's options.
#[cold]
fn window_scale(mut options: &[u8]) -> Option<u8> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const WINDOW_SCALE: u8 = 3;
    loop {
        options = match *options {
            [NOTHING, ref rest @ ..] => rest,
            [WINDOW_SCALE, 3, scale, ..] => return Some(scale),
            [END, ..] | [] | [_] => return None,
            // An option's length counts its first two bytes.
            [_, length, ..] => options.get(usize::from(length.max(2))..)?,
        };
    }
}

/// The ends of a datagram that holds UDP, its payload, and the payload's length on the wire; `None` where it is malformed.
#[inline]
fn udp<'a>(datagram: &Datagram<'a>) -> Option<(Path, &'a [u8], u32)> {
    let header: &[u8; 8] = datagram.payload.first_chunk()?;
    let length = u32::from(u16::from_be_bytes([header[4], header[5]]));
    let wire_len = match length {
        // RFC 2675: a jumbogram's length is 0.
        0 => datagram.wire_len.checked_sub(8)?,
        length => length.min(datagram.wire_len).checked_sub(8)?,
    };
    let captured = datagram.payload.len().min(8 + wire_len as usize);
    Some((path(datagram, datagram.payload.first_chunk()?)?, datagram.payload.get(8..captured)?, wire_len))
}

#[cfg(test)]
mod tests {
    use super::window_scale;

    #[test]
    fn the_window_scale_is_found_among_the_options_of_a_syn() {
        // Linux: MSS, SACK permitted, timestamps, padding, window scale.
        let linux = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(window_scale(&linux), Some(7));
        assert_eq!(window_scale(&linux[..16]), None, "there is none");
        assert_eq!(window_scale(&[3, 3]), None, "cut");
        assert_eq!(window_scale(&[8, 0, 0, 3, 3, 9]), None, "a length of 0 is no end in itself");
        assert_eq!(window_scale(&[0, 3, 3, 9]), None, "behind the end");
        assert_eq!(window_scale(&[]), None);
    }
}
