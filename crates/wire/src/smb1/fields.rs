//! Little-endian integers at an offset, `None` where the bytes end.

pub(super) fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The part of `start..start + length` that exists; empty when `start` is beyond the end.
pub(super) fn clipped(bytes: &[u8], start: usize, length: usize) -> &[u8] {
    let end = start.saturating_add(length).min(bytes.len());
    bytes.get(start..end).unwrap_or_default()
}
