//! An established context: how it begins, and how it reads results.
//!
//! Spec: RFC 2203 5.2.3 (beginning), 5.3.3.4 (results); RFC 4121 2 (keys)

use plimsoll_wire::rpc::gss::{InitResults, RPCSEC_GSS, SignedResults, plain_results, sealed_results};
use plimsoll_wire::rpc::{Protection, Verdict};
use plimsoll_wire::xdr::Malformed;
use zeroize::Zeroizing;

use super::Opened;
use crate::kerberos::message::{self, Sent};
use crate::kerberos::{ContextKeys, ServiceTicket, TokenError};
use crate::operation::Cause;

/// The AP-REQ that was sent.
pub(super) struct InitRequest {
    pub(super) sent: Sent,
    pub(super) subkey: Zeroizing<Vec<u8>>,
    pub(super) sequence: u32,
}

/// An established context.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) keys: ContextKeys,
    pub(super) handle: Box<[u8]>,
    pub(super) window: u32,
}

impl Ready {
    /// Results that were signed or encrypted, if the sequence number in them is that of their call.
    pub(super) fn results<'a>(
        &self,
        protection: Protection,
        sequence: u32,
        results: &'a [u8],
    ) -> Result<Opened<'a>, Cause> {
        match protection {
            Protection::None => Ok(Opened::Plain(Verdict::Success(results))),
            Protection::Integrity => {
                let SignedResults { signed, signature } =
                    SignedResults::parse(results).map_err(|Malformed| Cause::Untrusted)?;
                self.keys.verify(signed, signature).map_err(cause)?;
                Ok(Opened::Plain(Verdict::Success(of_call(signed, sequence)?)))
            }
            Protection::Privacy => {
                let sealed = sealed_results(results).map_err(|Malformed| Cause::Untrusted)?;
                let plain = self.keys.open(sealed).map_err(cause)?;
                Ok(Opened::Decrypted(of_call(&plain, sequence)?.to_vec()))
            }
        }
    }
}

fn of_call(data: &[u8], sequence: u32) -> Result<&[u8], Cause> {
    match plain_results(data) {
        Ok((said, results)) if said == sequence => Ok(results),
        _ => Err(Cause::Untrusted),
    }
}

/// Checks the answer to the AP-REQ: the server's proof, and its signature of the window.
pub(super) fn established(
    ticket: &ServiceTicket,
    request: &InitRequest,
    verifier: Option<(u32, &[u8])>,
    results: &[u8],
) -> Result<Ready, Cause> {
    let InitResults { handle, major, window, token, .. } =
        InitResults::parse(results).map_err(|Malformed| Cause::Malformed)?;
    // Kerberos is done after one token each way: 1 (GSS_S_CONTINUE_NEEDED) is no success.
    if major != 0 {
        return Err(Cause::LogonRefused);
    }
    let subkey = message::reply(ticket, &request.sent, token).map_err(cause)?;
    // RFC 4121 2: the acceptor's subkey where there is one, else the initiator's.
    let (key, of_acceptor) = subkey.map_or_else(|| (request.subkey.clone(), false), |key| (key, true));
    let keys = ContextKeys::new(&key, of_acceptor, request.sequence).ok_or(Cause::Malformed)?;
    let signed = verifier.is_some_and(|(flavor, signature)| {
        flavor == RPCSEC_GSS && keys.verify(&window.to_be_bytes(), signature).is_ok()
    });
    match (signed, window) {
        (false, _) => Err(Cause::Untrusted),
        (true, 0) => Err(Cause::Malformed),
        (true, _) => Ok(Ready { keys, handle: handle.into(), window }),
    }
}

fn cause(error: TokenError) -> Cause {
    match error {
        TokenError::Rejected => Cause::LogonRefused,
        TokenError::Malformed(_) => Cause::Malformed,
        TokenError::BadProof | TokenError::Encryption => Cause::Untrusted,
    }
}

impl std::fmt::Debug for InitRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InitRequest").finish_non_exhaustive()
    }
}
