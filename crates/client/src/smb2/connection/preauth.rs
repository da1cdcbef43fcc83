//! The hash over a logon from which dialect 3.1.1 derives its keys, so that changes to NEGOTIATE are detected.
//!
//! Spec: MS-SMB2 3.1.4.4.1, 3.2.5.2, 3.2.5.3

use aws_lc_rs::digest::{Context, SHA512};

/// A preauthentication integrity hash value.
///
/// One runs over a connection's NEGOTIATE request and response; each session begins with a copy of it and adds its
/// SESSION_SETUP messages, whole, headers included, transport length not: every request, and every response **but the
/// last, successful one**.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preauth([u8; LEN]);

/// Bytes of a SHA-512 hash, the only one that the protocol names.
const LEN: usize = 64;

impl Preauth {
    /// Before the first message.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; LEN])
    }

    /// Adds a message, given in pieces.
    pub fn add(&mut self, pieces: &[&[u8]]) {
        let mut hash = Context::new(&SHA512);
        hash.update(&self.0);
        pieces.iter().for_each(|piece| hash.update(piece));
        self.0.copy_from_slice(hash.finish().as_ref());
    }

    /// The current value.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

impl Default for Preauth {
    fn default() -> Self {
        Self::new()
    }
}
