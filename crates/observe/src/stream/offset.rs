//! 32-bit sequence numbers as 64-bit stream offsets, so that nothing behind this file thinks of wrapping.
//!
//! Spec: RFC 9293 3.4.

/// The offset that a sequence number means, being the nearest to `near` of all that have these low 32 bits.
#[inline]
pub(super) fn nearest(seq: u32, near: u64) -> u64 {
    let distance = seq.wrapping_sub(near as u32) as i32;
    near.wrapping_add_signed(i64::from(distance))
}

/// The first offset of a stream: its sequence number, far enough from 0 that going back never wraps.
#[inline]
pub(super) fn first(seq: u32) -> u64 {
    (1 << 33) + u64::from(seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap_and_offsets_do_not() {
        let before = first(u32::MAX - 9);
        assert_eq!(nearest(5, before), before + 15);
        assert_eq!(nearest(u32::MAX - 9, before + 15), before);
    }
}
