//! The four ciphers that encrypt messages.
//!
//! Spec: MS-SMB2 2.2.3.1.2, 2.2.41, 3.1.4.3; RFC 5084 (CCM and GCM)

use std::fmt;

use aes::{Aes128, Aes256};
use aes_gcm::AesGcm;
use ccm::Ccm;
use ccm::aead::consts::{U11, U12, U16};
use ccm::aead::inout::InOutBuf;
use ccm::aead::{AeadInOut, KeyInit, Nonce, Tag};
use plimsoll_wire::smb2::transform;

/// A cipher as negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// The only one of dialects 3.0 and 3.0.2.
    Aes128Ccm,
    Aes128Gcm,
    Aes256Ccm,
    Aes256Gcm,
}

impl Algorithm {
    /// From the number on the wire; `None` for 0 (none in common) and unknown ones.
    pub(super) fn from_code(code: u16) -> Option<Self> {
        Some(match code {
            1 => Self::Aes128Ccm,
            2 => Self::Aes128Gcm,
            3 => Self::Aes256Ccm,
            4 => Self::Aes256Gcm,
            _ => return None,
        })
    }

    /// Bytes of its key.
    pub(super) fn key_len(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes128Gcm => 16,
            Self::Aes256Ccm | Self::Aes256Gcm => 32,
        }
    }
}

/// A cipher with its key.
pub(super) enum Cipher {
    Aes128Ccm(Box<Ccm<Aes128, U16, U11>>),
    Aes128Gcm(Box<AesGcm<Aes128, U12>>),
    Aes256Ccm(Box<Ccm<Aes256, U16, U11>>),
    Aes256Gcm(Box<AesGcm<Aes256, U12>>),
}

impl Cipher {
    /// `None` unless the key has the cipher's length.
    pub(super) fn new(algorithm: Algorithm, key: &[u8]) -> Option<Self> {
        Some(match algorithm {
            Algorithm::Aes128Ccm => Self::Aes128Ccm(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Algorithm::Aes128Gcm => Self::Aes128Gcm(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Algorithm::Aes256Ccm => Self::Aes256Ccm(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Algorithm::Aes256Gcm => Self::Aes256Gcm(Box::new(KeyInit::new_from_slice(key).ok()?)),
        })
    }

    /// Decrypts the bytes after a TRANSFORM_HEADER into `plain`. Returns false if they are not authentic; `plain` is then invalid.
    pub(super) fn open(&self, header: &[u8; transform::ENCRYPTED_LEN], sealed: &[u8], plain: &mut Vec<u8>) -> bool {
        plain.resize(sealed.len(), 0);
        match self {
            Self::Aes128Ccm(aead) => open(&**aead, header, sealed, plain),
            Self::Aes128Gcm(aead) => open(&**aead, header, sealed, plain),
            Self::Aes256Ccm(aead) => open(&**aead, header, sealed, plain),
            Self::Aes256Gcm(aead) => open(&**aead, header, sealed, plain),
        }
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(..)")
    }
}

fn open<A: AeadInOut>(aead: &A, header: &[u8; transform::ENCRYPTED_LEN], sealed: &[u8], plain: &mut [u8]) -> bool {
    // The cipher uses as much of the nonce field as it has room for; the field is authenticated whole.
    let (before, authenticated) = header.split_at(transform::NONCE);
    let nonce_len = Nonce::<A>::default().len();
    let nonce = authenticated.get(..nonce_len).and_then(|nonce| Nonce::<A>::try_from(nonce).ok());
    let tag = before.get(transform::SIGNATURE..).and_then(|tag| Tag::<A>::try_from(tag).ok());
    let (Some(nonce), Some(tag), Ok(buffer)) = (nonce, tag, InOutBuf::new(sealed, plain)) else { return false };
    aead.decrypt_inout_detached(&nonce, authenticated, buffer, &tag).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decrypt::testing::seal;

    const ALL: [Algorithm; 4] =
        [Algorithm::Aes128Ccm, Algorithm::Aes128Gcm, Algorithm::Aes256Ccm, Algorithm::Aes256Gcm];

    /// Each cipher refuses messages that a cipher with another key or of another kind sealed. The vectors in `sessions` check two of them
    /// against independent data.
    #[test]
    fn each_opens_its_own_and_nothing_else() {
        for sealed_by in ALL {
            let cipher = Cipher::new(sealed_by, &vec![7; sealed_by.key_len()]).unwrap();
            let message = seal(&cipher, 5, b"plain text, more than one block of it");
            let (header, sealed) = message.split_first_chunk().unwrap();
            let mut plain = Vec::new();
            assert!(cipher.open(header, sealed, &mut plain));
            assert_eq!(plain, b"plain text, more than one block of it");
            for opened_by in ALL {
                for byte in [7, 8] {
                    let other = Cipher::new(opened_by, &vec![byte; opened_by.key_len()]).unwrap();
                    assert_eq!(other.open(header, sealed, &mut plain), opened_by == sealed_by && byte == 7);
                }
            }
        }
    }

    #[test]
    fn any_bit_changed_is_refused() {
        let cipher = Cipher::new(Algorithm::Aes128Gcm, &[7; 16]).unwrap();
        let message = seal(&cipher, 5, b"plain");
        // The magic and the reserved bytes before the tag are all that is not authenticated.
        for at in transform::SIGNATURE..message.len() {
            let mut changed = message.clone();
            changed[at] ^= 1;
            let (header, sealed) = changed.split_first_chunk().unwrap();
            assert!(!cipher.open(header, sealed, &mut Vec::new()), "byte {at}");
        }
    }

    #[test]
    fn numbers_and_key_lengths() {
        assert_eq!((1..=4).filter_map(Algorithm::from_code).collect::<Vec<_>>(), ALL);
        assert_eq!((Algorithm::from_code(0), Algorithm::from_code(5)), (None, None));
        assert!(Cipher::new(Algorithm::Aes256Gcm, &[1; 16]).is_none());
    }
}
