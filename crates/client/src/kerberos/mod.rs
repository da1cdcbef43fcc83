//! Kerberos for SMB and NFS: a ticket once, and from then on one message each way for each session.
//!
//! ```text
//! before the run:   password ─ sspi ⇄ KDC (AS, TGS) ─► ServiceTicket
//! each session:     ServiceTicket ─► AP-REQ ─► server ─► AP-REP ─► key
//! ```
//!
//! `sspi` talks with the KDC and ends each of its conversations in one AP-REQ; it has no way to make a second one of the same
//! ticket. So its AP-REQ becomes the template of ours. Why: docs/decisions/0013-kerberos.md.
//!
//! SMB wraps the messages in SPNEGO (`smb2/auth/kerberos`), NFS in RPCSEC_GSS (`rpc/gss`).
//!
//! Spec: RFC 4120 3.2, RFC 4121 4.1, RFC 3961 (key usages)

#[cfg(feature = "kerberos")]
pub(crate) mod context_keys;
#[cfg(feature = "kerberos")]
pub(crate) mod encryption;
#[cfg(feature = "kerberos")]
mod kdc;
#[cfg(feature = "kerberos")]
pub(crate) mod message;
mod realm;
#[cfg(feature = "kerberos")]
mod request;
#[cfg(feature = "kerberos")]
mod sealing;
#[cfg(all(test, feature = "kerberos"))]
pub(crate) mod testing;
#[cfg(feature = "kerberos")]
mod ticket;

#[cfg(feature = "kerberos")]
pub(crate) use context_keys::ContextKeys;
pub use realm::{Realm, TicketError};
#[cfg(feature = "kerberos")]
pub use request::Purpose;
#[cfg(feature = "kerberos")]
pub use ticket::ServiceTicket;

/// 1.2.840.113554.1.2.2, Kerberos 5.
#[cfg(feature = "kerberos")]
pub(crate) const KERBEROS: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02];

/// Why a token of the server is of no use, or ours cannot be made.
#[cfg(feature = "kerberos")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenError {
    /// The server refuses the ticket.
    Rejected,
    /// It cannot be read.
    Malformed(&'static str),
    /// It does not prove what it should.
    BadProof,
    /// Ours cannot be encrypted with the ticket's key.
    Encryption,
}
