//! Recognises RPC by header signatures, on any port, and finds the next message after a loss.
//!
//! Spec: RFC 5531 9, RFC 5531 11
//!
//! A call is hard to mistake: type, RPC version, program, version and procedure are all small known numbers. A reply is weak evidence:
//! twenty-four bytes, mostly zero, which occur in file data too. A reader that resynchronises on a reply must also know its xid from a
//! call, or see that the record ends where the next one begins.

use std::ops::RangeInclusive;

use super::{CALL, CALL_HEADER, Flavor, MAX_AUTH_BYTES, REPLY, RPC_VERSION, RecordMark, highest_procedure};
use crate::xdr::u32_at;

/// The longest record believed when looking for one: 16 MiB, far above any server's transfer size, and short enough that
/// seven bits of the mark are nearly always zero.
pub const MAX_RECORD_LENGTH: u32 = 16 << 20;

/// Bytes of the shortest call: header, empty credential, empty verifier.
const SHORTEST_CALL: u32 = 40;
/// Bytes of the shortest reply: one that is denied for its authentication.
const SHORTEST_REPLY: usize = 20;
/// Highest auth_stat (RPCSEC_GSS_CTXPROBLEM).
const HIGHEST_AUTH_STAT: u32 = 14;
/// Numbers of programs: none below is assigned, and those above are reserved (RFC 5531 13).
const PROGRAMS: RangeInclusive<u32> = 100_000..=0x5FFF_FFFF;
/// Highest version or procedure that is believed of an unknown program: two bytes of each number are zero, as in a real call.
const HIGHEST_NUMBER: u32 = 0xFFFF;
/// RFC 9289 4.1: the body of the AUTH_NONE verifier that says "start TLS".
const STARTTLS: u32 = 8;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// From client to server (callbacks: from server to client).
    Call,
    /// The answer to a call.
    Reply,
}

/// True when the bytes, after any record mark, start a call to a known program that makes sense as far as captured.
/// At least 24 bytes are needed.
#[inline]
pub fn plausible_call(bytes: &[u8]) -> bool {
    let Some((program, version, procedure)) = called(bytes) else { return false };
    highest_procedure(program, version).is_some_and(|highest| procedure <= highest)
        && plausible_caller(|at| plausible_auth(bytes, at, false))
}

/// Program, version and procedure of a call.
#[inline]
fn called(bytes: &[u8]) -> Option<(u32, u32, u32)> {
    let head = bytes.first_chunk::<CALL_HEADER>()?;
    if u32_at(head, 4)? != CALL || u32_at(head, 8)? != RPC_VERSION {
        return None;
    }
    Some((u32_at(head, 12)?, u32_at(head, 16)?, u32_at(head, 20)?))
}

/// True when the bytes, after any record mark, start a call of any program and version, as far as captured: on the connections of a file
/// service, clients also ask for programs and versions that no table lists.
///
/// Weaker than [`plausible_call`]: no sign of RPC by itself, and none of where a message begins.
pub fn plausible_call_of_any_program(bytes: &[u8]) -> bool {
    let Some((program, version, procedure)) = called(bytes) else { return false };
    PROGRAMS.contains(&program)
        && version <= HIGHEST_NUMBER
        && procedure <= HIGHEST_NUMBER
        && plausible_caller(|at| any_auth(bytes, at))
}

/// Whether credential and verifier make sense as far as captured.
#[inline]
fn plausible_caller(auth: impl Fn(usize) -> Auth) -> bool {
    match auth(CALL_HEADER) {
        Auth::Sane(verifier) => !matches!(auth(verifier), Auth::Wrong),
        Auth::NotCaptured => true,
        Auth::Wrong => false,
    }
}

/// True when the bytes, after any record mark, start a reply that makes sense as far as captured. At least 20 bytes are
/// needed. A weak sign by itself: see the head of this file.
#[inline]
pub fn plausible_reply(bytes: &[u8]) -> bool {
    if bytes.len() < SHORTEST_REPLY || u32_at(bytes, 4) != Some(REPLY) {
        return false;
    }
    match u32_at(bytes, 8) {
        Some(0) => match plausible_auth(bytes, 12, true) {
            Auth::Sane(at) => u32_at(bytes, at).is_none_or(|accept_stat| accept_stat <= 5),
            Auth::NotCaptured => true,
            Auth::Wrong => false,
        },
        Some(1) => match (u32_at(bytes, 12), u32_at(bytes, 16)) {
            // RPC_MISMATCH: the lowest and highest versions that the server has.
            (Some(0), Some(low)) => low <= RPC_VERSION && u32_at(bytes, 20).is_none_or(|high| high == RPC_VERSION),
            (Some(1), Some(auth_stat)) => auth_stat <= HIGHEST_AUTH_STAT,
            _ => false,
        },
        _ => false,
    }
}

/// Which kind of message the bytes, after any record mark, plausibly start.
#[inline]
pub fn plausible_message(bytes: &[u8]) -> Option<Message> {
    if is_usual_reply(bytes) {
        Some(Message::Reply)
    } else if is_usual_call(bytes) {
        Some(Message::Call)
    } else {
        any_plausible_message(bytes)
    }
}

/// A reply as nearly all are: accepted, an empty AUTH_NONE verifier, an accept_stat that exists. Is
/// [`plausible_reply`], at a fraction of its cost.
#[inline]
fn is_usual_reply(bytes: &[u8]) -> bool {
    let Some(head) = bytes.first_chunk::<24>() else { return false };
    let (kind, accept_stat) = (u32_at(head, 4), u32_at(head, 20));
    kind == Some(REPLY) && head[8..20] == [0; 12] && accept_stat.is_some_and(|accept_stat| accept_stat <= 5)
}

/// A call as most are: NFS 3 for a user of AUTH_SYS, with an empty AUTH_NONE verifier. Is [`plausible_call`].
#[inline]
fn is_usual_call(bytes: &[u8]) -> bool {
    let Some(head) = bytes.first_chunk::<32>() else { return false };
    // CALL, RPC version 2, program 100003, version 3.
    if head[4..20] != [0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 3] {
        return false;
    }
    let (Some(procedure), Some(flavor), Some(length)) = (u32_at(head, 20), u32_at(head, 24), u32_at(head, 28)) else {
        return false;
    };
    let is_sane = procedure <= 21 && flavor == 1 && (20..=MAX_AUTH_BYTES).contains(&length);
    let verifier = 32 + (length as usize).next_multiple_of(4);
    is_sane && bytes.get(verifier..).and_then(|rest| rest.first_chunk::<8>()) == Some(&[0; 8])
}

#[inline(never)]
fn any_plausible_message(bytes: &[u8]) -> Option<Message> {
    match u32_at(bytes, 4)? {
        CALL if plausible_call(bytes) => Some(Message::Call),
        REPLY if plausible_reply(bytes) => Some(Message::Reply),
        _ => None,
    }
}

/// The record mark and message kind, if the bytes plausibly start a record on TCP: a fragment of plausible length with a plausible
/// message.
///
/// The first of several fragments (`last` is false) is accepted only with a call: without that bit, a reply's signature is too weak.
#[inline]
pub fn plausible_record(bytes: &[u8]) -> Option<(RecordMark, Message)> {
    let mark = RecordMark::new(bytes)?;
    if !(SHORTEST_REPLY as u32..=MAX_RECORD_LENGTH).contains(&mark.length) || mark.length % 4 != 0 {
        return None;
    }
    let body = bytes.get(RecordMark::SIZE..)?;
    // A message never reaches past its record; what follows belongs to the next one.
    let body = body.get(..mark.length as usize).unwrap_or(body);
    match plausible_message(body)? {
        Message::Call if mark.length >= SHORTEST_CALL => Some((mark, Message::Call)),
        Message::Reply if mark.last => Some((mark, Message::Reply)),
        _ => None,
    }
}

/// Whether the bytes plausibly start a record on TCP with a call in one fragment: see [`plausible_call_of_any_program`].
pub fn plausible_record_of_any_program(bytes: &[u8]) -> bool {
    let Some(mark) = RecordMark::new(bytes) else { return false };
    let is_possible = mark.length.is_multiple_of(4) && (SHORTEST_CALL..=MAX_RECORD_LENGTH).contains(&mark.length);
    let body = bytes.get(RecordMark::SIZE..).unwrap_or_default();
    let body = body.get(..mark.length as usize).unwrap_or(body);
    mark.last && is_possible && plausible_call_of_any_program(body)
}

/// Looks for the next plausible record and gives its offset. At most one comparison a byte for most bytes; nothing is
/// found in the last few bytes, where too little was captured to tell.
pub fn find_record(bytes: &[u8]) -> Option<(usize, RecordMark, Message)> {
    (0..bytes.len()).find_map(|at| {
        let rest = bytes.get(at..)?;
        // A believable mark starts with 80 or 00 (or 81 or 01 for exactly 16 MiB).
        if !matches!(rest.first(), Some(0x00 | 0x01 | 0x80 | 0x81)) {
            return None;
        }
        plausible_record(rest).map(|(mark, message)| (at, mark, message))
    })
}

enum Auth {
    /// Valid; with the offset of the next field.
    Sane(usize),
    NotCaptured,
    Wrong,
}

/// A body of any flavor, because some programs have their own.
fn any_auth(bytes: &[u8], at: usize) -> Auth {
    match u32_at(bytes, at + 4) {
        Some(length) if length <= MAX_AUTH_BYTES => Auth::Sane(at + 8 + (length as usize).next_multiple_of(4)),
        Some(_) => Auth::Wrong,
        None => Auth::NotCaptured,
    }
}

/// A flavor that exists with a body of a length that it can have.
#[inline]
fn plausible_auth(bytes: &[u8], at: usize, of_reply: bool) -> Auth {
    let Some(flavor) = u32_at(bytes, at) else { return Auth::NotCaptured };
    let flavor = Flavor::from_wire(flavor);
    if let Flavor::Other(_) = flavor {
        return Auth::Wrong;
    }
    let Some(length) = u32_at(bytes, at + 4) else { return Auth::NotCaptured };
    let sane = match flavor {
        Flavor::None => length == 0 || (of_reply && length == STARTTLS),
        // Stamp, empty name, uid, gid, no groups; a verifier is never of this flavor, but some servers echo it empty.
        Flavor::Sys => length == 0 || (20..=MAX_AUTH_BYTES).contains(&length),
        _ => length <= MAX_AUTH_BYTES,
    };
    if sane { Auth::Sane(at + 8 + (length as usize).next_multiple_of(4)) } else { Auth::Wrong }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The header of an NFS 3 call by AUTH_SYS, and of a reply.
    fn usual(call: bool) -> Vec<u8> {
        let words: &[u32] = if call {
            &[7, CALL, RPC_VERSION, 100_003, 3, 4, 1, 24, 9, 4, 0x6162_6364, 0, 0, 0, 0, 0, 1]
        } else {
            &[7, REPLY, 0, 0, 0, 0, 0]
        };
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn the_usual_is_known_at_once() {
        assert!(is_usual_call(&usual(true)) && !is_usual_reply(&usual(true)));
        assert!(is_usual_reply(&usual(false)) && !is_usual_call(&usual(false)));
    }

    proptest! {
        #[test]
        fn the_short_way_says_what_the_long_one_does(
            call: bool, cut in 0usize..72,
            damage in prop::collection::vec((0usize..68, prop_oneof![any::<u8>(), 0u8..30]), 0..4)
        ) {
            let mut bytes = usual(call);
            for (at, byte) in damage {
                let len = bytes.len();
                bytes[at % len] = byte;
            }
            bytes.truncate(cut.max(4));
            prop_assert_eq!(plausible_message(&bytes), any_plausible_message(&bytes));
        }
    }
}
