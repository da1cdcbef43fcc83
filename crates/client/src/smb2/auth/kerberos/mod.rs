//! Kerberos: a ticket once, and from then on one message each way a logon.
//!
//! ```text
//! before the run:   password ─ sspi ⇄ KDC (AS, TGS) ─► ServiceTicket
//! each logon:       ServiceTicket ─► AP-REQ ─► server ─► AP-REP ─► key
//! ```
//!
//! `sspi` talks with the KDC and ends each of its conversations in one AP-REQ; it has no way to make a second one of the same
//! ticket. So its AP-REQ becomes the template of ours. Why: docs/decisions/0013-kerberos.md.
//!
//! Spec: RFC 4120 3.2, RFC 4121 4.1, RFC 3961 (key usages)

mod encryption;
mod kdc;
mod message;
mod request;
#[cfg(test)]
mod tests;
mod ticket;

use std::sync::Arc;

use zeroize::Zeroizing;

use self::message::Sent;
use super::spnego::{self, Mechanism};
use super::{Auth, AuthError, SessionKey};

pub use ticket::ServiceTicket;

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
        let mut subkey = Zeroizing::new(vec![0; ticket.key().len()]);
        generator.fill_bytes(&mut subkey);
        // 30 bits, as MIT's: peers that read it as a signed number see the same one.
        let sequence = generator.next_u32() >> 2;
        Self { ticket, subkey, sequence, now, step: AuthStep::Begin }
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
