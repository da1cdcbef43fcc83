//! A session and what protects its messages.

use super::sealing::{Opener, Sealer};
use super::signing::Signer;

/// The session of a connection, as far as it is set up.
#[derive(Debug, Default)]
pub(in crate::smb2) struct Session {
    /// SessionId; 0 before the server gave one.
    pub(in crate::smb2) id: u64,
    /// TreeId of the share.
    pub(in crate::smb2) tree: u32,
    /// That of the standing connection to it, while another one is used.
    pub(in crate::smb2) before: Option<u32>,
    /// Signs; `None` where there is no key to sign with.
    pub(in crate::smb2) signer: Option<Signer>,
    /// Every message is signed.
    pub(in crate::smb2) signs: bool,
    /// Seals what goes out, and opens what comes in; `None` where there is no cipher.
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
