//! The server's side of a Kerberos exchange, for tests.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use super::encryption::{Cipher, Usage};
use super::message::{self, Encrypted, REQUEST, inner};
use super::{KERBEROS, ServiceTicket};
use crate::der::{self, OBJECT, OCTETS, SEQUENCE, application, before, field, sole, wrap};

/// 2026-11-21 14:56:04.390047 UTC, ns.
pub(crate) const NOW: i64 = 1_795_272_964_390_047_000;
pub(crate) const TIME: &[u8] = b"20261121145604Z";
/// The ticket's key.
pub(crate) const KEY: [u8; 32] = [0x5A; 32];

pub(crate) fn number(value: u8) -> Vec<u8> {
    vec![2, 1, value]
}

pub(crate) fn token(kind: [u8; 2], message: &[u8]) -> Vec<u8> {
    wrap(application(0), &[&wrap(OBJECT, KERBEROS)[..], &kind, message].concat())
}

pub(crate) fn encrypted(key: &[u8], usage: Usage, plain: &[u8]) -> Vec<u8> {
    let cipher = Cipher::new(key).unwrap();
    let text = cipher.encrypt(usage, plain).unwrap();
    wrap(SEQUENCE, &[wrap(field(0), &number(cipher.number())), wrap(field(2), &wrap(OCTETS, &text))].concat())
}

/// The first AP-REQ of a ticket, as `sspi` creates it, with the KDC's time.
pub(crate) fn first(key: &[u8], time: &[u8]) -> Vec<u8> {
    let head: Vec<u8> = (0..4).flat_map(|n| wrap(field(n), &number(n))).collect();
    let when = [wrap(field(4), &[2, 3, 0x05, 0xF3, 0x9F]), wrap(field(5), &wrap(0x18, time))].concat();
    let plain = wrap(application(2), &wrap(SEQUENCE, &[&head[..], &when].concat()));
    let sealed = wrap(field(4), &encrypted(key, Usage::Authenticator, &plain));
    token(REQUEST, &wrap(application(14), &wrap(SEQUENCE, &[&head[..], &sealed].concat())))
}

pub(crate) fn ticket() -> Arc<ServiceTicket> {
    Arc::new(ServiceTicket::take("anna".into(), &first(&KEY, TIME), &KEY, NOW).unwrap())
}

/// The server's view of an AP-REQ: ctime and cusec, and the client's subkey.
pub(crate) fn opened(token: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let request = inner(token, REQUEST).unwrap();
    let fields = sole(sole(request, application(14)).unwrap(), SEQUENCE).unwrap();
    let (_, sealed) = before(fields, field(4)).unwrap();
    let sealed = Encrypted::read(sole(sealed, field(4)).unwrap()).unwrap();
    let plain = Cipher::new(&KEY).unwrap().decrypt(Usage::Authenticator, sealed.text).unwrap();
    let fields = sole(sole(&plain, application(2)).unwrap(), SEQUENCE).unwrap();
    let (_, mut rest) = before(fields, field(4)).unwrap();
    let mut next = |n| der::optional(&mut rest, field(n)).unwrap().to_vec();
    let (microseconds, time, subkey) = (next(4), next(5), next(6));
    let (_, key) = before(sole(&subkey, SEQUENCE).unwrap(), field(1)).unwrap();
    (time, microseconds, sole(sole(key, field(1)).unwrap(), OCTETS).unwrap().to_vec())
}

/// An AP-REP encrypted with `key`.
pub(crate) fn reply(key: &[u8], time: &[u8], microseconds: &[u8], subkey: Option<&[u8]>) -> Vec<u8> {
    let mut fields = [wrap(field(0), time), wrap(field(1), microseconds)].concat();
    if let Some(subkey) = subkey {
        let inside = [wrap(field(0), &number(18)), wrap(field(1), &wrap(OCTETS, subkey))].concat();
        fields.extend(wrap(field(2), &wrap(SEQUENCE, &inside)));
    }
    let plain = wrap(application(27), &wrap(SEQUENCE, &fields));
    let parts = [wrap(field(0), &number(5)), wrap(field(1), &number(15))].concat();
    let sealed = wrap(field(2), &encrypted(key, Usage::Reply, &plain));
    token([2, 0], &wrap(application(15), &wrap(SEQUENCE, &[parts, sealed].concat())))
}

#[test]
fn an_error_is_no_reply() {
    assert!(message::is_error(&token([3, 0], &[])) && !message::is_error(&reply(&KEY, TIME, &[], None)));
}
