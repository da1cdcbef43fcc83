//! Logons against an acceptor of our own, and tokens that are no good. Real servers: `tests/all/kerberos.rs`.

use proptest::prelude::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;

use super::*;
use crate::der::{ENUMERATED, OBJECT, OCTETS, SEQUENCE, application, before, field, sole, wrap};
use crate::kerberos::KERBEROS;
use crate::kerberos::encryption::{Cipher, Usage};
use crate::kerberos::message::{integer, seconds};
use crate::kerberos::testing::{self, KEY, NOW, TIME, first, ticket, token};

fn logon(ticket: &Arc<ServiceTicket>, seed: u64) -> Kerberos {
    Kerberos::new(Arc::clone(ticket), &mut StdRng::seed_from_u64(seed), NOW)
}

/// The server's view of a first token: ctime and cusec, and the client's subkey.
fn opened(token: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let outer = sole(token, application(0)).unwrap();
    let (_, init) = before(outer, field(0)).unwrap();
    let fields = sole(sole(init, field(0)).unwrap(), SEQUENCE).unwrap();
    let (_, mechanism) = before(fields, field(2)).unwrap();
    testing::opened(sole(sole(mechanism, field(2)).unwrap(), OCTETS).unwrap())
}

/// An AP-REP encrypted with `key`, in a successful response.
fn answer(key: &[u8], time: &[u8], microseconds: &[u8], subkey: Option<&[u8]>, proof: Option<&[u8]>) -> Vec<u8> {
    negotiated(0, &testing::reply(key, time, microseconds, subkey), proof)
}

fn negotiated(state: u8, token: &[u8], proof: Option<&[u8]>) -> Vec<u8> {
    let mut fields = [
        wrap(field(0), &wrap(ENUMERATED, &[state])),
        wrap(field(1), &wrap(OBJECT, KERBEROS)),
        wrap(field(2), &wrap(OCTETS, token)),
    ]
    .concat();
    fields.extend(proof.map(|proof| wrap(field(3), &wrap(OCTETS, proof))).unwrap_or_default());
    wrap(field(1), &wrap(SEQUENCE, &fields))
}

/// The server's MIC over the mechanisms, with its subkey.
fn proof(subkey: &[u8]) -> Vec<u8> {
    let head = [4, 4, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 7];
    let text = [&Mechanism::Kerberos.list()[..], &head].concat();
    [&head[..], &Cipher::new(subkey).unwrap().sign(Usage::AcceptorSignature, &text).unwrap()].concat()
}

#[test]
fn one_ticket_does_for_many_logons_and_each_proves_the_server() {
    let ticket = ticket();
    for seed in 0..3 {
        let mut auth = logon(&ticket, seed);
        let (time, microseconds, own) = opened(&auth.next(None).unwrap());
        assert!(auth.session_key().is_none(), "not before the server proved itself");
        assert_eq!(own.len(), 32);
        let said = answer(&KEY, &time, &microseconds, Some(&[seed as u8; 32]), Some(&proof(&[seed as u8; 32])));
        assert_eq!(auth.finish(&said), Ok(()));
        assert!(auth.session_key().is_some());
        let mut auth = logon(&ticket, seed);
        let (time, microseconds, _) = opened(&auth.next(None).unwrap());
        assert_eq!(auth.finish(&answer(&KEY, &time, &microseconds, None, None)), Ok(()), "without a subkey of its own");
        assert!(auth.session_key().is_some());
    }
}

#[test]
fn no_two_logons_have_the_same_time() {
    let ticket = ticket();
    let stamps: Vec<_> = (0..4).map(|seed| opened(&logon(&ticket, seed).next(None).unwrap())).collect();
    for pair in stamps.windows(2) {
        let [(time, before, _), (later, after, _)] = pair else { panic!() };
        assert_eq!((sole(time, 0x18), sole(later, 0x18)), (Some(TIME), Some(TIME)));
        assert!(integer(before) < integer(after), "all at the same instant");
    }
    assert_eq!(integer(&stamps[0].1), Some(390_048), "a microsecond after the first AP-REQ");
}

#[test]
fn authenticators_have_the_time_of_the_kdc() {
    let ahead = ServiceTicket::take("anna".into(), &first(&KEY, b"20261121155604Z"), &KEY, NOW).unwrap();
    assert_eq!(ahead.stamp(NOW + 5_000_000_000), NOW / 1_000 + 3_605_000_000);
}

#[test]
fn a_server_that_cannot_prove_itself_is_not_believed() {
    let ticket = ticket();
    let logon = |seed| {
        let mut auth = logon(&ticket, seed);
        let (time, microseconds, _) = opened(&auth.next(None).unwrap());
        (auth, time, microseconds)
    };
    let (mut auth, time, microseconds) = logon(1);
    assert_eq!(auth.finish(&answer(&[1; 32], &time, &microseconds, None, None)), Err(AuthError::BadProof));
    assert!(auth.session_key().is_none());
    let (mut auth, ..) = logon(2);
    assert_eq!(auth.finish(&answer(&KEY, &time, &microseconds, None, None)), Err(AuthError::BadProof), "another's");
    let (mut auth, time, microseconds) = logon(3);
    let forged = answer(&KEY, &time, &microseconds, Some(&[7; 32]), Some(&proof(&[8; 32])));
    assert_eq!(auth.finish(&forged), Err(AuthError::BadProof));
    let (mut auth, ..) = logon(4);
    assert!(matches!(auth.finish(&[]), Err(AuthError::Malformed(_))), "nothing proves nothing");
    let bare = wrap(field(1), &wrap(SEQUENCE, &wrap(field(0), &wrap(ENUMERATED, &[0]))));
    let (mut auth, ..) = logon(5);
    assert_eq!(auth.finish(&bare), Err(AuthError::Missing("mutual authentication")));
}

#[test]
fn refusals_and_servers_without_kerberos() {
    let ticket = ticket();
    // For example, the ticket has expired: Windows answers with a KRB-ERROR.
    for (state, kind, expected) in
        [(1, [3, 0], AuthError::Rejected), (2, [2, 0], AuthError::Rejected), (1, [2, 0], AuthError::OutOfTurn)]
    {
        let mut auth = logon(&ticket, 1);
        auth.next(None).unwrap();
        assert_eq!(auth.next(Some(&negotiated(state, &token(kind, &[]), None))), Err(expected));
        assert_eq!(auth.next(None), Err(AuthError::OutOfTurn));
    }
    let ntlm = spnego::first(Mechanism::Ntlm, b"hint");
    assert_eq!(logon(&ticket, 1).next(Some(&ntlm)), Err(AuthError::NotOffered("Kerberos")));
    assert!(logon(&ticket, 1).next(Some(&spnego::first(Mechanism::Kerberos, b"hint"))).is_ok());
}

#[test]
fn what_is_shown_of_a_logon_is_not_secret() {
    let shown = format!("{:?}", logon(&ticket(), 1));
    assert!(shown.contains("anna") && !shown.contains("90") && !shown.to_lowercase().contains("5a"), "{shown}");
}

/// RFC 4120 5.2.3, X.690 8.3.
#[test]
fn times_and_numbers() {
    assert_eq!(seconds(&wrap(0x18, TIME)), Some(NOW / 1_000_000_000));
    for wrong in [&b"20261121145604"[..], b"20261321145604Z", b"20261121145604.5Z", b"2026112114560\xff", b""] {
        assert_eq!(seconds(&wrap(0x18, wrong)), None);
    }
    assert_eq!(integer(&[2, 3, 0, 0, 5]), Some(5), "longer than it must be");
    assert_eq!((integer(&[2, 0]), integer(&[2, 5, 1, 0, 0, 0, 0])), (None, None));
}

proptest! {
    #[test]
    fn no_token_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..400) {
        let ticket = ticket();
        for token in [bytes.clone(), negotiated(0, &token([2, 0], &bytes), Some(&bytes)), negotiated(0, &bytes, None)] {
            let mut auth = logon(&ticket, 1);
            auth.next(None).unwrap();
            prop_assert!(auth.finish(&token).is_err());
            let mut auth = logon(&ticket, 1);
            auth.next(None).unwrap();
            prop_assert!(auth.next(Some(&token)).is_err());
        }
        let mut auth = logon(&ticket, 1);
        let (time, microseconds, _) = opened(&auth.next(None).unwrap());
        let mut said = answer(&KEY, &time, &microseconds, Some(&bytes), None);
        said.truncate(cut);
        let _ = auth.finish(&said);
        let _ = ServiceTicket::take(String::new(), &bytes, &KEY, NOW);
    }
}
