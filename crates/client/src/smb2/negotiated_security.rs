//! The results of NEGOTIATE that each logon of the connection needs.

use plimsoll_wire::smb2::negotiate::Cipher;

use super::connection::preauth::Preauth;
use super::connection::signing::SigningAlgorithm;

/// The results of NEGOTIATE, before any logon.
#[derive(Clone, Debug)]
pub(super) struct NegotiatedSecurity {
    pub(super) preauth: Preauth,
    pub(super) cipher: Option<Cipher>,
    pub(super) algorithm: SigningAlgorithm,
    /// Client or server demand signatures.
    pub(super) signs: bool,
    /// The token of the server's NEGOTIATE.
    pub(super) offer: Vec<u8>,
    pub(super) server_guid: [u8; 16],
}
