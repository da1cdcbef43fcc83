//! The secret key of the replacements, and the values derived from it.

use std::fmt;

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Minimum length of a key, bytes: too long for a brute-force search.
pub const KEY_MIN: usize = 16;

/// A block of the cipher.
pub(super) type Block = [u8; 16];

/// The secret. Equal secrets make equal replacements; without it they cannot be undone, nor tried.
pub struct Key {
    cipher: Aes128,
    /// Replaces bits that are not known yet (the pad of Crypto-PAn).
    pad: Zeroizing<Block>,
}

/// Kinds of values: equal bytes of two kinds get unrelated replacements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Address = 1,
    Mac,
    Name,
    Id,
    User,
}

/// No key could be made.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Too few bytes.
    #[error("the key has {0} bytes: expected at least {KEY_MIN} bytes")]
    Short(usize),
    /// The system gives no random bytes.
    #[error("cannot generate a random key: {0}")]
    Random(getrandom::Error),
}

impl Key {
    /// The key derived from a secret text or bytes.
    ///
    /// # Errors
    /// If it is too short.
    pub fn of(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < KEY_MIN {
            return Err(KeyError::Short(secret.len()));
        }
        let digest = Zeroizing::new(<[u8; 32]>::from(Sha256::digest(secret)));
        let (key, pad) = digest.split_at(16);
        let mut made =
            Self { cipher: Aes128::new_from_slice(key).map_err(|_| KeyError::Short(0))?, pad: Zeroizing::default() };
        made.pad.copy_from_slice(pad);
        *made.pad = made.encrypt(*made.pad);
        Ok(made)
    }

    /// A random key, which is not stored anywhere.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn drawn() -> Result<Self, KeyError> {
        let mut secret = Zeroizing::new([0; 32]);
        getrandom::fill(secret.as_mut_slice()).map_err(KeyError::Random)?;
        Self::of(secret.as_slice())
    }

    pub(super) fn pad(&self) -> Block {
        *self.pad
    }

    pub(super) fn encrypt(&self, block: Block) -> Block {
        let mut block = block.into();
        self.cipher.encrypt_block(&mut block);
        block.into()
    }

    /// A number that depends on all of these bytes (CBC-MAC, the length first).
    pub(super) fn digest(&self, kind: Kind, bytes: &[u8]) -> Block {
        let mut state = self.pad();
        state[0] ^= kind as u8;
        for (byte, length) in state[1..9].iter_mut().zip((bytes.len() as u64).to_be_bytes()) {
            *byte ^= length;
        }
        state = self.encrypt(state);
        for chunk in bytes.chunks(16) {
            state.iter_mut().zip(chunk).for_each(|(byte, other)| *byte ^= other);
            state = self.encrypt(state);
        }
        state
    }

    /// Replaces bytes by the same number of bytes; equal bytes get equal replacements.
    pub(super) fn replace(&self, kind: Kind, bytes: &mut [u8]) {
        let state = self.digest(kind, bytes);
        for (number, chunk) in bytes.chunks_mut(16).enumerate() {
            let mut counter = state;
            counter.iter_mut().rev().zip((number as u64 + 1).to_le_bytes()).for_each(|(byte, other)| *byte ^= other);
            let block = self.encrypt(counter);
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}
