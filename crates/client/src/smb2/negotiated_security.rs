//! What NEGOTIATE leaves for every logon of its connection.

use super::connection::preauth::Preauth;
use super::connection::sealing::Cipher;
use super::connection::signing::SigningAlgorithm;

/// What client and server agreed on before anybody logged on.
#[derive(Clone, Debug)]
pub(super) struct NegotiatedSecurity {
    pub(super) preauth: Preauth,
    pub(super) cipher: Option<Cipher>,
    pub(super) algorithm: SigningAlgorithm,
    /// Client or server demand signatures.
    pub(super) signs: bool,
    /// The token of the server's NEGOTIATE.
    pub(super) offer: Vec<u8>,
    /// Which server it is.
    pub(super) server_guid: [u8; 16],
}
