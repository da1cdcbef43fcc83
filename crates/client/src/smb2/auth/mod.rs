//! Who logs on: the tokens of SESSION_SETUP.
//!
//! Spec: MS-SMB2 3.2.4.2.3, 3.2.5.3; RFC 4178 (SPNEGO), MS-NLMP (NTLM), RFC 4120 and 4121 (Kerberos)

mod account;
mod authentication;
#[cfg(feature = "kerberos")]
pub mod kerberos;
mod ntlm;
mod spnego;

pub use super::keys::SessionKey;
pub use crate::credentials::Credentials;
pub use crate::kerberos::{Realm, TicketError};
pub use crate::secret::Secret;
pub use account::Account;
pub use authentication::Authentication;
pub use ntlm::{Ntlm, Randomness};

/// One logon, as a sequence of tokens.
///
/// The caller asks for the first with [`Auth::next`], sends each in a SESSION_SETUP request, and gives it the security
/// buffer of each response with `STATUS_MORE_PROCESSING_REQUIRED`. With the successful response it calls
/// [`Auth::finish`], and then takes the key.
///
/// [`Ntlm`] is always there, `kerberos::Kerberos` with the feature `kerberos`. Nothing outside of the implementations knows
/// which one it is.
pub trait Auth: Send {
    /// The security buffer of the next SESSION_SETUP request. `from_server` is the security buffer of the last
    /// response: of NEGOTIATE before the first token (`None` or empty where there is none), of SESSION_SETUP after.
    ///
    /// # Errors
    ///
    /// Where the server's token is malformed, refuses, or asks for what this logon does not do.
    fn next(&mut self, from_server: Option<&[u8]>) -> Result<Vec<u8>, AuthError>;

    /// Verifies the security buffer of the successful response, which may be empty.
    ///
    /// # Errors
    ///
    /// Where the server's token is malformed, or does not prove what it should: then the session must not be used.
    fn finish(&mut self, from_server: &[u8]) -> Result<(), AuthError>;

    /// The session key, after the last token. `None` before, and for an anonymous logon, which can neither sign nor encrypt. A guest logon
    /// has a key, but the protocol forbids its use; the response's SessionFlags show this, not this function.
    fn session_key(&self) -> Option<SessionKey>;
}

/// Why a logon failed on the client's side. A refusal by the server (e.g. a wrong password) is a status, not one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The token cannot be read.
    #[error("the server's token is malformed: {0}")]
    Malformed(&'static str),
    /// The server's list of mechanisms lacks this one.
    #[error("the server does not offer {0}")]
    NotOffered(&'static str),
    /// SPNEGO's negState is reject.
    #[error("the server rejected the mechanism")]
    Rejected,
    /// The server lacks a feature that the logon needs.
    #[error("the server does not negotiate {0}, which a logon needs")]
    Missing(&'static str),
    /// The server's mechListMIC does not match the mechanisms (they were changed on the way, or the keys differ), or its response to a
    /// Kerberos ticket does not prove that it decrypted the ticket.
    #[error("the server's logon response is not authentic: modified in transit, or from another server")]
    BadProof,
    /// A name is too long for the message.
    #[error("{0} is too long for a logon")]
    TooLong(&'static str),
    /// More tokens than the mechanism has.
    #[error("the server requests another token after the last token of the logon")]
    OutOfTurn,
    /// The token cannot be sealed.
    #[error("the token cannot be encrypted with the ticket's key")]
    Encryption,
}
