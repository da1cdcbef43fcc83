//! AP-REQ and AP-REP, in GSS-API's wrapping.
//!
//! Spec: RFC 4120 5.5.1, 5.5.2, 5.3.1 (EncryptedData); RFC 4121 4.1, 4.2.6.1 (MIC)

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::constant_time;
use zeroize::Zeroizing;

use super::encryption::{Cipher, Usage};
use super::ticket::ServiceTicket;
use super::{KERBEROS, TokenError};
use crate::der::{self, OCTETS, SEQUENCE, application, field, optional, sole, wrap};

/// TOK_ID of an AP-REQ.
pub(crate) const REQUEST: [u8; 2] = [1, 0];
/// TOK_ID of an AP-REP.
const REPLY: [u8; 2] = [2, 0];
/// TOK_ID of a KRB-ERROR.
const ERROR: [u8; 2] = [3, 0];
/// TOK_ID of a MIC.
const PROOF: [u8; 2] = [4, 4];

const INTEGER: u8 = 0x02;
/// GeneralizedTime: YYYYMMDDHHMMSSZ.
const TIME: u8 = 0x18;

/// Values that an AP-REP must repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// ctime.
    time: Vec<u8>,
    /// cusec.
    microseconds: u32,
}

/// An EncryptedData.
pub(crate) struct Encrypted<'a> {
    /// The encryption type's number.
    pub(crate) kind: u8,
    pub(crate) text: &'a [u8],
}

impl<'a> Encrypted<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = sole(bytes, SEQUENCE)?;
        let kind = u8::try_from(integer(optional(&mut rest, field(0))?)?).ok()?;
        // The version of the key.
        let _ = optional(&mut rest, field(1));
        let text = sole(sole(rest, field(2))?, OCTETS)?;
        Some(Self { kind, text })
    }
}

/// An AP-REQ with a new authenticator, created at `now`, ns since the Unix epoch.
pub(crate) fn request(
    ticket: &ServiceTicket,
    subkey: &[u8],
    sequence: u32,
    now: i64,
) -> Result<(Vec<u8>, Sent), TokenError> {
    let sent = Sent::at(ticket.stamp(now)).ok_or(TokenError::Encryption)?;
    let kind = wrap(field(0), &number(u32::from(ticket.cipher.number())));
    let key = Zeroizing::new([&kind[..], &wrap(field(1), &wrap(OCTETS, subkey))].concat());
    let fields = [
        &ticket.authenticator[..],
        &wrap(field(4), &number(sent.microseconds)),
        &wrap(field(5), &wrap(TIME, &sent.time)),
        &wrap(field(6), &wrap(SEQUENCE, &key)),
        &wrap(field(7), &number(sequence)),
    ];
    let plain = Zeroizing::new(wrap(application(2), &wrap(SEQUENCE, &Zeroizing::new(fields.concat()))));
    let text = ticket.cipher.encrypt(Usage::Authenticator, &plain).ok_or(TokenError::Encryption)?;
    let sealed = wrap(SEQUENCE, &[kind, wrap(field(2), &wrap(OCTETS, &text))].concat());
    let message = wrap(SEQUENCE, &[&ticket.request[..], &wrap(field(4), &sealed)].concat());
    let message = [&wrap(der::OBJECT, KERBEROS)[..], &REQUEST, &wrap(application(14), &message)].concat();
    Ok((wrap(application(0), &message), sent))
}

/// Checks an AP-REP; the subkey that it brings, if it does.
pub(crate) fn reply(
    ticket: &ServiceTicket,
    sent: &Sent,
    token: &[u8],
) -> Result<Option<Zeroizing<Vec<u8>>>, TokenError> {
    if is_error(token) {
        return Err(TokenError::Rejected);
    }
    let sealed = read_reply(token).ok_or(TokenError::Malformed("no AP-REP"))?;
    let plain = ticket.cipher.decrypt(Usage::Reply, sealed.text).ok_or(TokenError::BadProof)?;
    let (said, subkey) = read_inside(&plain).ok_or(TokenError::Malformed("no EncAPRepPart"))?;
    // Without this, the answer to another logon with the same ticket would do.
    if said != *sent {
        return Err(TokenError::BadProof);
    }
    Ok(subkey)
}

fn read_reply(token: &[u8]) -> Option<Encrypted<'_>> {
    let mut fields = sole(sole(inner(token, REPLY)?, application(15))?, SEQUENCE)?;
    let (version, kind) = (optional(&mut fields, field(0))?, optional(&mut fields, field(1))?);
    if (integer(version)?, integer(kind)?) != (5, 15) {
        return None;
    }
    Encrypted::read(sole(fields, field(2))?)
}

fn read_inside(plain: &[u8]) -> Option<(Sent, Option<Zeroizing<Vec<u8>>>)> {
    let mut fields = sole(sole(plain, application(27))?, SEQUENCE)?;
    let time = sole(optional(&mut fields, field(0))?, TIME)?.to_vec();
    let microseconds = integer(optional(&mut fields, field(1))?)?;
    let Some(subkey) = optional(&mut fields, field(2)) else { return Some((Sent { time, microseconds }, None)) };
    let mut key = sole(subkey, SEQUENCE)?;
    // The key's type is redundant: the length determines it.
    let _ = optional(&mut key, field(0))?;
    let key = Zeroizing::new(sole(sole(key, field(1))?, OCTETS)?.to_vec());
    Some((Sent { time, microseconds }, Some(key)))
}

/// Whether a token is a KRB-ERROR.
pub(crate) fn is_error(token: &[u8]) -> bool {
    inner(token, ERROR).is_some()
}

/// The content of a Kerberos InitialContextToken with this TOK_ID.
pub(crate) fn inner(token: &[u8], kind: [u8; 2]) -> Option<&[u8]> {
    let mut rest = sole(token, application(0))?;
    (optional(&mut rest, der::OBJECT)? == KERBEROS).then_some(())?;
    rest.strip_prefix(&kind)
}

/// Checks the server's MIC over `text`.
pub(crate) fn check_proof(key: &[u8], of_acceptor: bool, text: &[u8], proof: &[u8]) -> Result<(), TokenError> {
    let (head, sum) = proof.split_at_checked(16).ok_or(TokenError::BadProof)?;
    // SentByAcceptor, and AcceptorSubkey where the key is the server's own.
    let flags = if of_acceptor { 5 } else { 1 };
    if !head.starts_with(&[PROOF[0], PROOF[1], flags, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) {
        return Err(TokenError::BadProof);
    }
    let cipher = Cipher::new(key).ok_or(TokenError::BadProof)?;
    let expected = cipher.sign(Usage::AcceptorSignature, &[text, head].concat()).ok_or(TokenError::BadProof)?;
    constant_time::verify_slices_are_equal(sum, &expected).map_err(|_| TokenError::BadProof)
}

impl Sent {
    /// From µs since the Unix epoch.
    fn at(stamp: i64) -> Option<Self> {
        let since = Duration::from_micros(u64::try_from(stamp).ok()?);
        // Year 10000 has no place in the format.
        let last = Duration::from_secs(253_402_300_799);
        let shown = humantime::format_rfc3339_seconds(UNIX_EPOCH + since.min(last)).to_string();
        let mut time: Vec<u8> = shown.bytes().filter(u8::is_ascii_digit).collect();
        time.push(b'Z');
        Some(Self { time, microseconds: since.subsec_micros() })
    }
}

/// Seconds since the Unix epoch of a GeneralizedTime.
pub(crate) fn seconds(bytes: &[u8]) -> Option<i64> {
    let digits = std::str::from_utf8(sole(bytes, TIME)?).ok()?.strip_suffix('Z')?;
    let part = |from: usize, length: usize| digits.get(from..from + length);
    let (year, month, day) = (part(0, 4)?, part(4, 2)?, part(6, 2)?);
    let (hour, minute, second) = (part(8, 2)?, part(10, 2)?, part(12, 2)?);
    let shown = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    let time: SystemTime = humantime::parse_rfc3339(&shown).ok().filter(|_| digits.len() == 14)?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

/// An INTEGER.
fn number(value: u32) -> Vec<u8> {
    // A leading zero keeps the integer positive; other leading zeros are removed.
    let bytes = u64::from(value).to_be_bytes();
    let needless = bytes.windows(2).take_while(|pair| matches!(pair, [0, next] if next & 0x80 == 0)).count();
    wrap(INTEGER, bytes.get(needless..).unwrap_or_default())
}

/// The value of an INTEGER that is not negative and has at most 32 bits, written shortly or not.
pub(crate) fn integer(bytes: &[u8]) -> Option<u32> {
    let digits = sole(bytes, INTEGER)?;
    let value = digits.iter().try_fold(0_u32, |sum, byte| sum.checked_mul(256)?.checked_add(u32::from(*byte)))?;
    (!digits.is_empty()).then_some(value)
}
