//! RPCSEC_GSS as a client reads it: the verifier of a reply, the results that begin a context, signed and encrypted results. The first byte
//! tells which.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::rpc::gss::{InitResults, SignedResults, plain_results, reply_verifier, sealed_results};

fuzz_target!(|data: &[u8]| {
    let [which, bytes @ ..] = data else { return };
    // Whether it is read or refused is the parser's: no panic, and nothing longer than what came.
    match which % 4 {
        0 => {
            if let Ok(Some((_, verifier))) = reply_verifier(bytes) {
                assert!(verifier.len() <= 400 && verifier.len() < bytes.len());
            }
        }
        1 => {
            if let Ok(InitResults { handle, token, .. }) = InitResults::parse(bytes) {
                assert!(handle.len() + token.len() + 20 <= bytes.len());
            }
        }
        2 => {
            if let Ok(SignedResults { signed, signature }) = SignedResults::parse(bytes) {
                assert!(signed.len() + signature.len() + 8 <= bytes.len());
                let plain = plain_results(signed);
                assert_eq!(plain.is_ok(), signed.len() >= 4);
            }
        }
        _ => {
            if let Ok(sealed) = sealed_results(bytes) {
                assert_eq!(bytes.len(), 4 + sealed.len().next_multiple_of(4));
            }
        }
    }
});
