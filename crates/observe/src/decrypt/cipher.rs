//! The four ciphers that encrypt messages.
//!
//! Spec: MS-SMB2 2.2.41, 3.1.4.3; RFC 5084 (CCM and GCM)

use std::fmt;

use aes::{Aes128, Aes256};
use aes_gcm::AesGcm;
use ccm::Ccm;
use ccm::aead::consts::{U11, U12, U16};
use ccm::aead::inout::InOutBuf;
use ccm::aead::{AeadInOut, KeyInit, Nonce, Tag};
use plimsoll_wire::smb2::negotiate::Cipher;
use plimsoll_wire::smb2::transform;

pub(super) enum KeyedCipher {
    Aes128Ccm(Box<Ccm<Aes128, U16, U11>>),
    Aes128Gcm(Box<AesGcm<Aes128, U12>>),
    Aes256Ccm(Box<Ccm<Aes256, U16, U11>>),
    Aes256Gcm(Box<AesGcm<Aes256, U12>>),
}

impl KeyedCipher {
    /// `None` unless the key has the cipher's length.
    pub(super) fn new(cipher: Cipher, key: &[u8]) -> Option<Self> {
        Some(match cipher {
            Cipher::Aes128Ccm => Self::Aes128Ccm(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Cipher::Aes128Gcm => Self::Aes128Gcm(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Cipher::Aes256Ccm => Self::Aes256Ccm(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Cipher::Aes256Gcm => Self::Aes256Gcm(Box::new(KeyInit::new_from_slice(key).ok()?)),
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

impl fmt::Debug for KeyedCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyedCipher(..)")
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

    const ALL: [Cipher; 4] = [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm];

    /// Each cipher refuses messages that a cipher with another key or of another kind sealed. The vectors in `sessions` check two of them
    /// against independent data.
    #[test]
    fn each_opens_its_own_and_nothing_else() {
        for sealed_by in ALL {
            let cipher = KeyedCipher::new(sealed_by, &vec![7; sealed_by.key_len()]).unwrap();
            let message = seal(&cipher, 5, b"plain text, more than one block of it");
            let (header, sealed) = message.split_first_chunk().unwrap();
            let mut plain = Vec::new();
            assert!(cipher.open(header, sealed, &mut plain));
            assert_eq!(plain, b"plain text, more than one block of it");
            for opened_by in ALL {
                for byte in [7, 8] {
                    let other = KeyedCipher::new(opened_by, &vec![byte; opened_by.key_len()]).unwrap();
                    assert_eq!(other.open(header, sealed, &mut plain), opened_by == sealed_by && byte == 7);
                }
            }
        }
    }

    #[test]
    fn any_bit_changed_is_refused() {
        let cipher = KeyedCipher::new(Cipher::Aes128Gcm, &[7; 16]).unwrap();
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
    fn a_key_of_another_length_makes_nothing() {
        assert!(KeyedCipher::new(Cipher::Aes256Gcm, &[1; 16]).is_none());
    }
}
