//! The wrapping of a mechanism's tokens: which mechanism, and how far it got.
//!
//! Spec: RFC 4178 4.2; MS-SPNG 2.2.1; X.690 (DER)

use super::AuthError;
use crate::der::{ENUMERATED, OBJECT, OCTETS, SEQUENCE, application, field, optional, sole, wrap};
#[cfg(feature = "kerberos")]
use crate::kerberos::KERBEROS;

/// A server's response: a NegTokenResp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    pub(super) state: Option<State>,
    pub(super) token: Option<&'a [u8]>,
    /// mechListMIC.
    pub(super) proof: Option<&'a [u8]>,
}

/// negState.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Completed,
    Incomplete,
    Rejected,
    RequestProof,
}

/// A mechanism. A logon offers only this one, so the server cannot choose another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mechanism {
    Ntlm,
    #[cfg(feature = "kerberos")]
    Kerberos,
}

impl Mechanism {
    fn object(self) -> &'static [u8] {
        match self {
            // 1.3.6.1.4.1.311.2.2.10, NTLMSSP.
            Self::Ntlm => &[0x2B, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0A],
            #[cfg(feature = "kerberos")]
            Self::Kerberos => KERBEROS,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ntlm => "NTLM",
            #[cfg(feature = "kerberos")]
            Self::Kerberos => "Kerberos",
        }
    }

    /// The list of mechanisms in the first token, which the mechListMIC signs.
    pub(super) fn list(self) -> Vec<u8> {
        wrap(SEQUENCE, &wrap(OBJECT, self.object()))
    }
}

/// 1.3.6.1.5.5.2, SPNEGO.
const SPNEGO: [u8; 6] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x02];
/// InitialContextToken of GSS-API.
const CONTEXT: u8 = application(0);

/// The first token: a NegTokenInit with the mechanism's own first token.
pub(super) fn first(mechanism: Mechanism, token: &[u8]) -> Vec<u8> {
    let token = wrap(field(2), &wrap(OCTETS, token));
    let init = wrap(SEQUENCE, &[&wrap(field(0), &mechanism.list())[..], &token].concat());
    wrap(CONTEXT, &[&wrap(OBJECT, &SPNEGO)[..], &wrap(field(0), &init)].concat())
}

/// A later token: a NegTokenResp.
pub(super) fn next(token: &[u8], proof: Option<&[u8]>) -> Vec<u8> {
    let mut fields = wrap(field(0), &wrap(ENUMERATED, &[1]));
    fields.extend(wrap(field(2), &wrap(OCTETS, token)));
    fields.extend(proof.map(|proof| wrap(field(3), &wrap(OCTETS, proof))).unwrap_or_default());
    wrap(field(1), &wrap(SEQUENCE, &fields))
}

/// Reads a NegTokenResp.
pub(super) fn answer(mechanism: Mechanism, bytes: &[u8]) -> Result<Answer<'_>, AuthError> {
    read_answer(mechanism, bytes).ok_or(AuthError::Malformed("no SPNEGO answer"))?
}

/// Parses the NegTokenResp of a successful response.
pub(super) fn last(mechanism: Mechanism, bytes: &[u8]) -> Result<Answer<'_>, AuthError> {
    let answer = answer(mechanism, bytes)?;
    match answer.state {
        Some(State::Rejected) => Err(AuthError::Rejected),
        Some(State::Incomplete | State::RequestProof) => Err(AuthError::OutOfTurn),
        Some(State::Completed) | None => Ok(answer),
    }
}

fn read_answer(mechanism: Mechanism, bytes: &[u8]) -> Option<Result<Answer<'_>, AuthError>> {
    let mut rest = sole(sole(bytes, field(1))?, SEQUENCE)?;
    let mut answer = Answer::default();
    if let Some(state) = optional(&mut rest, field(0)) {
        answer.state = Some(match sole(state, ENUMERATED)? {
            [0] => State::Completed,
            [1] => State::Incomplete,
            [2] => State::Rejected,
            [3] => State::RequestProof,
            _ => return None,
        });
    }
    if let Some(chosen) = optional(&mut rest, field(1))
        && sole(chosen, OBJECT)? != mechanism.object()
    {
        return Some(Err(AuthError::NotOffered(mechanism.name())));
    }
    if let Some(token) = optional(&mut rest, field(2)) {
        answer.token = Some(sole(token, OCTETS)?);
    }
    if let Some(proof) = optional(&mut rest, field(3)) {
        answer.proof = Some(sole(proof, OCTETS)?);
    }
    rest.is_empty().then_some(Ok(answer))
}

/// Checks that the list in a NEGOTIATE response (a NegTokenInit2) contains this mechanism. A response without a list is accepted.
pub(super) fn check_offer(mechanism: Mechanism, offer: Option<&[u8]>) -> Result<(), AuthError> {
    let Some(offer) = offer.filter(|offer| !offer.is_empty()) else { return Ok(()) };
    match offers(mechanism, offer) {
        None => Err(AuthError::Malformed("no SPNEGO offer")),
        Some(false) => Err(AuthError::NotOffered(mechanism.name())),
        Some(true) => Ok(()),
    }
}

fn offers(mechanism: Mechanism, bytes: &[u8]) -> Option<bool> {
    let mut rest = sole(bytes, CONTEXT)?;
    if optional(&mut rest, OBJECT)? != SPNEGO {
        return None;
    }
    let mut fields = sole(sole(rest, field(0))?, SEQUENCE)?;
    // The fields after the mechanisms are optional hints.
    let mut mechanisms = sole(optional(&mut fields, field(0))?, SEQUENCE)?;
    let mut found = false;
    while !mechanisms.is_empty() {
        found |= optional(&mut mechanisms, OBJECT)? == mechanism.object();
    }
    Some(found)
}
