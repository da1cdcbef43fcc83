//! GRE: IP, Ethernet (NVGRE too), MPLS, ERSPAN, or PPP as PPTP has it.
//!
//! Spec: RFC 2784; RFC 2890 (key and sequence number); RFC 7637 (NVGRE); RFC 2637 4.1 (PPTP)

use super::content::Packet;
use super::inner::{Header, Inner};
use super::layer::Layer;

const HAS_CHECKSUM: u16 = 0x8000;
/// RFC 1701's source routes, which RFC 2784 removed; such packets are not decoded.
const HAS_ROUTING: u16 = 0x4000;
const HAS_KEY: u16 = 0x2000;
const HAS_SEQUENCE: u16 = 0x1000;
/// Of PPTP's version alone.
const HAS_ACKNOWLEDGEMENT: u16 = 0x0080;
const VERSION_MASK: u16 = 0x0007;
/// Flags and protocol; each field that a flag announces is as long.
const FIELD_LEN: usize = 4;

/// Transparent Ethernet bridging, also NVGRE.
const PROTOCOL_ETHERNET: u16 = 0x6558;
/// ERSPAN types I and II.
const PROTOCOL_ERSPAN: u16 = 0x88be;
const PROTOCOL_ERSPAN_3: u16 = 0x22eb;
const PROTOCOL_PPP: u16 = 0x880b;

/// A packet from its GRE header on.
pub(super) fn decode<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    let (Some(flags), Some(protocol)) = (layer.be16(0), layer.be16(2)) else { return Packet::Malformed };
    let has = |flag: u16| usize::from(flags & flag != 0);
    match (flags & VERSION_MASK, protocol) {
        (0, _) if flags & HAS_ROUTING != 0 => Packet::Other,
        (0, _) => {
            let len = FIELD_LEN * (1 + has(HAS_CHECKSUM) + has(HAS_KEY) + has(HAS_SEQUENCE));
            let has_sequence = flags & HAS_SEQUENCE != 0;
            layer.after(len).map_or(Packet::Malformed, |packet| payload(protocol, has_sequence, packet, inner))
        }
        (1, PROTOCOL_PPP) => {
            // The key is always there: it holds the payload's length and the call.
            layer.inside(FIELD_LEN * (2 + has(HAS_SEQUENCE) + has(HAS_ACKNOWLEDGEMENT)), |packet| {
                inner(Header::Ppp, packet)
            })
        }
        _ => Packet::Other,
    }
}

fn payload<'a>(protocol: u16, has_sequence: bool, layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    match protocol {
        PROTOCOL_ETHERNET => layer.inside(0, |packet| inner(Header::Ethernet, packet)),
        // Type I has no ERSPAN header, and no sequence number in the GRE header.
        PROTOCOL_ERSPAN if !has_sequence => layer.inside(0, |packet| inner(Header::Ethernet, packet)),
        PROTOCOL_ERSPAN | PROTOCOL_ERSPAN_3 => layer.inside(0, |packet| inner(Header::Erspan, packet)),
        _ => layer.deeper().map_or(Packet::TooDeep, |packet| inner(Header::Ethertype(protocol), packet)),
    }
}
