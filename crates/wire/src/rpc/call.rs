//! The view of a call.
//!
//! Spec: RFC 5531 9

use super::credential::{Credential, Flavor, GssProcedure, Protection, auth_at};
use super::{CALL, CALL_HEADER, RPC_VERSION};
use crate::xdr::u32_at;

/// Where a call's items stand, in bytes after the record mark.
mod at {
    pub(super) const MESSAGE_TYPE: usize = 4;
    pub(super) const RPC_VERSION: usize = 8;
    pub(super) const PROGRAM: usize = 12;
    pub(super) const VERSION: usize = 16;
    pub(super) const PROCEDURE: usize = 20;
}

/// A call, from at least its first 24 bytes (after the record mark, on TCP).
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    bytes: &'a [u8],
    xid: u32,
    program: u32,
    version: u32,
    procedure: u32,
}

/// What stands behind a call's header.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallParts<'a> {
    /// See [`Call::credential`].
    pub credential: Option<Credential<'a>>,
    /// See [`Call::protection`].
    pub protection: Option<Protection>,
    /// See [`Call::arguments`].
    pub arguments: Option<&'a [u8]>,
}

impl<'a> Call<'a> {
    /// `None` unless the bytes start an RPC version 2 call and reach to its procedure number.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let head: &[u8; CALL_HEADER] = bytes.first_chunk()?;
        if u32_at(head, at::MESSAGE_TYPE)? != CALL || u32_at(head, at::RPC_VERSION)? != RPC_VERSION {
            return None;
        }
        Some(Self {
            bytes,
            xid: u32_at(head, 0)?,
            program: u32_at(head, at::PROGRAM)?,
            version: u32_at(head, at::VERSION)?,
            procedure: u32_at(head, at::PROCEDURE)?,
        })
    }

    /// The transaction id, which the reply repeats.
    #[inline]
    pub fn xid(&self) -> u32 {
        self.xid
    }

    /// The program's number, see [`super::Program`].
    #[inline]
    pub fn program(&self) -> u32 {
        self.program
    }

    /// The program's version.
    #[inline]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The procedure's number in its program and version.
    #[inline]
    pub fn procedure(&self) -> u32 {
        self.procedure
    }

    /// The credential's flavor.
    #[inline]
    pub fn flavor(&self) -> Option<Flavor> {
        u32_at(self.bytes, CALL_HEADER).map(Flavor::from_wire)
    }

    /// Its credential, protection and arguments, each as its own function says: read in one go, for that is done with every call.
    #[inline]
    pub fn parts(&self) -> CallParts<'a> {
        let Some(flavor) = self.flavor() else { return CallParts::default() };
        let auth = auth_at(self.bytes, CALL_HEADER);
        let credential = Credential::new(flavor, auth.unwrap_or_default().0);
        let protection = match (flavor, credential) {
            (Flavor::Gss, Credential::Gss(gss)) if gss.procedure == GssProcedure::Data => gss.protection,
            (Flavor::Gss, _) => None,
            _ => Some(Protection::None),
        };
        let verifier = auth.and_then(|(_, at)| auth_at(self.bytes, at));
        let behind = verifier.and_then(|(_, at)| self.bytes.get(at..));
        let arguments = protection.zip(behind).and_then(|(protection, behind)| protection.open(behind));
        CallParts { credential: Some(credential), protection, arguments }
    }

    /// The credential. One whose body was cut is only known by its flavor.
    #[inline]
    pub fn credential(&self) -> Option<Credential<'a>> {
        self.parts().credential
    }

    /// The protection of the arguments and of the results. `None` if it was not captured, and for RPCSEC_GSS's own messages (they carry
    /// tokens instead of arguments).
    #[inline]
    pub fn protection(&self) -> Option<Protection> {
        self.parts().protection
    }

    /// The procedure's arguments, as far as they were captured: what follows the verifier, and the integrity wrapper's
    /// head under krb5i. `None` when encrypted, when there are none to see, or when the capture ends before them.
    #[inline]
    pub fn arguments(&self) -> Option<&'a [u8]> {
        self.parts().arguments
    }
}
