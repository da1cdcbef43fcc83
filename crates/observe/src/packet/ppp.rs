//! PPP: on serial lines, with Cisco's HDLC header, in Ethernet (PPPoE) and in GRE (PPTP).
//!
//! Spec: RFC 1661 2 and 6.5; RFC 1662 3.1; RFC 2516 4; RFC 4349 (Cisco HDLC)

use super::content::Packet;
use super::inner::{Header, Inner};
use super::layer::{Layer, be16};
use super::{ethernet, ip};

const PROTOCOL_IPV4: u16 = 0x0021;
const PROTOCOL_IPV6: u16 = 0x0057;
/// RFC 3032 4.2.
const PROTOCOL_MPLS: u16 = 0x0281;
const PROTOCOL_MPLS_MULTICAST: u16 = 0x0283;
/// A PPPoE header: version and type, code, session and length.
const PPPOE_LEN: usize = 6;
/// Version 1, type 1, code 0: session data.
const PPPOE_SESSION_DATA: [u8; 2] = [0x11, 0x00];
/// Cisco HDLC: address, control and an EtherType.
const CISCO_HDLC_LEN: usize = 4;

/// Decodes a PPP frame (with or without HDLC's address and control bytes), or a frame of Cisco HDLC.
pub(super) fn decode<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    match layer.bytes {
        // Unicast and multicast of Cisco's: PPP has no such protocols.
        [0x0f | 0x8f, 0x00, ..] => cisco_hdlc(layer, inner),
        [0xff, 0x03, ..] => layer.after(2).map_or(Packet::Malformed, |packet| protocol(packet, inner)),
        _ => protocol(layer, inner),
    }
}

/// A PPP frame behind a byte for its direction, which some systems put in the place of HDLC's address.
pub(super) fn with_direction<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    match layer.bytes {
        [_, 0x03, ..] => layer.after(2).map_or(Packet::Malformed, |packet| protocol(packet, inner)),
        _ => layer.after(1).map_or(Packet::Malformed, |packet| decode(packet, inner)),
    }
}

/// A frame of Cisco's HDLC.
pub(super) fn cisco_hdlc<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    ethernet::typed_at(layer, CISCO_HDLC_LEN - 2, CISCO_HDLC_LEN, inner)
}

/// A PPPoE session's packet.
pub(super) fn over_ethernet<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    if !layer.bytes.starts_with(&PPPOE_SESSION_DATA) {
        return Packet::Other;
    }
    layer.after(PPPOE_LEN).map_or(Packet::Malformed, |packet| protocol(packet, inner))
}

/// The protocol number, of one byte where the ends agreed on that (RFC 1661 6.5), and its packet.
fn protocol<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    let (number, len) = match layer.bytes.first() {
        Some(&short) if short & 1 == 1 => (Some(u16::from(short)), 1),
        _ => (be16(layer.bytes, 0), 2),
    };
    match number {
        Some(PROTOCOL_IPV4 | PROTOCOL_IPV6) => layer.inside(len, |packet| ip::decode(packet, inner)),
        Some(PROTOCOL_MPLS | PROTOCOL_MPLS_MULTICAST) => layer.inside(len, |packet| inner(Header::Mpls, packet)),
        Some(_) => Packet::Other,
        None => Packet::Malformed,
    }
}
