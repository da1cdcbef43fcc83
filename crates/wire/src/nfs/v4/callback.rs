//! The layouts of callbacks, which a server sends to its clients.
//!
//! Spec: RFC 7530 17.2, RFC 8881 20, RFC 7862 16
//!
//! NFS 4.0 uses a separate connection for them, to a program number that the client chose ([`crate::rpc::TRANSIENT_PROGRAMS`]). NFS 4.1
//! sends them over the client's connection, in the other direction.

use super::arguments::{LONG, SESSION, STATEID, WORD};
use super::operation::{FIRST, ILLEGAL};
use super::results::{PUSHED, WRITE_RESPONSE};
use crate::nfs::layout::Field::{Bitmap, Choice, Count64, Delegation, Handle, List, Offset, Opaque, Skip, Slot};
use crate::nfs::layout::{Field, Layout, Otherwise};

const NOTHING: Layout = &[];
/// `notify4<>`: what changed, and how.
const NOTIFICATIONS: Field = List(&[Bitmap, Opaque]);
/// `layoutrecall4`: of a file, of a file system, of everything.
const RECALLED: Field =
    Choice(&[(1, &[Handle, Offset, Count64, STATEID]), (2, &[Skip(16)]), (3, NOTHING)], Otherwise::Unknown);
/// `referring_call_list4<>`: which requests the callback must not overtake.
const REFERRING: Field = List(&[SESSION, List(&[WORD, WORD])]);
/// `offload_info4`: the result, or how far the copy came.
const OFFLOADED: Field = Choice(
    &[(0, &[WRITE_RESPONSE[0], WRITE_RESPONSE[1], WRITE_RESPONSE[2], WRITE_RESPONSE[3]])],
    Otherwise::Then(&[LONG]),
);

/// What follows the operation's number in a CB_COMPOUND; `None` when that is not known.
pub(super) fn arguments(code: u32) -> Option<Layout> {
    if code == ILLEGAL {
        return Some(NOTHING);
    }
    ARGUMENTS.get(code.checked_sub(FIRST)? as usize).copied()
}

/// What follows an operation's status in the answer; `None` when that is not known.
pub(super) fn results(code: u32, status: u32) -> Option<Layout> {
    const LAST: u32 = FIRST + ARGUMENTS.len() as u32 - 1;
    Some(match (code, status) {
        // CB_GETATTR.
        (3, 0) => &[Bitmap, Opaque],
        // CB_SEQUENCE: the slot, the highest slot and the target highest slot.
        (11, 0) => &[Slot, WORD, WORD],
        (FIRST..=LAST | ILLEGAL, _) => NOTHING,
        _ => return None,
    })
}

/// By operation, from CB_GETATTR (3) to CB_OFFLOAD (15).
static ARGUMENTS: [Layout; 13] = [
    &[Handle, Bitmap],
    &[Delegation, WORD, Handle],
    &[WORD, WORD, WORD, RECALLED],
    &[STATEID, Handle, NOTIFICATIONS],
    PUSHED,
    &[WORD, Bitmap],
    &[WORD, Bitmap],
    &[WORD],
    &[Slot, WORD, WORD, REFERRING],
    &[WORD, WORD],
    &[Handle, LONG, Opaque],
    &[NOTIFICATIONS],
    &[Handle, STATEID, OFFLOADED],
];
