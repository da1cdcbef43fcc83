//! The handle of an open file.
//!
//! Spec: MS-SMB2 2.2.14.1

/// A server's 16-byte handle of an open. Only equality means something to anyone but the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub [u8; 16]);

impl FileId {
    /// All ones: "the file of the member before", in related compound requests (3.2.4.1.4).
    pub const PREVIOUS: Self = Self([0xFF; 16]);

    /// True for [`Self::PREVIOUS`]: which file it is, the member before says.
    #[must_use]
    pub fn is_previous(&self) -> bool {
        *self == Self::PREVIOUS
    }

    /// The half that survives a reconnect of a durable handle.
    #[must_use]
    pub fn persistent(&self) -> u64 {
        self.half(0)
    }

    fn half(&self, at: usize) -> u64 {
        self.0.iter().skip(at).take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_the_previous_file() {
        let mut bytes = [0xFF; 16];
        assert!(FileId(bytes).is_previous());
        bytes[0] = 0x01;
        let id = FileId(bytes);
        assert!(!id.is_previous());
        assert_eq!(id.persistent(), 0xFFFF_FFFF_FFFF_FF01);
    }
}
