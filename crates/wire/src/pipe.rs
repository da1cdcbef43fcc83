//! Remote procedure calls on named pipes, as far as it takes to tell them from file data.
//!
//! Spec: MS-RPCE 2.2.1.1.2, C706 12.6.3.1

/// Length of the header that all calls have.
pub const CALL_LEN: usize = 16;

/// Whether data begin as a remote procedure call does: version 5, a known kind, little-endian numbers, a length that fits.
#[inline]
#[must_use]
pub fn is_call(data: &[u8]) -> bool {
    const KIND_MAX: u8 = 19;
    const LITTLE_ENDIAN: [u8; 4] = [0x10, 0, 0, 0];
    let Some(&[5, 0 | 1, kind, _, d0, d1, d2, d3, len_low, len_high, ..]) = data.first_chunk::<CALL_LEN>() else {
        return false;
    };
    let len = u16::from_le_bytes([len_low, len_high]);
    kind <= KIND_MAX && [d0, d1, d2, d3] == LITTLE_ENDIAN && usize::from(len) >= CALL_LEN
}

/// The header of a call at the beginning of data; nothing where they do not begin so.
#[must_use]
pub fn call_header(data: &[u8]) -> &[u8] {
    data.get(..CALL_LEN).filter(|_| is_call(data)).unwrap_or_default()
}
