//! The record mark: what frames RPC messages on a byte stream.
//!
//! Spec: RFC 5531 11

/// The four bytes before each fragment of a record on TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordMark {
    /// True on the record's last fragment; most records have only one.
    pub last: bool,
    /// Bytes of the fragment that follow the mark, below 2^31.
    pub length: u32,
}

impl RecordMark {
    /// Bytes of a mark.
    pub const SIZE: usize = 4;

    /// Reads the mark at the start of `bytes`; `None` when fewer than four were captured.
    #[inline]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let word = crate::xdr::u32_at(bytes, 0)?;
        Some(Self { last: word & 0x8000_0000 != 0, length: word & 0x7FFF_FFFF })
    }
}
