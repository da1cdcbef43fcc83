//! Encryption and signatures of Kerberos.
//!
//! Spec: RFC 3962 (AES with HMAC-SHA1-96), RFC 4120 7.5.1 and RFC 4121 2 (key usages)

use aws_lc_rs::hmac;
use picky_krb::crypto::CipherSuite;
use picky_krb::crypto::aes::{AesSize, checksum_sha_aes, derive_key};
use zeroize::Zeroizing;

use super::sealing::SealingKey;

/// RFC 3961 5.3: the last byte of the constant from which a key of signatures is derived.
const KC: u8 = 0x99;
/// Of encryption.
const KE: u8 = 0xAA;
/// Of the signature inside encryption.
const KI: u8 = 0x55;

/// The usage of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Usage {
    /// The authenticator of an AP-REQ.
    Authenticator = 11,
    /// EncAPRepPart.
    Reply = 12,
    /// A Wrap token of the side that accepts.
    AcceptorSeal = 22,
    /// A MIC of the side that accepts.
    AcceptorSignature = 23,
    /// A Wrap token of the side that initiates.
    InitiatorSeal = 24,
    /// A MIC of the side that initiates.
    InitiatorSignature = 25,
}

/// An encryption type with its key: aes128- or aes256-cts-hmac-sha1-96, which is all that `sspi` asks for.
#[derive(Clone)]
pub(crate) struct Cipher {
    size: AesSize,
    key: Zeroizing<Vec<u8>>,
}

impl Cipher {
    /// Selects the encryption type by the length of the key; `None` if no supported type has this length.
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        let size = match key.len() {
            16 => AesSize::Aes128,
            32 => AesSize::Aes256,
            _ => return None,
        };
        Some(Self { size, key: Zeroizing::new(key.to_vec()) })
    }

    /// The encryption type's number.
    pub(crate) fn number(&self) -> u8 {
        match self.size {
            AesSize::Aes128 => 17,
            AesSize::Aes256 => 18,
        }
    }

    /// The encryption type's name (RFC 3962 6).
    pub(crate) fn name(&self) -> &'static str {
        match self.size {
            AesSize::Aes128 => "aes128-cts-hmac-sha1-96",
            AesSize::Aes256 => "aes256-cts-hmac-sha1-96",
        }
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    fn suite(&self) -> CipherSuite {
        match self.size {
            AesSize::Aes128 => CipherSuite::Aes128CtsHmacSha196,
            AesSize::Aes256 => CipherSuite::Aes256CtsHmacSha196,
        }
    }

    pub(crate) fn encrypt(&self, usage: Usage, text: &[u8]) -> Option<Vec<u8>> {
        self.suite().cipher().encrypt(&self.key, usage as i32, text).ok()
    }

    /// `None` where it was not encrypted with this key, or changed since.
    pub(crate) fn decrypt(&self, usage: Usage, text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        self.suite().cipher().decrypt(&self.key, usage as i32, text).ok().map(Zeroizing::new)
    }

    /// The key of signatures for one usage: [`Cipher::sign`] derives it anew each time.
    pub(crate) fn signing_key(&self, usage: Usage) -> Option<hmac::Key> {
        Some(hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.derived(usage, KC)?))
    }

    /// The keys of encryption for one usage: [`Cipher::encrypt`] and [`Cipher::decrypt`] derive them anew each time.
    pub(crate) fn sealing_key(&self, usage: Usage) -> Option<SealingKey> {
        SealingKey::new(&self.derived(usage, KE)?, &self.derived(usage, KI)?)
    }

    fn derived(&self, usage: Usage, kind: u8) -> Option<Zeroizing<Vec<u8>>> {
        derive_key(&self.key, &[0, 0, 0, usage as u8, kind], &self.size).ok().map(Zeroizing::new)
    }

    /// HMAC-SHA1-96.
    pub(crate) fn sign(&self, usage: Usage, text: &[u8]) -> Option<Vec<u8>> {
        checksum_sha_aes(&self.key, usage as i32, text, &self.size).ok()
    }
}
