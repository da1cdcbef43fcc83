//! The ciphers of encrypted messages.
//!
//! Spec: MS-SMB2 2.2.3.1.2

/// The ciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// The only one of dialects 3.0 and 3.0.2.
    Aes128Ccm,
    /// Dialect 3.1.1.
    Aes128Gcm,
    /// Dialect 3.1.1, servers since 2021.
    Aes256Ccm,
    /// Dialect 3.1.1, servers since 2021.
    Aes256Gcm,
}

impl Cipher {
    /// As the specification writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Ccm => "AES-128-CCM",
            Self::Aes128Gcm => "AES-128-GCM",
            Self::Aes256Ccm => "AES-256-CCM",
            Self::Aes256Gcm => "AES-256-GCM",
        }
    }

    /// From the number in SMB2_ENCRYPTION_CAPABILITIES; `None` for 0 (none in common) and those that the specification
    /// does not name.
    #[must_use]
    pub const fn from_code(code: u16) -> Option<Self> {
        match code {
            1 => Some(Self::Aes128Ccm),
            2 => Some(Self::Aes128Gcm),
            3 => Some(Self::Aes256Ccm),
            4 => Some(Self::Aes256Gcm),
            _ => None,
        }
    }

    /// The number in SMB2_ENCRYPTION_CAPABILITIES.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Aes128Ccm => 1,
            Self::Aes128Gcm => 2,
            Self::Aes256Ccm => 3,
            Self::Aes256Gcm => 4,
        }
    }

    /// Bytes of its key.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes128Gcm => 16,
            Self::Aes256Ccm | Self::Aes256Gcm => 32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        let all = [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm];
        assert_eq!((1..=4).filter_map(Cipher::from_code).collect::<Vec<_>>(), all);
        assert_eq!(all.map(Cipher::code), [1, 2, 3, 4]);
        assert_eq!((Cipher::from_code(0), Cipher::from_code(5)), (None, None));
    }
}
