//! Signatures of plain messages.
//!
//! Spec: MS-SMB2 3.1.4.1, 3.1.5.1; RFC 2104 (HMAC), RFC 4493 (AES-CMAC), RFC 4543 (AES-GMAC)

use std::cell::RefCell;

use aes::Aes128Enc;
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{constant_time, hmac};
use cmac::{Cmac, KeyInit, Mac};
use plimsoll_wire::smb2::header;

use super::keys::Key;

/// How messages are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SigningAlgorithm {
    /// The dialects 2, and 3.1.1 where asked for.
    HmacSha256,
    /// Dialects 3, if no other algorithm was negotiated.
    AesCmac,
    /// 3.1.1, where negotiated.
    AesGmac,
}

impl SigningAlgorithm {
    /// As the specification writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HmacSha256 => "HMAC-SHA256",
            Self::AesCmac => "AES-CMAC",
            Self::AesGmac => "AES-GMAC",
        }
    }

    /// From the number in SMB2_SIGNING_CAPABILITIES; `None` for those that the specification does not name.
    #[must_use]
    pub const fn from_code(code: u16) -> Option<Self> {
        match code {
            0 => Some(Self::HmacSha256),
            1 => Some(Self::AesCmac),
            2 => Some(Self::AesGmac),
            _ => None,
        }
    }

    /// The number in SMB2_SIGNING_CAPABILITIES.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::HmacSha256 => 0,
            Self::AesCmac => 1,
            Self::AesGmac => 2,
        }
    }
}

/// Why a message has no good signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// The first piece ends before the header does.
    #[error("the message is shorter than the SMB2 header ({} bytes)", header::LEN)]
    NoHeader,
    /// SMB2_FLAGS_SIGNED is not set.
    #[error("the message is not signed")]
    NotSigned,
    /// The signature does not match: the message was changed on its way, or signed with another key.
    #[error("the signature does not match the message")]
    Refused,
    /// The library failed, which only lengths that no message has (2^36 bytes) should make it do.
    #[error("the cryptographic library failed to sign {0} bytes")]
    Library(usize),
}

/// Signs and verifies a session's messages. Its key is overwritten when it is dropped.
pub struct Signer {
    key: Keyed,
}

enum Keyed {
    HmacSha256(Box<hmac::Key>),
    AesCmac(Box<Cmac<Aes128Enc>>),
    AesGmac(Box<LessSafeKey>),
}

/// Bytes of a signature.
pub const SIGNATURE_LEN: usize = 16;

impl Signer {
    /// With the session's signing key. `None` unless the key has 16 bytes.
    #[must_use]
    pub fn new(algorithm: SigningAlgorithm, key: &Key) -> Option<Self> {
        let key: &[u8; 16] = key.bytes().try_into().ok()?;
        let key = match algorithm {
            SigningAlgorithm::HmacSha256 => Keyed::HmacSha256(Box::new(hmac::Key::new(hmac::HMAC_SHA256, key))),
            SigningAlgorithm::AesCmac => Keyed::AesCmac(Box::new(Cmac::new(&(*key).into()))),
            SigningAlgorithm::AesGmac => {
                Keyed::AesGmac(Box::new(LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key).ok()?)))
            }
        };
        Some(Self { key })
    }

    /// How it signs.
    #[must_use]
    pub const fn algorithm(&self) -> SigningAlgorithm {
        match self.key {
            Keyed::HmacSha256(_) => SigningAlgorithm::HmacSha256,
            Keyed::AesCmac(_) => SigningAlgorithm::AesCmac,
            Keyed::AesGmac(_) => SigningAlgorithm::AesGmac,
        }
    }

    /// Signs a message, or one member of a compound with the padding behind it: sets the header's
    /// `SMB2_FLAGS_SIGNED` and Signature. `message` begins with the header; `rest` is what follows it elsewhere.
    ///
    /// # Errors
    ///
    /// Where `message` is shorter than a header.
    pub fn sign(&self, message: &mut [u8], rest: &[&[u8]]) -> Result<(), SigningError> {
        let flags = message.get_mut(header::FLAGS..).and_then(|flags| flags.first_chunk_mut());
        let flags: &mut [u8; 4] = flags.ok_or(SigningError::NoHeader)?;
        *flags = (u32::from_le_bytes(*flags) | header::FLAG_SIGNED).to_le_bytes();
        let signature = self.signature(message, rest)?;
        let place = message.get_mut(header::SIGNATURE..header::LEN).ok_or(SigningError::NoHeader)?;
        place.copy_from_slice(&signature);
        Ok(())
    }

    /// Verifies a message, or one member of a compound, in constant time.
    ///
    /// # Errors
    ///
    /// Where it is cut, not signed, or signed otherwise.
    pub fn verify(&self, message: &[u8], rest: &[&[u8]]) -> Result<(), SigningError> {
        let header: &[u8; header::LEN] = message.first_chunk().ok_or(SigningError::NoHeader)?;
        if flags(header) & header::FLAG_SIGNED == 0 {
            return Err(SigningError::NotSigned);
        }
        let expected = self.signature(message, rest)?;
        let (_, found) = header.split_at(header::SIGNATURE);
        constant_time::verify_slices_are_equal(&expected, found).map_err(|_| SigningError::Refused)
    }

    /// The signature of a message that begins with `message`; its Signature field counts as zero.
    ///
    /// # Errors
    ///
    /// Where `message` is shorter than a header.
    pub fn signature(&self, message: &[u8], rest: &[&[u8]]) -> Result<[u8; SIGNATURE_LEN], SigningError> {
        let (header, body) = message.split_first_chunk::<{ header::LEN }>().ok_or(SigningError::NoHeader)?;
        let mut unsigned = *header;
        unsigned.iter_mut().skip(header::SIGNATURE).for_each(|byte| *byte = 0);
        let pieces = || [&unsigned[..], body].into_iter().chain(rest.iter().copied());
        match &self.key {
            Keyed::HmacSha256(key) => {
                let mut mac = hmac::Context::with_key(key);
                pieces().for_each(|piece| mac.update(piece));
                Ok(first(mac.sign().as_ref()))
            }
            Keyed::AesCmac(key) => {
                let mut mac = Cmac::clone(key);
                pieces().for_each(|piece| mac.update(piece));
                Ok(mac.finalize().into_bytes().into())
            }
            Keyed::AesGmac(key) => gathered(pieces(), |whole| {
                let nonce = Nonce::assume_unique_for_key(gmac_nonce(header));
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(whole), &mut []);
                tag.map(|tag| first(tag.as_ref())).map_err(|_| SigningError::Library(whole.len()))
            }),
        }
    }
}

fn first(tag: &[u8]) -> [u8; SIGNATURE_LEN] {
    let mut signature = [0; SIGNATURE_LEN];
    signature.iter_mut().zip(tag).for_each(|(to, from)| *to = *from);
    signature
}

fn flags(header: &[u8; header::LEN]) -> u32 {
    header.get(header::FLAGS..).and_then(|flags| flags.first_chunk()).map_or(0, |flags| u32::from_le_bytes(*flags))
}

/// The nonce of AES-GMAC: the message ID; one bit for the sender, one for CANCEL, which has the ID of the cancelled request.
fn gmac_nonce(header: &[u8; header::LEN]) -> [u8; 12] {
    let mut nonce = [0; 12];
    let id = header.iter().skip(header::MESSAGE_ID).take(8);
    nonce.iter_mut().zip(id).for_each(|(to, from)| *to = *from);
    let from_server = u8::from(flags(header) & header::FLAG_RESPONSE != 0);
    let cancel = header.get(header::COMMAND..header::COMMAND + 2) == Some(&CANCEL.to_le_bytes());
    let [.., bits, _, _, _] = &mut nonce;
    *bits = from_server | u8::from(cancel) << 1;
    nonce
}

/// SMB2_CANCEL.
const CANCEL: u16 = 12;

thread_local! {
    /// The library's GMAC needs the bytes in one piece.
    static GATHERED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn gathered<'a, T>(pieces: impl Iterator<Item = &'a [u8]>, use_whole: impl FnOnce(&[u8]) -> T) -> T {
    GATHERED.with_borrow_mut(|whole| {
        whole.clear();
        pieces.for_each(|piece| whole.extend_from_slice(piece));
        use_whole(whole)
    })
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signer({:?}, ..)", self.algorithm())
    }
}
