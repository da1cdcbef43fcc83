//! Encrypted messages: a TRANSFORM_HEADER and the encrypted message after it.
//!
//! Spec: MS-SMB2 2.2.41, 3.1.4.3, 3.1.5.1; RFC 5084 (CCM and GCM)

use aes::{Aes128Enc, Aes256Enc};
use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ccm::Ccm;
use ccm::aead::consts::{U11, U16};
use ccm::aead::{AeadInOut, KeyInit};
use plimsoll_wire::smb2::negotiate::Cipher;
use plimsoll_wire::smb2::transform;

use super::keys::Key;

/// Why a message cannot be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Shorter than a TRANSFORM_HEADER, or longer than its length field allows.
    #[error("encrypted message of {0} bytes: expected 52 bytes to 4 GiB")]
    Length(usize),
    /// The message does not begin with a TRANSFORM_HEADER.
    #[error("the message is not encrypted")]
    NotSealed,
    /// OriginalMessageSize differs from the length of the message.
    #[error("encrypted message: the header announces {said} bytes, but {held} follow")]
    Size {
        /// Length according to the header.
        said: u32,
        /// Length of the data after the header.
        held: usize,
    },
    /// Sealed for another session.
    #[error("the message is encrypted for another session, {0:#x}")]
    Session(u64),
    /// The Flags do not have the value for encryption.
    #[error("encrypted message with flags {0:#x}: expected 1")]
    Flags(u16),
    /// The authentication tag does not match: the message was changed on its way, or encrypted with another key.
    #[error("the encrypted message is not authentic: modified in transit, or encrypted with another key")]
    Refused,
    /// Every nonce of this key has been used.
    #[error("the session's encryption key has encrypted the maximum number of messages; log on again")]
    Exhausted,
}

/// Encrypts the sent messages of one session. Each key must have only one, because it counts the nonces.
#[derive(Debug)]
pub struct Sealer {
    key: Aead,
    session: u64,
    next: u64,
    /// Which of the connections that share the key: the last bytes of the nonce.
    nonce_range: u32,
}

impl Sealer {
    /// A sealer with the session's key for this side's messages. `None` unless the key has the cipher's length.
    #[must_use]
    pub fn new(cipher: Cipher, key: &Key, session: u64) -> Option<Self> {
        Some(Self { key: Aead::new(cipher, key)?, session, next: 0, nonce_range: 0 })
    }

    /// One of several sealers with the same key, with a separate range of nonces. Each connection has a separate range below 2^24.
    #[must_use]
    pub fn with_nonce_range(self, nonce_range: u32) -> Self {
        Self { nonce_range, ..self }
    }

    /// Encrypts a message in place. The first [`transform::ENCRYPTED_LEN`] bytes of `message` are reserved for the header; the message (or
    /// compound) follows.
    ///
    /// # Errors
    ///
    /// Where there is no room for the header, the message is longer than 4 GiB, or the key is used up: then nothing was
    /// sealed, and `message` is of no use any more.
    pub fn seal(&mut self, message: &mut [u8]) -> Result<(), SealError> {
        let length = message.len();
        let (header, plain) =
            message.split_first_chunk_mut::<{ transform::ENCRYPTED_LEN }>().ok_or(SealError::Length(length))?;
        let size = u32::try_from(plain.len()).map_err(|_| SealError::Length(length))?;
        let count = self.next;
        self.next = count.checked_add(1).ok_or(SealError::Exhausted)?;
        let mut nonce = [0; 16];
        // CCM uses 11 bytes of it, GCM 12.
        let bytes = count.to_le_bytes().into_iter().chain(self.nonce_range.to_le_bytes().into_iter().take(3));
        nonce.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        transform::Sealed { nonce, original_message_size: size, session_id: self.session }.emit(header);
        let authenticated = field(header, transform::NONCE).ok_or(SealError::Length(length))?;
        let tag = self.key.seal(&authenticated, plain).ok_or(SealError::Length(length))?;
        header.iter_mut().skip(transform::SIGNATURE).zip(tag).for_each(|(to, from)| *to = from);
        Ok(())
    }
}

/// Decrypts the received messages of one session.
#[derive(Debug)]
pub struct Opener {
    key: Aead,
    session: u64,
}

impl Opener {
    /// An opener with the session's key for the other side's messages. `None` unless the key has the cipher's length.
    #[must_use]
    pub fn new(cipher: Cipher, key: &Key, session: u64) -> Option<Self> {
        Some(Self { key: Aead::new(cipher, key)?, session })
    }

    /// Decrypts a message in place, and returns it. After an error the bytes are undefined.
    ///
    /// # Errors
    ///
    /// Where it is cut, not sealed, of another session, or not authentic.
    pub fn open<'a>(&self, message: &'a mut [u8]) -> Result<&'a mut [u8], SealError> {
        let length = message.len();
        let (header, sealed) =
            message.split_first_chunk_mut::<{ transform::ENCRYPTED_LEN }>().ok_or(SealError::Length(length))?;
        let view = transform::Encrypted::new(&header[..]).ok_or(SealError::NotSealed)?;
        let said = view.original_message_size().ok_or(SealError::NotSealed)?;
        if usize::try_from(said) != Ok(sealed.len()) {
            return Err(SealError::Size { said, held: sealed.len() });
        }
        let session = view.session_id().ok_or(SealError::NotSealed)?;
        if session != self.session {
            return Err(SealError::Session(session));
        }
        let flags = field(header, transform::ENCRYPTION_FLAGS).map(u16::from_le_bytes).ok_or(SealError::NotSealed)?;
        if flags != transform::FLAG_ENCRYPTED {
            return Err(SealError::Flags(flags));
        }
        let tag = field(header, transform::SIGNATURE).ok_or(SealError::NotSealed)?;
        let authenticated = field(header, transform::NONCE).ok_or(SealError::NotSealed)?;
        self.key.open(&authenticated, &tag, sealed).ok_or(SealError::Refused)?;
        Ok(sealed)
    }
}

/// Bytes of the header that the cipher authenticates: from the nonce on.
const AUTHENTICATED: usize = transform::ENCRYPTED_LEN - transform::NONCE;

fn field<const N: usize>(header: &[u8], at: usize) -> Option<[u8; N]> {
    header.get(at..)?.first_chunk().copied()
}

/// A cipher with its key.
enum Aead {
    Gcm(Box<LessSafeKey>),
    Aes128Ccm(Box<Ccm<Aes128Enc, U16, U11>>),
    Aes256Ccm(Box<Ccm<Aes256Enc, U16, U11>>),
}

impl Aead {
    fn new(cipher: Cipher, key: &Key) -> Option<Self> {
        let key = key.bytes();
        let gcm = |algorithm| Some(Self::Gcm(Box::new(LessSafeKey::new(UnboundKey::new(algorithm, key).ok()?))));
        match cipher {
            Cipher::Aes128Gcm => gcm(&AES_128_GCM),
            Cipher::Aes256Gcm => gcm(&AES_256_GCM),
            Cipher::Aes128Ccm => Some(Self::Aes128Ccm(Box::new(KeyInit::new_from_slice(key).ok()?))),
            Cipher::Aes256Ccm => Some(Self::Aes256Ccm(Box::new(KeyInit::new_from_slice(key).ok()?))),
        }
    }

    fn seal(&self, authenticated: &[u8; AUTHENTICATED], plain: &mut [u8]) -> Option<[u8; 16]> {
        match self {
            Self::Gcm(key) => {
                let nonce = Nonce::assume_unique_for_key(field(authenticated, 0)?);
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(authenticated), plain).ok()?;
                tag.as_ref().try_into().ok()
            }
            Self::Aes128Ccm(key) => ccm_seal(&**key, authenticated, plain),
            Self::Aes256Ccm(key) => ccm_seal(&**key, authenticated, plain),
        }
    }

    fn open(&self, authenticated: &[u8; AUTHENTICATED], tag: &[u8; 16], sealed: &mut [u8]) -> Option<()> {
        match self {
            Self::Gcm(key) => {
                let nonce = Nonce::assume_unique_for_key(field(authenticated, 0)?);
                key.open_in_place_separate_tag(nonce, Aad::from(authenticated), tag, sealed).ok()?;
                Some(())
            }
            Self::Aes128Ccm(key) => ccm_open(&**key, authenticated, tag, sealed),
            Self::Aes256Ccm(key) => ccm_open(&**key, authenticated, tag, sealed),
        }
    }
}

fn ccm_seal<A>(key: &A, authenticated: &[u8; AUTHENTICATED], plain: &mut [u8]) -> Option<[u8; 16]>
where
    A: AeadInOut<NonceSize = U11, TagSize = U16>,
{
    let nonce: [u8; 11] = field(authenticated, 0)?;
    key.encrypt_inout_detached(&nonce.into(), authenticated, plain.into()).ok().map(Into::into)
}

fn ccm_open<A>(key: &A, authenticated: &[u8; AUTHENTICATED], tag: &[u8; 16], sealed: &mut [u8]) -> Option<()>
where
    A: AeadInOut<NonceSize = U11, TagSize = U16>,
{
    let nonce: [u8; 11] = field(authenticated, 0)?;
    key.decrypt_inout_detached(&nonce.into(), authenticated, sealed.into(), &(*tag).into()).ok()
}

impl std::fmt::Debug for Aead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Aead(..)")
    }
}
