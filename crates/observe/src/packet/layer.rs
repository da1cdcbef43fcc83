//! The part of a packet that is still to be decoded, and how many encapsulations lie around it.

use super::content::Packet;

/// Maximum number of nested encapsulations. Networks use two or three (VXLAN in IPsec, MPLS in GRE in PPPoE).
pub(super) const DEPTH_MAX: u8 = 8;

/// A packet from one of its headers on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer<'a> {
    /// The captured bytes.
    pub(super) bytes: &'a [u8],
    /// Its length on the wire, bytes.
    pub(super) wire_len: u32,
    /// Encapsulations around it.
    pub(super) depth: u8,
}

impl<'a> Layer<'a> {
    /// The bytes after `len` bytes; `None` if the packet is shorter.
    #[inline]
    pub(super) fn after(self, len: usize) -> Option<Self> {
        let bytes = self.bytes.get(len..)?;
        Some(Self { bytes, wire_len: self.wire_len.saturating_sub(len as u32), depth: self.depth })
    }

    /// Decodes the packet that is encapsulated behind a header of `len` bytes.
    pub(super) fn inside(self, len: usize, decode: impl FnOnce(Layer<'a>) -> Packet<'a>) -> Packet<'a> {
        match self.after(len).map(Self::deeper) {
            Some(Some(inner)) => decode(inner),
            Some(None) => Packet::TooDeep,
            None => Packet::Malformed,
        }
    }

    /// This packet as one that is encapsulated in another; `None` where too many are already around it.
    pub(super) fn deeper(self) -> Option<Self> {
        (self.depth < DEPTH_MAX).then_some(Self { depth: self.depth + 1, ..self })
    }

    /// The 16-bit number at `at`.
    #[inline]
    pub(super) fn be16(self, at: usize) -> Option<u16> {
        be16(self.bytes, at)
    }
}

#[inline]
pub(super) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[inline]
pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
