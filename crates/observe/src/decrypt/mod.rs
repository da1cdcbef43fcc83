//! Decryption: encrypted SMB 3 messages become plain ones if their session's key is available.
//!
//! A message counts as decrypted only if its authentication tag is valid. The dialect, cipher and direction of a key therefore need not
//! be known: all are tried.
//!
//! Without the feature `decrypt` there are no keys, and encrypted messages stay encrypted.
//!
//! Spec: MS-SMB2 3.1.4.3, 3.2.5.1.1.1.

#[cfg(not(feature = "decrypt"))]
mod absent;
#[cfg(feature = "decrypt")]
mod channel;
#[cfg(feature = "decrypt")]
mod cipher;
#[cfg(feature = "decrypt")]
mod kdf;
#[cfg(feature = "decrypt")]
mod keys;
#[cfg(feature = "decrypt")]
mod sessions;
#[cfg(test)]
#[cfg(feature = "decrypt")]
mod testing;

#[cfg(not(feature = "decrypt"))]
pub(crate) use absent::{Channel, Decryption};
#[cfg(feature = "decrypt")]
pub(crate) use channel::Channel;
#[cfg(feature = "decrypt")]
pub use keys::{KeyError, SessionKeys};
#[cfg(feature = "decrypt")]
pub(crate) use sessions::Decryption;

/// The result of opening an encrypted message.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "decrypt"), expect(dead_code, reason = "there are no keys that would open anything"))]
pub(crate) enum Opened {
    /// Its contents. Give the buffer back with [`Decryption::recycle`].
    Plain(Vec<u8>),
    /// No key was given for its session, or its header does not say which that is.
    NoKey,
    /// Parts of it were not captured.
    Incomplete,
    /// Its length differs from the one in its header.
    Malformed,
    /// None of the keys for its session is its key, or it was changed.
    Refused,
}
