//! GENEVE: Ethernet or IP in UDP, behind options.
//!
//! Spec: RFC 8926 3.4 and 3.5

use super::content::Packet;
use super::ethertype;
use super::inner::{Header, Inner};
use super::layer::Layer;

pub(super) const PORT: u16 = 6081;
const HEADER_LEN: usize = 8;
/// Version 0 in the upper two bits; below it the options' length in words of four bytes.
const VERSION_MASK: u8 = 0xc0;
const PROTOCOL_ETHERNET: u16 = 0x6558;

/// The packet in a datagram's payload; `None` where this is no GENEVE header.
pub(super) fn decode<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Option<Packet<'a>> {
    let &[first, flags, _, _, _, _, _, reserved] = layer.bytes.first_chunk::<HEADER_LEN>()?;
    // Of the flags, the lower six bits are reserved.
    if first & VERSION_MASK != 0 || flags & 0x3f != 0 || reserved != 0 {
        return None;
    }
    let len = HEADER_LEN + usize::from(first) * 4;
    match layer.be16(2)? {
        PROTOCOL_ETHERNET => Some(layer.inside(len, |packet| inner(Header::Ethernet, packet))),
        ethertype::ETHERTYPE_IPV4 | ethertype::ETHERTYPE_IPV6 => {
            Some(layer.inside(len, |packet| inner(Header::Ip, packet)))
        }
        _ => None,
    }
}
