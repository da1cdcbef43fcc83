//! The caller's credential, and whether the arguments are readable.
//!
//! Spec: RFC 5531 8.2, RFC 5531 Appendix A, RFC 2203 5.3.1, RFC 9289 4.1

use super::MAX_AUTH_BYTES;
use crate::xdr::{Cursor, u32_at};

/// A machine name in AUTH_SYS has at most this many bytes (RFC 5531 Appendix A).
const MAX_MACHINE_NAME: usize = 255;

/// The body of the credential or verifier (`opaque_auth`) at `at`, and where what follows it begins; `None` unless its
/// body was captured whole. (Offsets instead of a cursor, for this is read in every message.)
#[inline]
pub(super) fn auth_at(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let length = u32_at(bytes, at + 4)?;
    if length > MAX_AUTH_BYTES {
        return None;
    }
    let (start, length) = (at + 8, length as usize);
    let body = bytes.get(start..start + length)?;
    // Padding that was cut off is forgiven. (`next_multiple_of` would have a branch.)
    Some((body, (start + ((length + 3) & !3)).min(bytes.len())))
}

/// The kind of a credential or verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// AUTH_NONE: anonymous.
    None,
    /// AUTH_SYS: a user id that the client claims.
    Sys,
    /// AUTH_SHORT: a server's shorthand for an AUTH_SYS credential.
    Short,
    /// AUTH_DH: Diffie-Hellman.
    Dh,
    /// RPCSEC_GSS: in practice Kerberos.
    Gss,
    /// AUTH_TLS: the probe that starts RPC-with-TLS.
    Tls,
    /// Any other wire number.
    Other(u32),
}

impl Flavor {
    /// From the wire number.
    #[inline]
    pub fn from_wire(number: u32) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Sys,
            2 => Self::Short,
            3 => Self::Dh,
            6 => Self::Gss,
            7 => Self::Tls,
            other => Self::Other(other),
        }
    }
}

/// What RPCSEC_GSS does to arguments and results. A reply does not say it: take it from its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Plain, as without RPCSEC_GSS and under krb5.
    None,
    /// Signed (krb5i): readable behind a length and a sequence number.
    Integrity,
    /// Encrypted (krb5p): not readable.
    Privacy,
}

impl Protection {
    /// The procedure's own bytes in a message body of this protection: `None` when encrypted or cut before they begin.
    ///
    /// Under integrity they follow the length of the signed part and its sequence number, and end with the signed part.
    #[inline]
    pub(crate) fn open(self, body: &[u8]) -> Option<&[u8]> {
        match self {
            Self::None => Some(body),
            Self::Privacy => None,
            Self::Integrity => {
                let mut cursor = Cursor::new(body);
                let signed = cursor.u32()? as usize;
                cursor.u32()?;
                let rest = cursor.rest();
                Some(rest.get(..signed.checked_sub(4)?).unwrap_or(rest))
            }
        }
    }
}

/// The purpose of an RPCSEC_GSS message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GssProcedure {
    /// RPCSEC_GSS_DATA: an ordinary call.
    Data,
    /// RPCSEC_GSS_INIT: sets a context up.
    Init,
    /// RPCSEC_GSS_CONTINUE_INIT: more of the same.
    ContinueInit,
    /// RPCSEC_GSS_DESTROY: gives the context up.
    Destroy,
    /// Any other wire number (RFC 5403 and RFC 7861 add some).
    Other(u32),
}

/// An RPCSEC_GSS credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GssCredential<'a> {
    /// Version of RPCSEC_GSS: 1, 2 or 3.
    pub version: u32,
    /// The message's purpose.
    pub procedure: GssProcedure,
    /// The sequence number within the context; unlike the xid it differs when a call is repeated.
    pub sequence: u32,
    /// The context's protection of arguments and results; `None` for an unknown wire number.
    pub protection: Option<Protection>,
    /// The context's handle, when it was captured whole.
    pub handle: Option<&'a [u8]>,
}

/// An AUTH_SYS credential: the client's claims about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthSys<'a> {
    /// The client's name, as arbitrary bytes.
    pub machine_name: &'a [u8],
    /// The calling user's number.
    pub uid: u32,
    /// The user's primary group.
    pub gid: u32,
}

/// A call's credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential<'a> {
    /// AUTH_SYS, with its body.
    Sys(AuthSys<'a>),
    /// RPCSEC_GSS, with its body.
    Gss(GssCredential<'a>),
    /// A flavor of which an observer learns nothing more, or whose body was cut or malformed.
    Flavor(Flavor),
}

impl<'a> Credential<'a> {
    /// Reads the body of a credential of this flavor.
    #[inline]
    pub(crate) fn new(flavor: Flavor, body: &'a [u8]) -> Self {
        let parsed = match flavor {
            Flavor::Sys => auth_sys(body).map(Self::Sys),
            Flavor::Gss => gss(body).map(Self::Gss),
            _ => None,
        };
        parsed.unwrap_or(Self::Flavor(flavor))
    }
}

#[inline]
fn auth_sys(body: &[u8]) -> Option<AuthSys<'_>> {
    let mut cursor = Cursor::new(body);
    let _stamp = cursor.u32()?;
    let machine_name = cursor.opaque_up_to(MAX_MACHINE_NAME)?;
    Some(AuthSys { machine_name, uid: cursor.u32()?, gid: cursor.u32()? })
}

fn gss(body: &[u8]) -> Option<GssCredential<'_>> {
    let mut cursor = Cursor::new(body);
    let version = cursor.u32()?;
    if !(1..=3).contains(&version) {
        return None;
    }
    let procedure = match cursor.u32()? {
        0 => GssProcedure::Data,
        1 => GssProcedure::Init,
        2 => GssProcedure::ContinueInit,
        3 => GssProcedure::Destroy,
        other => GssProcedure::Other(other),
    };
    let sequence = cursor.u32()?;
    let protection = match cursor.u32()? {
        1 => Some(Protection::None),
        2 => Some(Protection::Integrity),
        3 => Some(Protection::Privacy),
        _ => None,
    };
    Some(GssCredential { version, procedure, sequence, protection, handle: cursor.opaque() })
}
