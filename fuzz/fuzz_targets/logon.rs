//! A server's side of a logon: SPNEGO's offer, NTLM's challenge, the final proof.
//!
//! The first byte selects the user; each token follows its length, two bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_client::smb2::auth::{Auth, AuthError, Credentials, Ntlm, Randomness, Secret};

/// Tokens of one logon: the offer, the challenge, the proof, and one too many.
const TOKENS: usize = 4;

fuzz_target!(|data: &[u8]| {
    let [who, rest @ ..] = data else { return };
    let user = || Credentials { domain: "W".into(), user: "u".into(), password: Secret::new("p".into()) };
    let credentials = if who & 1 == 0 { user() } else { Credentials::anonymous() };
    let randomness = Randomness { client_challenge: [7; 8], session_key: [9; 16].into() };
    let mut logon = Ntlm::new(credentials, randomness, 0).target("cifs/srv");
    let mut rest = rest;
    let mut answered = 0;
    for _ in 0..TOKENS {
        let [low, high, tail @ ..] = rest else { break };
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (token, tail) = tail.split_at(length);
        rest = tail;
        match answered {
            // Servers may begin without an offer: then the fuzzer gets on to the challenge more easily.
            0 if who & 2 != 0 => assert!(logon.next(None).is_ok()),
            0 | 1 => {
                if logon.next(Some(token)).is_err() {
                    assert!(logon.session_key().is_none(), "a logon that failed has no key");
                    assert_eq!(logon.next(Some(token)), Err(AuthError::OutOfTurn));
                    break;
                }
            }
            _ => {
                assert!(logon.session_key().is_some() || who & 1 != 0);
                if logon.finish(token).is_err() {
                    assert!(logon.session_key().is_none());
                }
                break;
            }
        }
        answered += 1;
    }
});
