//! The view of a reply.
//!
//! Spec: RFC 5531 9

use super::credential::{Flavor, Protection, auth_at};
use super::{REPLY, REPLY_HEADER};
use crate::xdr::u32_at;

/// Whether the server took the call on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyStat {
    /// MSG_ACCEPTED: see [`Reply::accept_stat`].
    Accepted,
    /// MSG_DENIED.
    Denied,
    /// Any other wire number: not a valid reply.
    Other(u32),
}

/// How an accepted call ended, as far as RPC goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptStat {
    /// SUCCESS: results follow (with a separate status).
    Success,
    /// PROG_UNAVAIL: no such program here.
    ProgramUnavailable,
    /// PROG_MISMATCH: not in this version.
    ProgramMismatch,
    /// PROC_UNAVAIL: no such procedure.
    ProcedureUnavailable,
    /// GARBAGE_ARGS: the server could not read the arguments.
    GarbageArguments,
    /// SYSTEM_ERR: the server failed.
    SystemError,
    /// Any other wire number.
    Other(u32),
}

/// A reply, from at least its first 8 bytes (after the record mark, on TCP).
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    bytes: &'a [u8],
    xid: u32,
}

impl<'a> Reply<'a> {
    /// `None` unless the bytes start a reply and reach to its message type.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let head: &[u8; REPLY_HEADER] = bytes.first_chunk()?;
        if u32_at(head, 4)? != REPLY {
            return None;
        }
        Some(Self { bytes, xid: u32_at(head, 0)? })
    }

    /// The transaction id of the call that this answers.
    #[inline]
    pub fn xid(&self) -> u32 {
        self.xid
    }

    /// Accepted or denied.
    #[inline]
    pub fn reply_stat(&self) -> Option<ReplyStat> {
        Some(match u32_at(self.bytes, REPLY_HEADER)? {
            0 => ReplyStat::Accepted,
            1 => ReplyStat::Denied,
            other => ReplyStat::Other(other),
        })
    }

    /// Flavor of the server's verifier; only accepted replies have one.
    #[inline]
    pub fn verifier_flavor(&self) -> Option<Flavor> {
        match self.reply_stat()? {
            ReplyStat::Accepted => u32_at(self.bytes, 12).map(Flavor::from_wire),
            _ => None,
        }
    }

    /// How an accepted call ended.
    #[inline]
    pub fn accept_stat(&self) -> Option<AcceptStat> {
        Some(match u32_at(self.bytes, self.after_verifier()?)? {
            0 => AcceptStat::Success,
            1 => AcceptStat::ProgramUnavailable,
            2 => AcceptStat::ProgramMismatch,
            3 => AcceptStat::ProcedureUnavailable,
            4 => AcceptStat::GarbageArguments,
            5 => AcceptStat::SystemError,
            other => AcceptStat::Other(other),
        })
    }

    /// The procedure's results, as far as they were captured, when the reply alone shows that they are plain: `None`
    /// under RPCSEC_GSS (see [`Self::results_under`]), unless the call succeeded, or when the capture ends before them.
    #[inline]
    pub fn results(&self) -> Option<&'a [u8]> {
        if self.verifier_flavor()? == Flavor::Gss { None } else { self.results_under(Protection::None) }
    }

    /// The procedure's results, given what [`super::Call::protection`] said of the call.
    #[inline]
    pub fn results_under(&self, protection: Protection) -> Option<&'a [u8]> {
        let at = self.after_verifier()?;
        if u32_at(self.bytes, at)? != 0 {
            return None;
        }
        protection.open(self.bytes.get(at + 4..)?)
    }

    /// Where an accepted reply's `accept_stat` stands.
    #[inline]
    fn after_verifier(&self) -> Option<usize> {
        if self.reply_stat()? != ReplyStat::Accepted {
            return None;
        }
        let (_verifier, at) = auth_at(self.bytes, 12)?;
        Some(at)
    }
}
