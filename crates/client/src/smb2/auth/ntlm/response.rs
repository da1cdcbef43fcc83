//! Proves the password with NTLMv2.
//!
//! Spec: MS-NLMP 3.3.2, 3.4.4, 3.4.5; RFC 1320 (MD4), RFC 2104 (HMAC-MD5); RC4 as in RFC 6229

use hmac::{Hmac, KeyInit, Mac};
use md4::Md4;
use md5::{Digest, Md5};
use rc4::{Rc4, StreamCipher};
use zeroize::Zeroizing;

use crate::smb2::auth::Credentials;

/// A key, overwritten when dropped.
pub(super) type Key = Zeroizing<[u8; 16]>;

/// NTOWFv2: the key derived from the account's password.
pub(super) fn password_key(credentials: &Credentials) -> Key {
    let password = credentials.password.expose();
    // Reserve the full capacity: a growing vector leaves copies of the password in memory.
    let mut text = Zeroizing::new(Vec::with_capacity(2 * password.len()));
    password.encode_utf16().for_each(|unit| text.extend_from_slice(&unit.to_le_bytes()));
    let hash: Key = Zeroizing::new(Md4::digest(&text[..]).into());
    let name: String = credentials.user.chars().map(upper).collect();
    hmac(&hash[..], &[&utf16(&name), &utf16(&credentials.domain)])
}

/// NTProofStr and the rest of NTChallengeResponse (`temp`), which it is over.
pub(super) fn proof(key: &Key, server_challenge: &[u8; 8], temp: &[u8]) -> [u8; 16] {
    *hmac(&key[..], &[server_challenge, temp])
}

/// `temp`: time in 100 ns since 1601.
pub(super) fn temp(time: u64, client_challenge: &[u8; 8], target_info: &[u8]) -> Vec<u8> {
    [&[1, 1, 0, 0, 0, 0, 0, 0][..], &time.to_le_bytes(), client_challenge, &[0; 4], target_info, &[0; 4]].concat()
}

/// LMv2 response, where the server gives no time.
pub(super) fn lm_response(key: &Key, server_challenge: &[u8; 8], client_challenge: &[u8; 8]) -> Vec<u8> {
    [&hmac(&key[..], &[server_challenge, client_challenge])[..], client_challenge].concat()
}

/// SessionBaseKey, which is NTLMv2's KeyExchangeKey too.
pub(super) fn base_key(key: &Key, proof: &[u8; 16]) -> Key {
    hmac(&key[..], &[proof])
}

/// HMAC-MD5.
pub(super) fn hmac(key: &[u8], parts: &[&[u8]]) -> Key {
    let mut mac = <Hmac<Md5> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    Zeroizing::new(mac.finalize().into_bytes().into())
}

/// MD5.
pub(super) fn md5(parts: &[&[u8]]) -> Key {
    let mut hash = Md5::new();
    parts.iter().for_each(|part| hash.update(part));
    Zeroizing::new(hash.finalize().into())
}

/// RC4 from the beginning of its stream, in place.
pub(super) fn rc4(key: &[u8], bytes: &mut [u8]) {
    Rc4::new_from_slice(key).expect("RC4 takes keys of 1 to 256 bytes").apply_keystream(bytes);
}

/// UTF-16LE.
pub(super) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// As in Windows: maps each character to a single one, or leaves it unchanged.
fn upper(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}
