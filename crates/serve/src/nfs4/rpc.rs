//! Records and RPC messages: from the bytes of a connection to answers.
//!
//! Spec: RFC 5531 9, RFC 5531 11

use std::borrow::Cow;

use plimsoll_wire::nfs::v4::{PROCEDURE_COMPOUND, PROCEDURE_NULL};
use plimsoll_wire::rpc::{Call, Credential, Flavor, Program};
use plimsoll_wire::xdr::Emit;

use super::back_channel::Link;
use super::compound;
use super::limits::LONGEST_RECORD;
use super::server::Server;

/// Number of the NFS program (RFC 8881 16.1).
const PROGRAM: u32 = Program::Nfs.number();
const VERSION: u32 = 4;
/// The lowest version of the program that this port answers.
const LOWEST: u32 = 3;
/// Bytes of a record mark.
const MARK: usize = 4;
const AUTH_BADCRED: u32 = 1;

/// What the next bytes of a connection are.
pub(super) enum Next<'a> {
    /// A record, and its bytes with its marks.
    Record(Cow<'a, [u8]>, usize),
    /// An incomplete record, and the least number of bytes that it still needs.
    Missing(usize),
    /// A record that is too long.
    TooLong,
}

/// Takes the next record. One of several fragments is put together.
pub(super) fn next(bytes: &[u8]) -> Next<'_> {
    let (mut at, mut pieces) = (0, Vec::new());
    loop {
        let Some(mark) = bytes.get(at..).and_then(|rest| rest.first_chunk::<MARK>()) else {
            return Next::Missing(at + MARK - bytes.len());
        };
        let mark = u32::from_be_bytes(*mark);
        let length = (mark & 0x7FFF_FFFF) as usize;
        if length + at > LONGEST_RECORD {
            return Next::TooLong;
        }
        let (from, to) = (at + MARK, at + MARK + length);
        let Some(fragment) = bytes.get(from..to) else { return Next::Missing(to - bytes.len()) };
        at = to;
        let is_last = mark & 0x8000_0000 != 0;
        if is_last && pieces.is_empty() {
            return Next::Record(Cow::Borrowed(fragment), at);
        }
        pieces.extend_from_slice(fragment);
        if is_last {
            return Next::Record(Cow::Owned(pieces), at);
        }
    }
}

/// Whether a connection that begins with these bytes speaks version 4: its first call is one of the NFS program, and not of version 3.
/// `None` if they are too few to tell.
pub(crate) fn begins_version_4(bytes: &[u8]) -> Option<bool> {
    let head = bytes.get(MARK..MARK + plimsoll_wire::rpc::CALL_HEADER)?;
    Some(Call::new(head).is_some_and(|call| is_ours(&call)))
}

/// Version 3 is served elsewhere; the answer to any other version is ours.
fn is_ours(call: &Call<'_>) -> bool {
    call.program() == PROGRAM && call.version() != LOWEST
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The answer was appended, or it is one.
    Given,
    /// It is a call of another program, or of NFS 3.
    NotOurs,
    /// It is neither a call nor the answer to one of ours.
    Puzzling,
}

/// Appends the answer to a record, with its record mark.
pub(super) fn answer(server: &Server, link: Option<&Link>, record: &[u8], out: &mut Vec<u8>) -> Answer {
    let Some(call) = Call::new(record) else {
        let ours = link.is_some_and(|link| link.answered(server, record));
        return if ours { Answer::Given } else { Answer::Puzzling };
    };
    if !is_ours(&call) {
        return Answer::NotOurs;
    }
    let start = out.len();
    out.put_u32(0);
    // REPLY, MSG_ACCEPTED, no verifier, SUCCESS.
    [call.xid(), 1, 0, 0, 0, 0].iter().for_each(|&word| out.put_u32(word));
    if call.version() != VERSION {
        accepted(out, &[2, LOWEST, VERSION]);
    } else {
        let parts = call.parts();
        match (parts.credential, parts.arguments) {
            (Some(Credential::Flavor(Flavor::None) | Credential::Sys(_)), Some(arguments)) => {
                procedure(server, link, call.procedure(), arguments, out);
            }
            (Some(Credential::Flavor(Flavor::None) | Credential::Sys(_)), None) => accepted(out, &[GARBAGE_ARGS]),
            _ => {
                // MSG_DENIED, AUTH_ERROR.
                out.truncate(out.len() - 16);
                [1, 1, AUTH_BADCRED].iter().for_each(|&word| out.put_u32(word));
            }
        }
    }
    // Answers are shorter than 2 GiB.
    let mark = 0x8000_0000 | (out.len() - start - MARK) as u32;
    if let Some(place) = out.get_mut(start..start + MARK) {
        place.copy_from_slice(&mark.to_be_bytes());
    }
    Answer::Given
}

const PROC_UNAVAIL: u32 = 3;
const GARBAGE_ARGS: u32 = 4;

/// Replaces SUCCESS by another status.
fn accepted(out: &mut Vec<u8>, words: &[u32]) {
    out.truncate(out.len() - 4);
    words.iter().for_each(|&word| out.put_u32(word));
}

fn procedure(server: &Server, link: Option<&Link>, number: u32, arguments: &[u8], out: &mut Vec<u8>) {
    let results = out.len();
    match number {
        PROCEDURE_NULL => {}
        PROCEDURE_COMPOUND => {
            if compound::run(server, link, arguments, out).is_err() {
                out.truncate(results);
                accepted(out, &[GARBAGE_ARGS]);
            }
        }
        _ => accepted(out, &[PROC_UNAVAIL]),
    }
}
