//! The link layer: where the IP header begins.
//!
//! Spec: IEEE 802.3, 802.1Q, 802.1ad; the LINKTYPE list of the pcap project.

use super::be16;
use crate::capture::LinkType;

pub(super) enum Payload<'a> {
    Ip { bytes: &'a [u8], wire_len: u32 },
    NotIp,
    Malformed,
    UnknownLink,
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad and the older QinQ values.
const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// Ethernet headers are 14 bytes: two addresses and a type.
const ETHERNET_LEN: usize = 14;
/// Deeper stacks of VLAN tags than this are taken for garbage.
const VLAN_TAGS_MAX: usize = 4;

/// The IP packet behind the plainest header there is: Ethernet without VLAN tags. `None` for all others, which are for
/// [`network`].
#[inline]
pub(super) fn plain(link: LinkType, frame: &[u8]) -> Option<&[u8]> {
    let (header, ip) = frame.split_first_chunk::<ETHERNET_LEN>()?;
    let ethertype = u16::from_be_bytes([header[12], header[13]]);
    (link == LinkType::Ethernet && matches!(ethertype, ETHERTYPE_IPV4 | ETHERTYPE_IPV6)).then_some(ip)
}

#[inline]
pub(super) fn network(link: LinkType, frame: &[u8], wire_len: u32) -> Payload<'_> {
    match link {
        LinkType::Ethernet => typed(frame, wire_len, 12, ETHERNET_LEN),
        LinkType::LinuxCooked1 => typed(frame, wire_len, 14, 16),
        LinkType::LinuxCooked2 => typed(frame, wire_len, 0, 20),
        LinkType::Null | LinkType::Loop => family(frame, wire_len),
        LinkType::RawIp => after(frame, wire_len, 0),
        _ => Payload::UnknownLink,
    }
}

/// Links whose header holds an EtherType at `type_at` and ends at `header_len`, VLAN tags to follow.
#[inline]
fn typed(frame: &[u8], wire_len: u32, type_at: usize, header_len: usize) -> Payload<'_> {
    let Some(mut ethertype) = be16(frame, type_at) else { return Payload::Malformed };
    let mut end = header_len;
    for _ in 0..=VLAN_TAGS_MAX {
        if ethertype == ETHERTYPE_IPV4 || ethertype == ETHERTYPE_IPV6 {
            return after(frame, wire_len, end);
        }
        if !ETHERTYPES_VLAN.contains(&ethertype) {
            return Payload::NotIp;
        }
        // A tag is two bytes of control information and the EtherType of what follows.
        let Some(inner) = be16(frame, end + 2) else { return Payload::Malformed };
        ethertype = inner;
        end += 4;
    }
    Payload::NotIp
}

/// BSD loopback: four bytes of address family in the byte order of the machine that captured.
fn family(frame: &[u8], wire_len: u32) -> Payload<'_> {
    let Some(word) = frame.get(..4) else { return Payload::Malformed };
    // Families are small: whichever end holds the non-zero byte is the low one.
    let family = if word[0] == 0 { word[3] } else { word[0] };
    match family {
        // AF_INET; AF_INET6 of Linux, NetBSD, FreeBSD and Darwin.
        2 | 10 | 24 | 28 | 30 => after(frame, wire_len, 4),
        _ => Payload::NotIp,
    }
}

#[inline]
fn after(frame: &[u8], wire_len: u32, header_len: usize) -> Payload<'_> {
    match frame.get(header_len..) {
        Some(bytes) => Payload::Ip { bytes, wire_len: wire_len.saturating_sub(header_len as u32) },
        None => Payload::Malformed,
    }
}
