//! RPCSEC_GSS of a client: the heads of its calls, the results that begin a context, and protected arguments and results.
//!
//! Spec: RFC 2203 5; RFC 2203 Appendix A (auth_stat)
//!
//! Cryptography is the caller's: this file says which bytes are signed or encrypted, and where the results stand.

use super::credential::{GssProcedure, Protection};
use super::{CALL, MAX_AUTH_BYTES, REPLY, RPC_VERSION};
use crate::xdr::{Emit, Malformed, Strict};

const AUTH_NONE: u32 = 0;
/// The flavor of credentials and verifiers.
pub const RPCSEC_GSS: u32 = 6;
/// RPCSEC_GSS_VERS_1.
const VERSION: u32 = 1;
/// The longest context handle: with it a credential is as long as one may be.
const LONGEST_HANDLE: usize = MAX_AUTH_BYTES as usize - 20;
/// The longest token of a server, bytes: far above an AP-REP.
const LONGEST_TOKEN: usize = 64 << 10;
/// auth_stat of a credential that the server does not know, or does not believe.
pub const CREDENTIAL_PROBLEM: u32 = 13;
/// auth_stat of a context that ended.
pub const CONTEXT_PROBLEM: u32 = 14;

impl Protection {
    /// All of them, weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Integrity, Self::Privacy];

    /// Its name with Kerberos, as in nfs(5).
    #[must_use]
    pub const fn kerberos_name(self) -> &'static str {
        match self {
            Self::None => "krb5",
            Self::Integrity => "krb5i",
            Self::Privacy => "krb5p",
        }
    }

    /// Its number with Kerberos in the lists of flavors that MOUNT and SECINFO return (RFC 2623 2.1).
    #[must_use]
    pub const fn kerberos_flavor(self) -> u32 {
        match self {
            Self::None => 390_003,
            Self::Integrity => 390_004,
            Self::Privacy => 390_005,
        }
    }
}

/// The head of a call, up to its verifier.
#[derive(Debug, Clone, Copy)]
pub struct GssCall<'a> {
    /// The transaction id.
    pub xid: u32,
    /// The program and its version.
    pub program: (u32, u32),
    /// The procedure's number.
    pub procedure: u32,
    /// The purpose of the message.
    pub purpose: GssProcedure,
    /// The sequence number in the context.
    pub sequence: u32,
    /// The protection of the context's arguments and results.
    pub protection: Protection,
    /// The context's handle; empty before the server assigned one.
    pub handle: &'a [u8],
}

impl GssCall<'_> {
    /// Appends everything that the verifier signs: from the xid to the end of the credential. The record mark is not part of it.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let (program, version) = self.program;
        for word in [self.xid, CALL, RPC_VERSION, program, version, self.procedure, RPCSEC_GSS] {
            out.put_u32(word);
        }
        let handle = self.handle.get(..LONGEST_HANDLE).unwrap_or(self.handle);
        out.put_u32(20 + handle.len().next_multiple_of(4) as u32);
        for word in [VERSION, purpose(self.purpose), self.sequence, service(self.protection)] {
            out.put_u32(word);
        }
        out.put_opaque(handle);
    }
}

fn purpose(procedure: GssProcedure) -> u32 {
    match procedure {
        GssProcedure::Data => 0,
        GssProcedure::Init => 1,
        GssProcedure::ContinueInit => 2,
        GssProcedure::Destroy => 3,
        GssProcedure::Other(number) => number,
    }
}

fn service(protection: Protection) -> u32 {
    match protection {
        Protection::None => 1,
        Protection::Integrity => 2,
        Protection::Privacy => 3,
    }
}

/// Appends a call's verifier: a signature, or none in the call that begins a context.
pub fn put_verifier(signature: Option<&[u8]>, out: &mut Vec<u8>) {
    out.put_u32(if signature.is_some() { RPCSEC_GSS } else { AUTH_NONE });
    out.put_opaque(signature.unwrap_or_default());
}

/// The verifier of an accepted reply (without its record mark): its flavor and body. `None` in a denied reply, which has none.
///
/// # Errors
/// It is no reply, or ends before its verifier does.
pub fn reply_verifier(bytes: &[u8]) -> Result<Option<(u32, &[u8])>, Malformed> {
    let mut reader = Strict::new(bytes);
    reader.u32()?;
    if reader.u32()? != REPLY {
        return Err(Malformed);
    }
    match reader.u32()? {
        0 => Ok(Some((reader.u32()?, reader.opaque(MAX_AUTH_BYTES as usize)?))),
        _ => Ok(None),
    }
}

/// The results of a call that begins a context (rpc_gss_init_res).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitResults<'a> {
    /// The handle that the server knows the context by.
    pub handle: &'a [u8],
    /// GSS-API's major status: 0 for complete, 1 where the server expects another token.
    pub major: u32,
    /// The mechanism's minor status.
    pub minor: u32,
    /// Sequence numbers that the server remembers, at least 1. It drops a call whose number is that much below the highest it has seen.
    pub window: u32,
    /// The server's token.
    pub token: &'a [u8],
}

impl<'a> InitResults<'a> {
    /// Reads the results.
    ///
    /// # Errors
    /// They are none.
    pub fn parse(results: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Strict::new(results);
        let handle = reader.opaque(LONGEST_HANDLE)?;
        let (major, minor, window) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let token = reader.opaque(LONGEST_TOKEN)?;
        reader.end()?;
        Ok(Self { handle, major, minor, window, token })
    }
}

/// Signed results (rpc_gss_integ_data).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedResults<'a> {
    /// What is signed: a sequence number and the results. [`plain_results`] takes them apart.
    pub signed: &'a [u8],
    /// The signature.
    pub signature: &'a [u8],
}

impl<'a> SignedResults<'a> {
    /// Reads what stands in place of results.
    ///
    /// # Errors
    /// It is none of that.
    pub fn parse(results: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Strict::new(results);
        let signed = reader.opaque(usize::MAX)?;
        let signature = reader.opaque(MAX_AUTH_BYTES as usize)?;
        reader.end()?;
        Ok(Self { signed, signature })
    }
}

/// The token of encrypted results (rpc_gss_priv_data).
///
/// # Errors
/// It is none.
pub fn sealed_results(results: &[u8]) -> Result<&[u8], Malformed> {
    let mut reader = Strict::new(results);
    let sealed = reader.opaque(usize::MAX)?;
    reader.end()?;
    Ok(sealed)
}

/// The sequence number and the results of signed or decrypted data (rpc_gss_data_t).
///
/// # Errors
/// It is none.
pub fn plain_results(data: &[u8]) -> Result<(u32, &[u8]), Malformed> {
    let mut reader = Strict::new(data);
    Ok((reader.u32()?, reader.rest()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{Call, Credential, Flavor};
    use crate::xdr::builder::{Xdr, damage};

    fn head(purpose: GssProcedure, protection: Protection, handle: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let program = (100_003, 3);
        GssCall { xid: 9, program, procedure: 1, purpose, sequence: 7, protection, handle }.emit(&mut out);
        out
    }

    #[test]
    fn a_head_is_what_the_specification_says() {
        // RFC 5531 9: xid, CALL, RPC version, program, version, procedure; RFC 2203 5: flavor, length, version 1, gss_proc, seq_num,
        // service, handle.
        let expected = Xdr::new().words(&[9, 0, 2, 100_003, 3, 1]).words(&[6, 28, 1, 0, 7, 2]).opaque("handle");
        assert_eq!(head(GssProcedure::Data, Protection::Integrity, b"handle"), expected.0);
        let expected = Xdr::new().words(&[9, 0, 2, 100_003, 3, 1]).words(&[6, 20, 1, 1, 7, 3]).opaque("");
        assert_eq!(head(GssProcedure::Init, Protection::Privacy, b""), expected.0);
        for (purpose, number) in [(GssProcedure::ContinueInit, 2), (GssProcedure::Destroy, 3)] {
            assert_eq!(head(purpose, Protection::None, b"")[39..52], [number, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0]);
        }
        assert_eq!(head(GssProcedure::Data, Protection::None, &[7; 999]).len(), 32 + 400, "a credential's limit");
    }

    #[test]
    fn the_observer_reads_what_the_client_writes() {
        let mut call = head(GssProcedure::Data, Protection::Integrity, b"handle");
        put_verifier(Some(b"signature"), &mut call);
        // rpc_gss_integ_data: databody_integ (seq_num and arguments), checksum.
        let call = Xdr(call).opaque(Xdr::new().words(&[7, 0xA55A]).0).opaque("signature");
        let view = Call::new(&call.0).unwrap();
        let Some(Credential::Gss(gss)) = view.credential() else { panic!("no RPCSEC_GSS") };
        assert_eq!((gss.version, gss.procedure, gss.sequence), (1, GssProcedure::Data, 7));
        assert_eq!((gss.protection, gss.handle), (Some(Protection::Integrity), Some(&b"handle"[..])));
        assert_eq!(view.arguments(), Some(&[0, 0, 0xA5, 0x5A][..]));
        assert_eq!(view.flavor(), Some(Flavor::Gss));
        let mut none = Vec::new();
        put_verifier(None, &mut none);
        assert_eq!(none, [0; 8]);
    }

    #[test]
    fn a_context_begins_with_all_its_results() {
        let results = Xdr::new().opaque("ctx").words(&[0, 5, 128]).opaque("token").bytes();
        let expected = InitResults { handle: b"ctx", major: 0, minor: 5, window: 128, token: b"token" };
        assert_eq!(InitResults::parse(results), Ok(expected));
        assert_eq!(InitResults::parse(&results[..results.len() - 4]), Err(Malformed));
        assert_eq!(InitResults::parse(Xdr(results.to_vec()).u32(0).bytes()), Err(Malformed), "more than that");
        let long = Xdr::new().opaque([0; 384]).words(&[0, 0, 1]).opaque("").bytes();
        assert_eq!(InitResults::parse(long), Err(Malformed), "a handle that fits into no credential");
        damage(results, |bytes| {
            let _ = InitResults::parse(bytes);
        });
    }

    #[test]
    fn protected_results_are_taken_apart() {
        let signed = Xdr::new().opaque(Xdr::new().words(&[7, 1, 2]).0).opaque("mic").bytes();
        let parts = SignedResults::parse(signed).unwrap();
        assert_eq!((parts.signed.len(), parts.signature), (12, &b"mic"[..]));
        assert_eq!(plain_results(parts.signed), Ok((7, &parts.signed[4..])));
        assert_eq!(plain_results(&[0, 0, 7]), Err(Malformed));
        let sealed = Xdr::new().opaque("a wrap token").bytes();
        assert_eq!(sealed_results(sealed), Ok(&b"a wrap token"[..]));
        assert_eq!(sealed_results(Xdr(sealed.to_vec()).u32(0).bytes()), Err(Malformed));
        damage(signed, |bytes| {
            let _ = (SignedResults::parse(bytes), sealed_results(bytes), plain_results(bytes));
        });
    }

    #[test]
    fn only_accepted_replies_have_a_verifier() {
        let accepted = Xdr::new().words(&[9, 1, 0, 6]).opaque("mic").words(&[0]).bytes();
        assert_eq!(reply_verifier(accepted), Ok(Some((6, &b"mic"[..]))));
        assert_eq!(reply_verifier(Xdr::new().words(&[9, 1, 1, 1, CREDENTIAL_PROBLEM]).bytes()), Ok(None));
        assert_eq!(reply_verifier(Xdr::new().words(&[9, 0, 0, 6]).bytes()), Err(Malformed), "a call");
        assert_eq!(reply_verifier(Xdr::new().words(&[9, 1, 0, 6, 401]).bytes()), Err(Malformed), "too long");
    }
}
