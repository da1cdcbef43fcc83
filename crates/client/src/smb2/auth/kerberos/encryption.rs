//! Encryption and signatures of Kerberos.
//!
//! Spec: RFC 3962 (AES with HMAC-SHA1-96), RFC 4120 7.5.1 and RFC 4121 2 (key usages)

use picky_krb::crypto::CipherSuite;
use picky_krb::crypto::aes::{AesSize, checksum_sha_aes};
use zeroize::Zeroizing;

/// The usage of a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Usage {
    /// The authenticator of an AP-REQ.
    Authenticator = 11,
    /// EncAPRepPart.
    Reply = 12,
    /// A MIC of the side that accepts.
    AcceptorSignature = 23,
}

/// An encryption type with its key: aes128- or aes256-cts-hmac-sha1-96, which is all that `sspi` asks for.
#[derive(Clone)]
pub(super) struct Cipher {
    size: AesSize,
    key: Zeroizing<Vec<u8>>,
}

impl Cipher {
    /// Selects the encryption type by the length of the key; `None` if no supported type has this length.
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        let size = match key.len() {
            16 => AesSize::Aes128,
            32 => AesSize::Aes256,
            _ => return None,
        };
        Some(Self { size, key: Zeroizing::new(key.to_vec()) })
    }

    /// The encryption type's number.
    pub(super) fn number(&self) -> u8 {
        match self.size {
            AesSize::Aes128 => 17,
            AesSize::Aes256 => 18,
        }
    }

    /// The key.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    fn suite(&self) -> CipherSuite {
        match self.size {
            AesSize::Aes128 => CipherSuite::Aes128CtsHmacSha196,
            AesSize::Aes256 => CipherSuite::Aes256CtsHmacSha196,
        }
    }

    pub(super) fn encrypt(&self, usage: Usage, text: &[u8]) -> Option<Vec<u8>> {
        self.suite().cipher().encrypt(&self.key, usage as i32, text).ok()
    }

    /// `None` where it was not encrypted with this key, or changed since.
    pub(super) fn decrypt(&self, usage: Usage, text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        self.suite().cipher().decrypt(&self.key, usage as i32, text).ok().map(Zeroizing::new)
    }

    /// HMAC-SHA1-96.
    pub(super) fn sign(&self, usage: Usage, text: &[u8]) -> Option<Vec<u8>> {
        checksum_sha_aes(&self.key, usage as i32, text, &self.size).ok()
    }
}
