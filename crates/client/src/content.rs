//! File content: reproducible bytes, which can be written without a copy and verified without a stored original.

use std::ops::Range;
use std::sync::Arc;

use rand::{RngCore, SeedableRng};

/// Incompressible bytes of one seed. The byte at `offset` of the file `key` is the byte at
/// `(offset + shift(key)) mod PERIOD` of one block that all files share.
pub struct Content {
    block: Arc<[u8]>,
}

/// Bytes after which a file repeats itself: a prime near 1 MiB, so that blocks of no usual size are ever equal.
pub const PERIOD: usize = 1_048_573;

impl Content {
    /// The content of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut block = vec![0; PERIOD];
        rand::rngs::StdRng::seed_from_u64(seed).fill_bytes(&mut block);
        Self { block: block.into() }
    }

    /// Uses a text instead of random bytes, at the beginning of the file [`Content::HELD`], followed by zeros. Text beyond [`PERIOD`] is
    /// cut.
    #[must_use]
    pub fn holding(text: &[u8]) -> Self {
        let mut block = vec![0; PERIOD];
        block.iter_mut().zip(text).for_each(|(byte, given)| *byte = *given);
        Self { block: block.into() }
    }

    /// Exactly these bytes, at `offset` of the file [`Content::HELD`].
    #[must_use]
    pub fn at(offset: u64, bytes: &[u8]) -> Self {
        let mut block = bytes.to_vec();
        if !block.is_empty() {
            let shift = (offset % block.len() as u64) as usize;
            block.rotate_right(shift);
        }
        Self { block: block.into() }
    }

    /// The key whose file begins where the block begins.
    pub const HELD: u64 = 0;

    /// The shared block that [`Content::pieces`] index.
    #[must_use]
    pub fn block(&self) -> &Arc<[u8]> {
        &self.block
    }

    /// Where in the block the bytes of a file stand, in order.
    pub fn pieces(&self, key: u64, offset: u64, length: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let period = self.block.len();
        let mut at = start(key, offset, period);
        let mut left = if period == 0 { 0 } else { length };
        std::iter::from_fn(move || {
            let count = left.min(period - at);
            let piece = at..at + count;
            left -= count;
            at = 0;
            (count > 0).then_some(piece)
        })
    }

    /// Whether `data` is what stands at `offset` of the file `key`.
    #[must_use]
    pub fn matches(&self, key: u64, offset: u64, data: &[u8]) -> bool {
        let mut rest = data;
        self.pieces(key, offset, data.len()).all(|piece| {
            let (head, tail) = rest.split_at(piece.len());
            rest = tail;
            self.block.get(piece) == Some(head)
        })
    }
}

fn start(key: u64, offset: u64, period: usize) -> usize {
    // Fibonacci hashing spreads neighbouring keys over the block.
    let shift = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let period = period.max(1) as u64;
    ((offset % period + shift % period) % period) as usize
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Content")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(content: &Content, key: u64, offset: u64, length: usize) -> Vec<u8> {
        content.pieces(key, offset, length).flat_map(|piece| content.block()[piece].to_vec()).collect()
    }

    #[test]
    fn any_range_is_a_cut_of_the_same_file() {
        let content = Content::new(7);
        let whole = bytes(&content, 3, 0, 3 * PERIOD);
        for (offset, length) in [(0, 1), (1, 0), (PERIOD - 5, 10), (17, 2 * PERIOD)] {
            let cut = bytes(&content, 3, offset as u64, length);
            assert_eq!(cut, whole[offset..offset + length]);
            assert!(content.matches(3, offset as u64, &cut));
        }
    }

    #[test]
    fn bytes_stand_at_any_offset() {
        for offset in [0, 3, 7, 8, u64::MAX - 6] {
            let content = Content::at(offset, b"payload");
            assert_eq!(bytes(&content, Content::HELD, offset, 7), b"payload");
            assert_eq!(bytes(&content, Content::HELD, offset.saturating_add(2), 5), b"yload");
        }
        assert!(bytes(&Content::at(5, b""), Content::HELD, 5, 3).is_empty());
    }

    #[test]
    fn a_text_can_be_held() {
        let content = Content::holding(b"a manifest");
        assert_eq!(bytes(&content, Content::HELD, 0, 11), b"a manifest\0");
    }

    #[test]
    fn other_files_and_other_places_do_not_match() {
        let content = Content::new(7);
        let cut = bytes(&content, 3, 4096, 64);
        assert!(!content.matches(4, 4096, &cut));
        assert!(!content.matches(3, 4097, &cut));
        assert!(!Content::new(8).matches(3, 4096, &cut));
    }
}
