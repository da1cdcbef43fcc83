//! A session, and the protection of its messages.

use super::sealing::{Opener, Sealer};
use super::signing::Signer;

/// The session of a connection, possibly still being set up.
#[derive(Debug, Default)]
pub(in crate::smb2) struct Session {
    /// SessionId; 0 before the server gave one.
    pub(in crate::smb2) id: u64,
    /// TreeId of the share.
    pub(in crate::smb2) tree: u32,
    /// Tree ID of the primary tree connection, while a secondary one is in use.
    pub(in crate::smb2) before: Option<u32>,
    /// Signs messages; `None` without a key.
    pub(in crate::smb2) signer: Option<Signer>,
    /// Every message is signed.
    pub(in crate::smb2) signs: bool,
    /// Encrypts and decrypts messages; `None` without a cipher.
    pub(in crate::smb2) seal: Option<Box<(Sealer, Opener)>>,
    /// Every message is sealed; then none is signed.
    pub(in crate::smb2) seals: bool,
    /// ChannelSequence: counts up whenever one of several connections of the session is lost.
    pub(in crate::smb2) sequence: u16,
}

impl Session {
    /// The id, once there is one.
    pub(in crate::smb2) fn id(&self) -> Option<u64> {
        (self.id != 0).then_some(self.id)
    }

    /// Whether every byte of every answer is needed.
    pub(in crate::smb2) fn is_protected(&self) -> bool {
        self.signs || self.seals
    }
}
