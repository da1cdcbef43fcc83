//! The question whether a server speaks RPC over TLS, and its answer: a call of NULL with the flavor AUTH_TLS. If the answer's verifier
//! says STARTTLS, the TLS handshake follows on the same connection.
//!
//! Spec: RFC 9289 4.1

use super::{CallTemplate, Caller, REPLY, RecordMark};
use crate::xdr::{Malformed, Strict};

/// The longest answer, bytes without the record mark. The expected one has 32.
const LONGEST_ANSWER: usize = 512;
/// NULL of any program.
const NULL: u32 = 0;
const AUTH_NONE: u32 = 0;
const MAGIC: &[u8] = b"STARTTLS";

/// What a server says to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartTls {
    /// TLS may begin.
    Yes,
    /// It takes the call, and knows nothing of TLS.
    Unknown,
    /// It rejects the call: its auth_stat, 1 for a flavor that it does not know.
    Rejected(u32),
    /// It does not offer the program in this version.
    NoVersion,
    /// It could not answer.
    Failed,
}

/// The call, with its record mark.
#[must_use]
pub fn start_tls(xid: u32, program: u32, version: u32) -> Vec<u8> {
    let mut call = Vec::new();
    // AUTH_TLS has no limits that could be exceeded.
    if let Ok(template) = CallTemplate::new(program, version, &Caller::Tls) {
        template.begin(xid, NULL, &mut call);
    }
    let _ = CallTemplate::finish(&mut call, 0);
    call
}

impl StartTls {
    /// The length of the answer that begins with `bytes`, its record mark included; `None` before the mark is whole.
    ///
    /// # Errors
    /// It is in several fragments, or too long: no answer to this question.
    pub fn length(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let Some(mark) = RecordMark::new(bytes) else { return Ok(None) };
        let length = mark.length as usize;
        if mark.last && length <= LONGEST_ANSWER { Ok(Some(RecordMark::SIZE + length)) } else { Err(Malformed) }
    }

    /// Reads the answer (without its record mark) to the call `xid`.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(bytes: &[u8], xid: u32) -> Result<Self, Malformed> {
        let mut reader = Strict::new(bytes);
        if reader.u32()? != xid || reader.u32()? != REPLY {
            return Err(Malformed);
        }
        match reader.u32()? {
            0 => {
                let flavor = reader.u32()?;
                let magic = reader.opaque(LONGEST_ANSWER)? == MAGIC;
                Ok(match reader.u32()? {
                    0 if flavor == AUTH_NONE && magic => StartTls::Yes,
                    0 => StartTls::Unknown,
                    // PROG_UNAVAIL, PROG_MISMATCH.
                    1 | 2 => StartTls::NoVersion,
                    _ => StartTls::Failed,
                })
            }
            1 if reader.u32()? == 1 => Ok(StartTls::Rejected(reader.u32()?)),
            1 => Ok(StartTls::Failed),
            _ => Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{Call, Flavor};
    use crate::xdr::builder::{Xdr, damage};

    #[test]
    fn the_question_is_a_null_call_with_the_flavor_of_tls() {
        // RFC 9289 4.1: AUTH_TLS is 7, credential and verifier have no body.
        let expected = [0x8000_0028, 9, 0, 2, 100_003, 4, 0, 7, 0, 0, 0];
        let call = start_tls(9, 100_003, 4);
        assert_eq!(call, Xdr::new().words(&expected).0);
        assert_eq!(Call::new(&call[4..]).unwrap().flavor(), Some(Flavor::Tls));
    }

    #[test]
    fn each_answer_is_told_apart() {
        let accepted = |flavor, verifier: &str, status| {
            StartTls::parse(Xdr::new().words(&[9, 1, 0, flavor]).opaque(verifier).words(&[status]).bytes(), 9)
        };
        assert_eq!(accepted(0, "STARTTLS", 0), Ok(StartTls::Yes));
        assert_eq!(accepted(0, "", 0), Ok(StartTls::Unknown));
        assert_eq!(accepted(0, "STARTTLs", 0), Ok(StartTls::Unknown));
        assert_eq!(accepted(1, "STARTTLS", 0), Ok(StartTls::Unknown), "the verifier's flavor is AUTH_NONE");
        assert_eq!(accepted(0, "STARTTLS", 1), Ok(StartTls::NoVersion), "PROG_UNAVAIL");
        assert_eq!(accepted(0, "", 2), Ok(StartTls::NoVersion), "PROG_MISMATCH");
        assert_eq!(accepted(0, "STARTTLS", 5), Ok(StartTls::Failed), "SYSTEM_ERR");
        let denied = |words: &[u32]| StartTls::parse(Xdr::new().words(words).bytes(), 9);
        assert_eq!(denied(&[9, 1, 1, 1, 1]), Ok(StartTls::Rejected(1)));
        assert_eq!(denied(&[9, 1, 1, 0, 2, 2]), Ok(StartTls::Failed));
        assert_eq!(denied(&[8, 1, 1, 1, 1]), Err(Malformed), "another call's");
        assert_eq!(denied(&[9, 0, 1, 1, 1]), Err(Malformed), "a call");
    }

    #[test]
    fn no_bytes_panic_and_no_answer_is_long() {
        let answer = Xdr::new().words(&[9, 1, 0, 0]).opaque("STARTTLS").words(&[0]);
        damage(answer.bytes(), |bytes| {
            let _ = (StartTls::parse(bytes, 9), StartTls::length(bytes));
        });
        assert_eq!(StartTls::length(&[0x80, 0, 0]), Ok(None));
        assert_eq!(StartTls::length(&[0x80, 0, 0, 32]), Ok(Some(36)));
        assert_eq!(StartTls::length(&[0x80, 0, 2, 1]), Err(Malformed), "513 bytes");
        assert_eq!(StartTls::length(&[0, 0, 0, 32]), Err(Malformed), "not the last fragment");
    }
}
