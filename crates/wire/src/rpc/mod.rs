//! ONC RPC version 2: record marks, calls and replies, as a passive observer sees them, and as a client writes ([`CallTemplate`]) and
//! strictly reads them ([`Verdict`]).
//!
//! Spec: RFC 5531; RFC 9289 4.1 (the start of TLS); RFC 2203 (RPCSEC_GSS)
//!
//! The views borrow the bytes and allocate nothing. Fields that were not captured are `None`. [`Call`] needs 24 bytes and [`Reply`] needs
//! 8, so a capture with a short snap length pairs as well as a whole one.

mod call;
mod credential;
pub mod gss;
mod marks;
mod plausible;
mod program;
mod record;
mod reply;
mod start_tls;
mod template;
mod verdict;

pub use call::{Call, CallParts};
pub use credential::{AuthSys, Credential, Flavor, GssCredential, GssProcedure, Protection};
pub use marks::{Asked, mark_call, mark_reply};
pub use plausible::{
    MAX_RECORD_LENGTH, Message, find_record, plausible_call, plausible_call_of_any_program, plausible_message,
    plausible_record, plausible_record_of_any_program, plausible_reply,
};
pub use program::{Program, TRANSIENT_PROGRAMS, highest_procedure, is_transient};
pub use record::RecordMark;
pub use reply::{AcceptStat, Reply, ReplyStat};
pub use start_tls::{StartTls, start_tls};
pub use template::{CallTemplate, Caller, CallerError, MAX_GROUPS, MAX_MACHINE_NAME};
pub use verdict::{Verdict, results_at};

/// Bytes of a call up to and with its procedure number.
pub const CALL_HEADER: usize = 24;
/// Bytes of a reply up to and with its message type.
pub const REPLY_HEADER: usize = 8;
/// The only RPC version there is.
pub const RPC_VERSION: u32 = 2;
/// Message type of a call.
pub const CALL: u32 = 0;
/// Message type of a reply.
pub const REPLY: u32 = 1;
/// A credential's or verifier's body has at most this many bytes (RFC 5531 8.2).
pub const MAX_AUTH_BYTES: u32 = 400;

#[cfg(test)]
mod tests;
