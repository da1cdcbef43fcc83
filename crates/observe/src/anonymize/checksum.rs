//! The checksum of IP, TCP and UDP.
//!
//! Spec: RFC 1071

/// A partial checksum. Every part except the last must have an even number of bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Checksum(u64);

impl Checksum {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<2>();
        self.0 += words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>();
        self.0 += rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    }

    pub(super) fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        // RFC 1071 3: the sum is ddf2.
        let mut sum = Checksum::default();
        sum.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.finish(), !0xddf2);
        sum.add(&[0x80]);
        assert_eq!(sum.finish(), !0x5df3);
    }
}
