//! What a frame turned out to hold.

use super::datagram::Fragment;
use super::path::Path;
use super::segment::Segment;

/// What a frame turned out to hold.
#[derive(Clone, Copy, Debug)]
pub enum Packet<'a> {
    /// A TCP segment.
    Tcp(Path, Segment<'a>),
    /// A whole UDP datagram: payload, and its length on the wire.
    Udp(Path, &'a [u8], u32),
    /// A piece of an IP datagram: give it to [`Fragments`](super::Fragments).
    Fragment(Fragment<'a>),
    /// IP with another protocol inside, or not IP at all.
    Other,
    /// Headers cut off or in contradiction with themselves.
    Malformed,
    /// Tunnels in each other, more than are followed.
    TooDeep,
    /// A link type that is not understood.
    UnknownLink,
}

impl Packet<'_> {
    /// Whether there was traffic behind every header: what a guess at the kind of a packet needs to be right.
    pub(super) fn is_decoded(&self) -> bool {
        matches!(self, Packet::Tcp(..) | Packet::Udp(..) | Packet::Fragment(_) | Packet::TooDeep)
    }
}
