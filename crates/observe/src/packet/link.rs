//! The link layer: decodes the first header of a frame by link type.
//!
//! Spec: the LINKTYPE list of the pcap project.

use super::content::Packet;
use super::inner::Inner;
use super::layer::Layer;
use super::{ethernet, ethertype, ip, ppp};
use crate::capture::LinkType;

/// The IP packet after the most common header: Ethernet without VLAN tags. `None` for all other frames, which [`decode`] handles.
#[inline]
pub(super) fn plain(link: LinkType, frame: &[u8]) -> Option<&[u8]> {
    let (header, ip) = frame.split_first_chunk::<{ ethernet::HEADER_LEN }>()?;
    let ethertype = u16::from_be_bytes([header[12], header[13]]);
    let is_ip = matches!(ethertype, ethertype::ETHERTYPE_IPV4 | ethertype::ETHERTYPE_IPV6);
    (link == LinkType::Ethernet && is_ip).then_some(ip)
}

#[inline]
pub(super) fn decode<'a>(link: LinkType, frame: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    match link {
        LinkType::Ethernet => ethernet::decode(frame, inner),
        LinkType::LinuxCooked1 => ethernet::typed_at(frame, 14, 16, inner),
        LinkType::LinuxCooked2 => ethernet::typed_at(frame, 0, 20, inner),
        LinkType::Null | LinkType::Loop => family(frame, inner),
        LinkType::RawIp => ip::decode(frame, inner),
        LinkType::Ppp => ppp::decode(frame, inner),
        LinkType::PppWithDirection => ppp::with_direction(frame, inner),
        LinkType::PppOverEthernet => ppp::over_ethernet(frame, inner),
        LinkType::CiscoHdlc => ppp::cisco_hdlc(frame, inner),
        LinkType::Other(_) => Packet::UnknownLink,
    }
}

/// BSD loopback: four bytes of address family in the byte order of the machine that captured.
fn family<'a>(frame: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    let (Some(word), Some(behind)) = (frame.bytes.first_chunk::<4>(), frame.after(4)) else { return Packet::Malformed };
    // Families are small: whichever end holds the non-zero byte is the low one.
    let family = if word[0] == 0 { word[3] } else { word[0] };
    match family {
        // AF_INET; AF_INET6 of Linux, NetBSD, FreeBSD and Darwin.
        2 | 10 | 24 | 28 | 30 => ip::decode(behind, inner),
        _ => Packet::Other,
    }
}
