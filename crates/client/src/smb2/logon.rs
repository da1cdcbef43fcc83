//! A logon in progress: its tokens, and the resulting keys.
//!
//! Spec: MS-SMB2 3.2.5.3

use plimsoll_wire::smb2::ioctl::fsctl;
use plimsoll_wire::smb2::negotiate::Cipher;

use super::auth::{Auth, AuthError};
use super::connection::Session;
use super::connection::keys::{Derivation, SessionKey, SessionKeys};
use super::connection::preauth::Preauth;
use super::connection::sealing::{Opener, Sealer};
use super::connection::signing::{Signer, SigningAlgorithm};
use super::negotiated_security::NegotiatedSecurity;
use super::options::Dialect;
use crate::operation::Cause;

/// State of a logon.
pub(super) struct Logon {
    auth: Box<dyn Auth>,
    pub(super) preauth: Preauth,
    /// The negotiated cipher.
    pub(super) cipher: Option<Cipher>,
    pub(super) algorithm: SigningAlgorithm,
    /// Client or server demand signatures.
    pub(super) signs: bool,
    /// The values of the server's NEGOTIATE response, for VALIDATE_NEGOTIATE_INFO.
    pub(super) said: fsctl::Validated,
    /// SessionFlags.
    pub(super) flags: u16,
    /// Tokens sent.
    rounds: u8,
}

/// No mechanism has more tokens; a server that always wants another one is not followed.
const ROUNDS: u8 = 8;

/// Before NEGOTIATE is answered.
const NOTHING_SAID: fsctl::Validated =
    fsctl::Validated { capabilities: 0, guid: [0; 16], security_mode: 0, dialect: 0 };

impl std::fmt::Debug for Logon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logon").field("cipher", &self.cipher).field("flags", &self.flags).finish_non_exhaustive()
    }
}

impl Logon {
    /// A logon on a new connection.
    pub(super) fn new(auth: Box<dyn Auth>, signs: bool) -> Self {
        Self {
            auth,
            preauth: Preauth::new(),
            cipher: None,
            algorithm: SigningAlgorithm::HmacSha256,
            signs,
            said: NOTHING_SAID,
            flags: 0,
            rounds: 0,
        }
    }

    /// Another logon on a connection after NEGOTIATE.
    pub(super) fn again(auth: Box<dyn Auth>, agreed: &NegotiatedSecurity) -> Self {
        let NegotiatedSecurity { preauth, cipher, algorithm, signs, .. } = *agreed;
        Self { auth, preauth, cipher, algorithm, signs, said: NOTHING_SAID, flags: 0, rounds: 0 }
    }

    /// The next token for the server.
    pub(super) fn next_token(&mut self, from_server: Option<&[u8]>) -> Result<Vec<u8>, Cause> {
        if self.rounds >= ROUNDS {
            return Err(Cause::Malformed);
        }
        self.rounds += 1;
        self.auth.next(from_server).map_err(cause_of)
    }

    /// Takes the server's last token, and looks at its proof.
    pub(super) fn finish(&mut self, from_server: &[u8]) -> Result<(), Cause> {
        self.auth.finish(from_server).map_err(cause_of)
    }

    pub(super) fn session_key(&self) -> Option<SessionKey> {
        self.auth.session_key()
    }
}

impl Session {
    /// Makes signer and seal from the logon's key.
    pub(super) fn take_keys(&mut self, key: &SessionKey, logon: &Logon, dialect: Dialect) -> Option<SessionKeys> {
        let how = match dialect {
            Dialect::V202 | Dialect::V210 => Derivation::V2,
            Dialect::V300 | Dialect::V302 => Derivation::V30,
            Dialect::V311 => Derivation::V311(&logon.preauth),
        };
        let keys = SessionKeys::derive(key, how, logon.cipher);
        self.signer = Some(Signer::new(logon.algorithm, &keys.signing)?);
        self.take_seal(&keys, logon.cipher, 0)?;
        Some(keys)
    }

    /// Creates the sealer and opener, with a separate range of nonces.
    pub(super) fn take_seal(&mut self, keys: &SessionKeys, cipher: Option<Cipher>, nonce_range: u32) -> Option<()> {
        if let (Some(cipher), Some(send), Some(receive)) = (cipher, &keys.client_to_server, &keys.server_to_client) {
            let (sealer, opener) = (Sealer::new(cipher, send, self.id)?, Opener::new(cipher, receive, self.id)?);
            self.seal = Some(Box::new((sealer.with_nonce_range(nonce_range), opener)));
        }
        Some(())
    }
}

fn cause_of(error: AuthError) -> Cause {
    match error {
        AuthError::Malformed(_) | AuthError::OutOfTurn => Cause::Malformed,
        AuthError::BadProof => Cause::Untrusted,
        AuthError::TooLong(_) | AuthError::Encryption => Cause::Unsupported,
        AuthError::NotOffered(_) | AuthError::Rejected | AuthError::Missing(_) => Cause::LogonRefused,
    }
}
