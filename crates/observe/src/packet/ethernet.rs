//! Ethernet frames and EtherTypes: IP, VLAN tags, LLC and SNAP, provider bridges.
//!
//! Spec: IEEE 802.3 3.2.6; IEEE 802.1Q 9.6 (VLAN tags), 9.7 (I-TAG of 802.1ah); IEEE 802.2; RFC 1042

use super::content::Packet;
use super::ethertype::{
    ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_MPLS, ETHERTYPE_MPLS_UPSTREAM, ETHERTYPE_PBB, ETHERTYPE_PPPOE_SESSION,
    ETHERTYPES_VLAN,
};
use super::inner::{Header, Inner};
use super::ip;
use super::layer::Layer;

/// Types up to this number are the frame's length, and an LLC header follows.
const LENGTH_MAX: u16 = 1_500;
/// Ethernet headers are 14 bytes: two addresses and a type.
pub(super) const HEADER_LEN: usize = 14;
/// An I-TAG behind its EtherType: flags and the service identifier.
const I_TAG_LEN: usize = 4;
/// Deeper stacks of VLAN tags than this are taken for garbage.
const VLAN_TAGS_MAX: usize = 4;

/// An Ethernet frame from its destination address on.
#[inline]
pub(super) fn decode<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    typed_at(layer, HEADER_LEN - 2, HEADER_LEN, inner)
}

/// A header that holds an EtherType at `type_at` and ends at `len`.
#[inline]
pub(super) fn typed_at<'a>(layer: Layer<'a>, type_at: usize, len: usize, inner: impl Inner<'a>) -> Packet<'a> {
    match (layer.be16(type_at), layer.after(len)) {
        (Some(ethertype), Some(behind)) => typed(ethertype, behind, inner),
        _ => Packet::Malformed,
    }
}

/// Decodes the bytes after an EtherType.
#[inline]
pub(super) fn typed<'a>(ethertype: u16, layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => ip::decode(layer, inner),
        _ => tagged(ethertype, layer, inner),
    }
}

/// Decodes the bytes after an EtherType other than IP; skips VLAN tags.
fn tagged<'a>(mut ethertype: u16, mut layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    for _ in 0..=VLAN_TAGS_MAX {
        if !ETHERTYPES_VLAN.contains(&ethertype) {
            return untagged(ethertype, layer, inner);
        }
        // A tag is two bytes of control information and the EtherType of the following bytes.
        let (Some(next), Some(behind)) = (layer.be16(2), layer.after(4)) else { return Packet::Malformed };
        (ethertype, layer) = (next, behind);
    }
    Packet::Other
}

fn untagged<'a>(ethertype: u16, layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => ip::decode(layer, inner),
        ETHERTYPE_MPLS | ETHERTYPE_MPLS_UPSTREAM => layer.inside(0, |packet| inner(Header::Mpls, packet)),
        ETHERTYPE_PPPOE_SESSION => layer.inside(0, |packet| inner(Header::PppOverEthernet, packet)),
        ETHERTYPE_PBB => layer.inside(I_TAG_LEN, |packet| inner(Header::Ethernet, packet)),
        0..=LENGTH_MAX => llc(layer, inner),
        _ => Packet::Other,
    }
}

/// An LLC header: SNAP with an EtherType, or the service access point that was once given to IP.
fn llc<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    match layer.bytes {
        // Organisation 0 is RFC 1042, 0x0000f8 is bridges to it (IEEE 802.1H).
        [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, ..] => layer.inside(0, |packet| snap(packet, inner)),
        [0x06, 0x06, 0x03, ..] => layer.inside(3, |packet| ip::decode(packet, inner)),
        _ => Packet::Other,
    }
}

fn snap<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    typed_at(layer, 6, 8, inner)
}
