//! A Kerberos logon inside SPNEGO: AP-REQ, and the server's AP-REP. The messages are in `crate::kerberos`.
//!
//! Spec: RFC 4120 3.2, RFC 4121 4.1, RFC 4178 (SPNEGO)

#[cfg(test)]
mod tests;

use std::sync::Arc;

use zeroize::Zeroizing;

use super::spnego::{self, Mechanism};
use super::{Auth, AuthError, SessionKey};
use crate::kerberos::TokenError;
use crate::kerberos::message::{self, Sent};

pub use crate::kerberos::ServiceTicket;

/// A Kerberos logon inside SPNEGO: AP-REQ, and the server's AP-REP.
pub struct Kerberos {
    ticket: Arc<ServiceTicket>,
    /// Our subkey, of the length that the ticket's key has.
    subkey: Zeroizing<Vec<u8>>,
    /// First sequence number. No message uses it; it distinguishes logons.
    sequence: u32,
    now: i64,
    step: AuthStep,
}

enum AuthStep {
    Begin,
    Asked(Sent),
    Proven(SessionKey),
    /// After an error.
    Over,
}

impl Kerberos {
    /// A logon at `now`, ns since the Unix epoch.
    #[must_use]
    pub fn new(ticket: Arc<ServiceTicket>, generator: &mut impl rand::CryptoRng, now: i64) -> Self {
        let (subkey, sequence) = ticket.draw(generator);
        Self { ticket, subkey, sequence, now, step: AuthStep::Begin }
    }
}

impl From<TokenError> for AuthError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Rejected => AuthError::Rejected,
            TokenError::Malformed(problem) => AuthError::Malformed(problem),
            TokenError::BadProof => AuthError::BadProof,
            TokenError::Encryption => AuthError::Encryption,
        }
    }
}

impl Auth for Kerberos {
    fn next(&mut self, from_server: Option<&[u8]>) -> Result<Vec<u8>, AuthError> {
        match std::mem::replace(&mut self.step, AuthStep::Over) {
            AuthStep::Begin => {
                spnego::check_offer(Mechanism::Kerberos, from_server)?;
                let (message, sent) = message::request(&self.ticket, &self.subkey, self.sequence, self.now)?;
                self.step = AuthStep::Asked(sent);
                Ok(spnego::first(Mechanism::Kerberos, &message))
            }
            AuthStep::Asked(_) => {
                // The client has sent its last token, so a further token of the server is an error.
                let answer = spnego::answer(Mechanism::Kerberos, from_server.unwrap_or_default())?;
                let refused =
                    answer.state == Some(spnego::State::Rejected) || answer.token.is_some_and(message::is_error);
                Err(if refused { AuthError::Rejected } else { AuthError::OutOfTurn })
            }
            AuthStep::Proven(_) | AuthStep::Over => Err(AuthError::OutOfTurn),
        }
    }

    fn finish(&mut self, from_server: &[u8]) -> Result<(), AuthError> {
        let AuthStep::Asked(sent) = std::mem::replace(&mut self.step, AuthStep::Over) else {
            return Err(AuthError::OutOfTurn);
        };
        let answer = spnego::last(Mechanism::Kerberos, from_server)?;
        let token = answer.token.ok_or(AuthError::Missing("mutual authentication"))?;
        let subkey = message::reply(&self.ticket, &sent, token)?;
        // RFC 4121 2: the acceptor's subkey where there is one, else the initiator's.
        let (key, of_acceptor) = subkey.map_or_else(|| (self.subkey.clone(), false), |key| (key, true));
        if let Some(proof) = answer.proof {
            message::check_proof(&key, of_acceptor, &Mechanism::Kerberos.list(), proof)?;
        }
        let key = SessionKey::new(&key).ok_or(AuthError::Malformed("unusable subkey"))?;
        self.step = AuthStep::Proven(key);
        Ok(())
    }

    fn session_key(&self) -> Option<SessionKey> {
        match &self.step {
            AuthStep::Proven(key) => Some(key.clone()),
            AuthStep::Begin | AuthStep::Asked(_) | AuthStep::Over => None,
        }
    }
}

impl std::fmt::Debug for Kerberos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kerberos").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
