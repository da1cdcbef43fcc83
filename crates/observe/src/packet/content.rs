//! Decoded content of a frame.

use super::datagram::Fragment;
use super::path::Path;
use super::segment::Segment;

/// Decoded content of a frame.
#[derive(Clone, Copy, Debug)]
pub enum Packet<'a> {
    /// A TCP segment.
    Tcp(Path, Segment<'a>),
    /// A complete UDP datagram: path, payload, and the payload's length on the wire.
    Udp(Path, &'a [u8], u32),
    /// A piece of an IP datagram: give it to [`Fragments`](super::Fragments).
    Fragment(Fragment<'a>),
    /// IP with another protocol inside, or not IP at all.
    Other,
    /// Headers cut off or in contradiction with themselves.
    Malformed,
    /// More nested tunnels than the decoder follows.
    TooDeep,
    /// A link type that is not understood.
    UnknownLink,
}

impl Packet<'_> {
    /// Whether every header was followed by traffic, which confirms a guess of the packet's kind.
    pub(super) fn is_decoded(&self) -> bool {
        matches!(self, Packet::Tcp(..) | Packet::Udp(..) | Packet::Fragment(_) | Packet::TooDeep)
    }
}
