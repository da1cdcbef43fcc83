//! The wrapping of a mechanism's tokens: which mechanism, and how far it got.
//!
//! Spec: RFC 4178 4.2; MS-SPNG 2.2.1; X.690 (DER)

use super::AuthError;

/// What a server answered: a NegTokenResp.
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

/// Our mechanisms as they stand in the first token: what a mechListMIC is made of. NTLM alone.
pub(super) const MECHANISMS: [u8; 14] = {
    let [a, b, c, d, e, f, g, h, i, j] = NTLM;
    [SEQUENCE, 12, OBJECT, 10, a, b, c, d, e, f, g, h, i, j]
};

/// 1.3.6.1.4.1.311.2.2.10, NTLMSSP.
const NTLM: [u8; 10] = [0x2B, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0A];
/// 1.3.6.1.5.5.2, SPNEGO.
const SPNEGO: [u8; 6] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x02];

const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const ENUMERATED: u8 = 0x0A;
const SEQUENCE: u8 = 0x30;
/// InitialContextToken of GSS-API.
const APPLICATION: u8 = 0x60;
/// The tag of the field `[n]`.
const fn field(n: u8) -> u8 {
    0xA0 | n
}

/// The first token: a NegTokenInit with the mechanism's own first token.
pub(super) fn first(token: &[u8]) -> Vec<u8> {
    let token = wrap(field(2), &wrap(OCTETS, token));
    let init = wrap(SEQUENCE, &[&wrap(field(0), &MECHANISMS)[..], &token].concat());
    wrap(APPLICATION, &[&wrap(OBJECT, &SPNEGO)[..], &wrap(field(0), &init)].concat())
}

/// A later token: a NegTokenResp.
pub(super) fn next(token: &[u8], proof: Option<&[u8]>) -> Vec<u8> {
    let mut fields = wrap(field(0), &wrap(ENUMERATED, &[1]));
    fields.extend(wrap(field(2), &wrap(OCTETS, token)));
    fields.extend(proof.map(|proof| wrap(field(3), &wrap(OCTETS, proof))).unwrap_or_default());
    wrap(field(1), &wrap(SEQUENCE, &fields))
}

/// Reads a NegTokenResp.
pub(super) fn answer(bytes: &[u8]) -> Result<Answer<'_>, AuthError> {
    read_answer(bytes).ok_or(AuthError::Malformed("no SPNEGO answer"))?
}

fn read_answer(bytes: &[u8]) -> Option<Result<Answer<'_>, AuthError>> {
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
    if let Some(mechanism) = optional(&mut rest, field(1))
        && sole(mechanism, OBJECT)? != NTLM
    {
        return Some(Err(AuthError::NotOffered));
    }
    if let Some(token) = optional(&mut rest, field(2)) {
        answer.token = Some(sole(token, OCTETS)?);
    }
    if let Some(proof) = optional(&mut rest, field(3)) {
        answer.proof = Some(sole(proof, OCTETS)?);
    }
    rest.is_empty().then_some(Ok(answer))
}

/// Whether the mechanisms in a NEGOTIATE response (a NegTokenInit2) name ours.
pub(super) fn offers_ntlm(bytes: &[u8]) -> Result<bool, AuthError> {
    read_offer(bytes).ok_or(AuthError::Malformed("no SPNEGO offer"))
}

fn read_offer(bytes: &[u8]) -> Option<bool> {
    let mut rest = sole(bytes, APPLICATION)?;
    if optional(&mut rest, OBJECT)? != SPNEGO {
        return None;
    }
    let mut fields = sole(sole(rest, field(0))?, SEQUENCE)?;
    // What follows the mechanisms are hints that nobody needs.
    let mut mechanisms = sole(optional(&mut fields, field(0))?, SEQUENCE)?;
    let mut found = false;
    while !mechanisms.is_empty() {
        found |= optional(&mut mechanisms, OBJECT)? == NTLM;
    }
    Some(found)
}

/// The content of the one element that `bytes` are.
fn sole(mut bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let content = optional(&mut bytes, tag)?;
    bytes.is_empty().then_some(content)
}

/// The content of the next element, and `bytes` behind it; `None`, and `bytes` where they were, where it has another tag
/// or is cut. A cut element stays in `bytes`, where whoever reads on finds it to be of no use.
fn optional<'a>(bytes: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&found, rest) = bytes.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = match short {
        0..=0x7F => (usize::from(short), rest),
        // Four bytes of length are more than any token has; 0x80 is an indefinite length, which DER has not.
        0x81..=0x84 => {
            let (long, rest) = rest.split_at_checked(usize::from(short & 0x7F))?;
            (long.iter().try_fold(0_usize, |sum, byte| sum.checked_mul(256)?.checked_add(usize::from(*byte)))?, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    (found == tag).then(|| *bytes = rest)?;
    Some(content)
}

fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short @ 0..=0x7F) => bytes.push(short),
        _ => {
            let length = content.len().to_be_bytes();
            let zeros = length.iter().take_while(|byte| **byte == 0).count();
            let digits = length.get(zeros..).unwrap_or_default();
            // At most the 8 bytes of a usize.
            bytes.push(0x80 | digits.len() as u8);
            bytes.extend_from_slice(digits);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}
