//! A reply to a call of ours, read strictly.
//!
//! Spec: RFC 5531 9

use super::{MAX_AUTH_BYTES, REPLY};
use crate::xdr::{Malformed, Strict};

/// Bytes of an accepted reply up to its results when its verifier's body has `verifier` bytes.
pub const fn results_at(verifier: usize) -> usize {
    24 + verifier.next_multiple_of(4)
}

/// The result of a call at the server's RPC layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// The procedure ran: its results.
    Success(&'a [u8]),
    /// PROG_UNAVAIL: no such program here.
    ProgramUnavailable,
    /// PROG_MISMATCH: the server supports versions `low` to `high`.
    ProgramMismatch {
        /// Lowest version.
        low: u32,
        /// Highest version.
        high: u32,
    },
    /// PROC_UNAVAIL: no such procedure.
    ProcedureUnavailable,
    /// GARBAGE_ARGS: the server could not read the arguments.
    GarbageArguments,
    /// SYSTEM_ERR: the server failed.
    SystemError,
    /// RPC_MISMATCH: the server supports RPC versions `low` to `high`, not 2.
    RpcMismatch {
        /// Lowest version.
        low: u32,
        /// Highest version.
        high: u32,
    },
    /// AUTH_ERROR: the credential was not good enough; its auth_stat.
    AuthError(u32),
}

impl<'a> Verdict<'a> {
    /// Reads a reply (without its record mark): its xid and the verdict. A verifier of any flavor is skipped.
    ///
    /// `bytes` may end within the results; all earlier fields must be complete.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<(u32, Self), Malformed> {
        let mut reader = Strict::new(bytes);
        let xid = reader.u32()?;
        if reader.u32()? != REPLY {
            return Err(Malformed);
        }
        let verdict = match reader.u32()? {
            0 => return Ok((xid, accepted(&mut reader)?)),
            1 => denied(&mut reader)?,
            _ => return Err(Malformed),
        };
        reader.end()?;
        Ok((xid, verdict))
    }
}

#[inline]
fn accepted<'a>(reader: &mut Strict<'a>) -> Result<Verdict<'a>, Malformed> {
    reader.u32()?;
    reader.opaque(MAX_AUTH_BYTES as usize)?;
    let verdict = match reader.u32()? {
        0 => return Ok(Verdict::Success(reader.rest())),
        1 => Verdict::ProgramUnavailable,
        2 => Verdict::ProgramMismatch { low: reader.u32()?, high: reader.u32()? },
        3 => Verdict::ProcedureUnavailable,
        4 => Verdict::GarbageArguments,
        5 => Verdict::SystemError,
        _ => return Err(Malformed),
    };
    reader.end()?;
    Ok(verdict)
}

fn denied<'a>(reader: &mut Strict<'a>) -> Result<Verdict<'a>, Malformed> {
    match reader.u32()? {
        0 => Ok(Verdict::RpcMismatch { low: reader.u32()?, high: reader.u32()? }),
        1 => Ok(Verdict::AuthError(reader.u32()?)),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::builder::{Xdr, damage, reply};

    fn parse(words: &[u32]) -> Result<(u32, Verdict<'static>), Malformed> {
        Verdict::parse(Xdr::new().words(words).bytes())
    }

    #[test]
    fn every_verdict_is_told_apart() {
        // RFC 5531 9: xid, REPLY, reply_stat, …
        assert_eq!(parse(&[9, 1, 0, 0, 0, 0]), Ok((9, Verdict::Success(&[]))));
        assert_eq!(parse(&[9, 1, 0, 0, 0, 1]), Ok((9, Verdict::ProgramUnavailable)));
        assert_eq!(parse(&[9, 1, 0, 0, 0, 2, 2, 4]), Ok((9, Verdict::ProgramMismatch { low: 2, high: 4 })));
        assert_eq!(parse(&[9, 1, 0, 0, 0, 3]), Ok((9, Verdict::ProcedureUnavailable)));
        assert_eq!(parse(&[9, 1, 0, 0, 0, 4]), Ok((9, Verdict::GarbageArguments)));
        assert_eq!(parse(&[9, 1, 0, 0, 0, 5]), Ok((9, Verdict::SystemError)));
        assert_eq!(parse(&[9, 1, 1, 0, 2, 2]), Ok((9, Verdict::RpcMismatch { low: 2, high: 2 })));
        assert_eq!(parse(&[9, 1, 1, 1, 5]), Ok((9, Verdict::AuthError(5))), "AUTH_TOOWEAK");
    }

    #[test]
    fn anything_else_is_malformed() {
        assert_eq!(parse(&[9, 0, 0, 0, 0, 0]), Err(Malformed), "a call");
        assert_eq!(parse(&[9, 1, 2]), Err(Malformed), "no such reply_stat");
        assert_eq!(parse(&[9, 1, 0, 0, 0, 6]), Err(Malformed), "no such accept_stat");
        assert_eq!(parse(&[9, 1, 1, 2, 0]), Err(Malformed), "no such reject_stat");
        assert_eq!(parse(&[9, 1, 0, 0, 0, 1, 0]), Err(Malformed), "something is left over");
        assert_eq!(parse(&[9, 1, 0, 0, 404]), Err(Malformed), "a verifier that is too long");
    }

    #[test]
    fn a_verifier_is_stepped_over_and_no_bytes_panic() {
        let with = Xdr::new().words(&[9, 1, 0, 2]).opaque("short").words(&[0, 77]).bytes();
        assert_eq!(Verdict::parse(with), Ok((9, Verdict::Success(&[0, 0, 0, 77]))));
        assert_eq!(with.len() - results_at(5), 4);
        damage(with, |bytes| {
            let _ = Verdict::parse(bytes);
        });
        damage(&reply(1, Xdr::new()).0, |bytes| {
            let _ = Verdict::parse(bytes);
        });
    }
}
