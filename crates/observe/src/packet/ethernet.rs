//! Ethernet frames, and what an EtherType says of the bytes behind it: IP, VLAN tags, LLC and SNAP, provider bridges.
//!
//! Spec: IEEE 802.3 3.2.6; IEEE 802.1Q 9.6 (VLAN tags), 9.7 (I-TAG of 802.1ah); IEEE 802.2; RFC 1042

use super::layer::Layer;
use super::{Packet, ip, mpls, ppp};

pub(super) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(super) const ETHERTYPE_IPV6: u16 = 0x86dd;
pub(super) const ETHERTYPE_MPLS: u16 = 0x8847;
/// MPLS with an upstream-assigned label, once called multicast (RFC 5332 3).
pub(super) const ETHERTYPE_MPLS_UPSTREAM: u16 = 0x8848;
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
/// 802.1ah: a frame of a customer in one of the provider, behind an I-TAG.
const ETHERTYPE_PBB: u16 = 0x88e7;
/// 802.1Q, 802.1ad and the older QinQ values.
const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
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
pub(super) fn decode(layer: Layer<'_>) -> Packet<'_> {
    typed_at(layer, HEADER_LEN - 2, HEADER_LEN)
}

/// A header that holds an EtherType at `type_at` and ends at `len`.
#[inline]
pub(super) fn typed_at(layer: Layer<'_>, type_at: usize, len: usize) -> Packet<'_> {
    match (layer.be16(type_at), layer.after(len)) {
        (Some(ethertype), Some(behind)) => typed(ethertype, behind),
        _ => Packet::Malformed,
    }
}

/// What an EtherType stands for.
#[inline]
pub(super) fn typed(ethertype: u16, layer: Layer<'_>) -> Packet<'_> {
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => ip::decode(layer),
        _ => tagged(ethertype, layer),
    }
}

/// What an EtherType other than that of IP stands for, VLAN tags stepped over.
fn tagged(mut ethertype: u16, mut layer: Layer<'_>) -> Packet<'_> {
    for _ in 0..=VLAN_TAGS_MAX {
        if !ETHERTYPES_VLAN.contains(&ethertype) {
            return untagged(ethertype, layer);
        }
        // A tag is two bytes of control information and the EtherType of what follows.
        let (Some(next), Some(behind)) = (layer.be16(2), layer.after(4)) else { return Packet::Malformed };
        (ethertype, layer) = (next, behind);
    }
    Packet::Other
}

fn untagged(ethertype: u16, layer: Layer<'_>) -> Packet<'_> {
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => ip::decode(layer),
        ETHERTYPE_MPLS | ETHERTYPE_MPLS_UPSTREAM => layer.inside(0, mpls::decode),
        ETHERTYPE_PPPOE_SESSION => layer.inside(0, ppp::over_ethernet),
        ETHERTYPE_PBB => layer.inside(I_TAG_LEN, decode),
        0..=LENGTH_MAX => llc(layer),
        _ => Packet::Other,
    }
}

/// An LLC header: SNAP with an EtherType, or the service access point that was once given to IP.
fn llc(layer: Layer<'_>) -> Packet<'_> {
    match layer.bytes {
        // Organisation 0 is RFC 1042's, 0x0000f8 that of bridges to it (IEEE 802.1H).
        [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, ..] => layer.inside(0, snap),
        [0x06, 0x06, 0x03, ..] => layer.inside(3, ip::decode),
        _ => Packet::Other,
    }
}

fn snap(layer: Layer<'_>) -> Packet<'_> {
    typed_at(layer, 6, 8)
}
