//! VXLAN: Ethernet in UDP.
//!
//! Spec: RFC 7348 5; draft-smith-vxlan-group-policy-05 2.1

use super::content::Packet;
use super::inner::{Header, Inner};
use super::layer::Layer;

/// The assigned port, and the port that Linux used before the assignment.
pub(super) const PORTS: [u16; 2] = [4789, 8472];
const HEADER_LEN: usize = 8;
/// The network identifier is valid: always set.
const HAS_NETWORK: u8 = 0x08;
/// A flag of the group policy extension, whose other fields are in otherwise reserved bytes.
const HAS_GROUP: u8 = 0x80;

/// The frame in a datagram's payload; `None` where this is no VXLAN header.
pub(super) fn decode<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Option<Packet<'a>> {
    let &[flags, reserved, group @ .., _, _, _, last] = layer.bytes.first_chunk::<HEADER_LEN>()?;
    let plausible = match flags {
        HAS_NETWORK => reserved == 0 && group == [0, 0],
        _ => flags == HAS_NETWORK | HAS_GROUP,
    };
    (plausible && last == 0).then(|| layer.inside(HEADER_LEN, |packet| inner(Header::Ethernet, packet)))
}
