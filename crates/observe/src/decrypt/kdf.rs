//! The keys of the ciphers, made from the session's key.
//!
//! Spec: MS-SMB2 3.1.4.2 (the function is NIST SP 800-108, counter mode, HMAC-SHA256, r = 32)

use hmac::{Hmac, KeyInit, Mac};
use plimsoll_wire::smb2::negotiate::Cipher;
use sha2::Sha256;

use super::cipher::KeyedCipher;
use super::keys::Secret;

/// A preauthentication integrity hash value.
pub(super) type Preauth = [u8; 64];

/// The two ciphers of a session of dialect 3.0 or 3.0.2: from client to server, and back.
pub(super) fn ciphers_of_3_0(session_key: &[u8]) -> Option<[KeyedCipher; 2]> {
    let keyed = |context| keyed(session_key, Cipher::Aes128Ccm, b"SMB2AESCCM\0", context);
    Some([keyed(b"ServerIn \0")?, keyed(b"ServerOut\0")?])
}

/// The same of a session of dialect 3.1.1.
pub(super) fn ciphers_of_3_1_1(session_key: &[u8], cipher: Cipher, preauth: &Preauth) -> Option<[KeyedCipher; 2]> {
    let keyed = |label| keyed(session_key, cipher, label, preauth);
    Some([keyed(b"SMBC2SCipherKey\0")?, keyed(b"SMBS2CCipherKey\0")?])
}

fn keyed(session_key: &[u8], cipher: Cipher, label: &[u8], context: &[u8]) -> Option<KeyedCipher> {
    let len = cipher.key_len();
    // A session's key is the beginning of its full key, which only AES-256 is made from.
    let from = if len == 16 { session_key.get(..16)? } else { session_key };
    KeyedCipher::new(cipher, &derive(from, label, context, len)?)
}

/// `len` bytes, at most the 32 of one HMAC.
fn derive(key: &[u8], label: &[u8], context: &[u8], len: usize) -> Option<Secret> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    let bits = u32::try_from(len).ok()?.checked_mul(8)?;
    for part in [&1_u32.to_be_bytes()[..], label, &[0], context, &bits.to_be_bytes()] {
        mac.update(part);
    }
    mac.finalize().into_bytes().get(..len).map(|key| Secret::new(key.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decrypt::testing::{hex, ms_3_0, ms_3_1_1};

    #[track_caller]
    fn derives(key: &str, label: &[u8], context: &[u8], expected: &str) {
        let expected = hex(expected);
        assert_eq!(derive(&hex(key), label, context, expected.len()).unwrap()[..], expected);
    }

    /// "Encryption in SMB 3.0: A protocol perspective", Microsoft Open Specifications blog, 2012: test vector.
    #[test]
    fn keys_of_3_0() {
        let key = ms_3_0::SESSION_KEY;
        derives(key, b"SMB2AESCCM\0", b"ServerIn \0", "261B72350558F2E9DCF613070383EDBF");
        derives(key, b"SMB2AESCCM\0", b"ServerOut\0", "8FE2B57EC34D2DB5B1A9727F526BBDB5");
        derives(key, b"SMB2AESCMAC\0", b"SmbSign\0", "F773CD23C18FD1E08EE510CADA7CF852");
    }

    /// "SMB 3.1.1 Encryption in Windows 10", Microsoft Open Specifications blog, 2015: test vector.
    #[test]
    fn keys_of_3_1_1() {
        let (key, preauth) = (ms_3_1_1::SESSION_KEY, hex(ms_3_1_1::PREAUTH));
        derives(key, b"SMBC2SCipherKey\0", &preauth, "A2F5E80E5D59103034F32E52F698E5EC");
        derives(key, b"SMBS2CCipherKey\0", &preauth, "748C50868C90F302962A5C35F5F9A8BF");
    }

    #[test]
    fn no_key_beyond_one_hmac() {
        assert!(derive(&[1; 16], b"label", b"context", 32).is_some());
        assert!(derive(&[1; 16], b"label", b"context", 33).is_none());
    }

    #[test]
    fn a_short_key_makes_nothing() {
        assert!(ciphers_of_3_0(&[1; 15]).is_none());
        assert!(ciphers_of_3_1_1(&[], Cipher::Aes128Gcm, &[0; 64]).is_none());
    }
}
