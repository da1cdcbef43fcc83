//! Headers that may follow each other, in any order. Their decoders do not depend on each other.

use super::content::Packet;
use super::layer::Layer;

/// A header that may begin another header's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    Ethernet,
    /// The header of an EtherType.
    Ethertype(u16),
    Ip,
    Mpls,
    Ppp,
    PppOverEthernet,
    Erspan,
}

/// Decodes a packet from such a header on. Headers get it as an argument: a function, known when they are compiled.
pub(super) trait Inner<'a>: Fn(Header, Layer<'a>) -> Packet<'a> + Copy {}

impl<'a, F: Fn(Header, Layer<'a>) -> Packet<'a> + Copy> Inner<'a> for F {}
