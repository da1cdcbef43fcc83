//! RPCSEC_GSS with Kerberos: a context of each client, in which calls are authenticated, signed or encrypted.
//!
//! ```text
//! INIT      AP-REQ ─► server ─► AP-REP, handle, window        once per connection, before its first call
//! calls     sequence number and signature of the head ─► server ─► signature of the sequence number
//! DESTROY   at the end
//! ```
//!
//! A server that refuses a call because the context has expired gets no further call in it. When the outstanding ones are answered, the
//! client asks for another context, and sends the refused calls again.
//!
//! No call goes out without the context, and no answer is accepted without the server's signature.
//!
//! Spec: RFC 2203 5, RFC 4121 4

#[cfg(not(feature = "kerberos"))]
mod absent;
#[cfg(feature = "kerberos")]
mod context;
#[cfg(feature = "kerberos")]
mod established;
#[cfg(all(test, feature = "kerberos"))]
mod tests;

use plimsoll_model::Asked;
use plimsoll_wire::rpc::Verdict;

use super::data::Data;
use crate::outbox::Outbox;

#[cfg(not(feature = "kerberos"))]
pub use absent::Gss;
#[cfg(not(feature = "kerberos"))]
pub(crate) use absent::GssContext;
#[cfg(feature = "kerberos")]
pub use context::Gss;
#[cfg(feature = "kerberos")]
pub(crate) use context::GssContext;

/// A call to write.
#[cfg_attr(not(feature = "kerberos"), expect(dead_code, reason = "nothing is written in a context"))]
pub(crate) struct Written<'a, E: FnOnce(&mut Vec<u8>) -> Asked> {
    /// The connection's number of the call; its low half is the xid.
    pub(crate) id: u64,
    pub(crate) procedure: u32,
    /// File data that ends the arguments.
    pub(crate) data: Option<Data<'a>>,
    /// Writes the arguments.
    pub(crate) emit: E,
}

/// The verdict of an answer that was checked.
pub(crate) enum Opened<'a> {
    /// As it arrived, or signed.
    Plain(Verdict<'a>),
    /// The context has expired, so the call was not executed: it must be sent again in another one.
    #[cfg_attr(not(feature = "kerberos"), expect(dead_code, reason = "no context expires"))]
    Expired(Verdict<'a>),
    /// Successful, with results that were encrypted.
    #[cfg_attr(not(feature = "kerberos"), expect(dead_code, reason = "nothing is decrypted"))]
    Decrypted(Vec<u8>),
}

impl Opened<'_> {
    pub(crate) fn verdict(&self) -> Verdict<'_> {
        match self {
            Opened::Plain(verdict) | Opened::Expired(verdict) => *verdict,
            Opened::Decrypted(results) => Verdict::Success(results),
        }
    }
}

/// Adds file data to the outbox without copying it.
pub(crate) fn share(data: &Data<'_>, out: &mut Outbox) {
    let Data { content, key, offset, length } = *data;
    content.pieces(key, offset, length as usize).for_each(|piece| out.share(content.block(), piece));
}
