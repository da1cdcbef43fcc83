//! EtherTypes.

pub(super) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(super) const ETHERTYPE_IPV6: u16 = 0x86dd;
pub(super) const ETHERTYPE_MPLS: u16 = 0x8847;
/// MPLS with an upstream-assigned label, once called multicast (RFC 5332 3).
pub(super) const ETHERTYPE_MPLS_UPSTREAM: u16 = 0x8848;
pub(super) const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
/// 802.1ah: a frame of a customer in one of the provider, behind an I-TAG.
pub(super) const ETHERTYPE_PBB: u16 = 0x88e7;
/// 802.1Q, 802.1ad and the older QinQ values.
pub(super) const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
