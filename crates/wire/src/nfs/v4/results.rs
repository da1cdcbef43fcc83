//! The layout of every operation's results, after the status.
//!
//! Spec: RFC 7531, RFC 5662, RFC 7863, RFC 8276 8.4, RFC 9754

use super::arguments::{
    CHANNEL, DEVICE, IMPLEMENTATION, LONG, PROTECTED, SERVER, SESSION, STATEID, TIME, VERIFIER, WORD,
};
use super::operation::{FIRST, ILLEGAL};
use crate::nfs::layout::Field::{
    Bitmap, Chain, Choice, Count, Count64, Delegating, Delegation, GrantedSlots, Handle, List, Name, Opaque, Optional,
    Payload, Segments, Session, Skip, Slot, Stable, TargetSlot,
};
use crate::nfs::layout::{Field, Layout, Otherwise};
use crate::nfs::status::{
    NFS4ERR_CLID_INUSE, NFS4ERR_DENIED, NFS4ERR_LAYOUTTRYLATER, NFS4ERR_OFFLOAD_NO_REQS, NFS4ERR_TOOSMALL,
};

const NOTHING: Layout = &[];
/// `change_info4`: a boolean and two change ids.
const CHANGE: Field = Skip(20);
/// `nfsace4`.
const ACE: [Field; 2] = [Skip(12), Opaque];
const READ_DELEGATION: Layout = &[Delegation, WORD, ACE[0], ACE[1]];
/// Its `nfs_space_limit4` is eight bytes after its kind, whichever that is.
const WRITE_DELEGATION: Layout = &[Delegation, WORD, WORD, LONG, ACE[0], ACE[1]];
/// `open_delegation4`. 4 and 5 are those that come with attributes (RFC 9754).
const DELEGATION: Field = Delegating(&[
    (0, NOTHING),
    (1, READ_DELEGATION),
    (2, WRITE_DELEGATION),
    (3, &[Choice(&[(1, &[WORD]), (2, &[WORD])], Otherwise::Nothing)]),
    (4, READ_DELEGATION),
    (5, WRITE_DELEGATION),
]);
/// `LOCK4denied`: whose lock is in the way.
const DENIED: Layout = &[LONG, LONG, WORD, LONG, Opaque];
/// `secinfo4<>`.
const SECURITY: Layout = &[List(&[Choice(&[(6, &[Opaque, WORD, WORD])], Otherwise::Nothing)])];
/// `write_response4`.
pub(super) const WRITE_RESPONSE: [Field; 4] = [List(&[STATEID]), Count64, Stable, VERIFIER];
/// `copy_requirements4`.
const COPY_REQUIREMENTS: Layout = &[WORD, WORD];
/// `state_protect4_r`.
const STATE_PROTECTION: Field = Choice(
    &[(0, NOTHING), (1, &PROTECTED), (2, &[PROTECTED[0], PROTECTED[1], WORD, WORD, WORD, WORD, List(&[Opaque])])],
    Otherwise::Unknown,
);
/// `GET_DIR_DELEGATION4res_non_fatal`.
const DIRECTORY_DELEGATION: Layout =
    &[Choice(&[(0, &[VERIFIER, STATEID, Bitmap, Bitmap, Bitmap]), (1, &[WORD])], Otherwise::Unknown)];

/// `channel_attrs4` up to its slots.
const FORE_CHANNEL: [Field; 2] = [Skip(20), GrantedSlots];

const SETATTR: u32 = 34;

/// What follows an operation's status; `None` when that is not known.
#[inline]
pub(super) fn layout(code: u32, status: u32) -> Option<Layout> {
    if code == ILLEGAL {
        return Some(NOTHING);
    }
    let (_, success) = LAYOUTS.get(code.checked_sub(FIRST)? as usize)?;
    Some(if status == 0 { success } else { failure(code, status) })
}

/// The few operations that say more when they fail.
fn failure(code: u32, status: u32) -> Layout {
    match (code, status) {
        // LOCK, LOCKT.
        (12 | 13, NFS4ERR_DENIED) => DENIED,
        // The attributes set before the failure are always there.
        (SETATTR, _) => &[Bitmap],
        // SETCLIENTID: by whom.
        (35, NFS4ERR_CLID_INUSE) => &[Opaque, Opaque],
        // GETDEVICEINFO: how much would do.
        (47, NFS4ERR_TOOSMALL) => &[WORD],
        // LAYOUTGET: will the server say when.
        (50, NFS4ERR_LAYOUTTRYLATER) => &[WORD],
        // COPY.
        (60, NFS4ERR_OFFLOAD_NO_REQS) => COPY_REQUIREMENTS,
        _ => NOTHING,
    }
}

/// Results of successful operations, from number 3 on. The number is only for readers and a test.
pub(super) static LAYOUTS: [(u32, Layout); 73] = [
    (3, &[WORD, WORD]),
    (4, &[STATEID]),
    (5, &[VERIFIER]),
    (6, &[CHANGE, Bitmap]),
    (7, NOTHING),
    (8, NOTHING),
    (9, &[Bitmap, Opaque]),
    (10, &[Handle]),
    (11, &[CHANGE]),
    (12, &[STATEID]),
    (13, NOTHING),
    (14, &[STATEID]),
    (15, NOTHING),
    (16, NOTHING),
    (17, NOTHING),
    (18, &[STATEID, CHANGE, WORD, Bitmap, DELEGATION]),
    (19, NOTHING),
    (20, &[STATEID]),
    (21, &[STATEID]),
    (22, NOTHING),
    (23, NOTHING),
    (24, NOTHING),
    (25, &[WORD, Payload]),
    (26, &[VERIFIER, Chain(&[LONG, Opaque, Bitmap, Opaque]), WORD]),
    (27, &[Name]),
    (28, &[CHANGE]),
    (29, &[CHANGE, CHANGE]),
    (30, NOTHING),
    (31, NOTHING),
    (32, NOTHING),
    (33, SECURITY),
    (34, &[Bitmap]),
    (35, &[LONG, VERIFIER]),
    (36, NOTHING),
    (37, NOTHING),
    (38, &[Count, Stable, VERIFIER]),
    (39, NOTHING),
    (40, NOTHING),
    (41, &[SESSION, WORD, WORD]),
    (42, &[LONG, WORD, WORD, STATE_PROTECTION, LONG, Opaque, Opaque, IMPLEMENTATION]),
    (43, &[Session, WORD, WORD, FORE_CHANNEL[0], FORE_CHANNEL[1], CHANNEL[1], CHANNEL[0], CHANNEL[1]]),
    (44, NOTHING),
    (45, NOTHING),
    (46, DIRECTORY_DELEGATION),
    (47, &[WORD, Opaque, Bitmap]),
    (48, &[LONG, VERIFIER, List(&[DEVICE]), WORD]),
    (49, &[Optional(&[LONG])]),
    (50, &[WORD, STATEID, List(&[LONG, LONG, WORD, WORD, Opaque])]),
    (51, &[Optional(&[STATEID])]),
    (52, SECURITY),
    (53, &[Slot, WORD, TargetSlot, WORD]),
    (54, &[Opaque]),
    (55, &[List(&[WORD])]),
    (56, &[DELEGATION]),
    (57, NOTHING),
    (58, NOTHING),
    (59, NOTHING),
    (60, &[WRITE_RESPONSE[0], WRITE_RESPONSE[1], WRITE_RESPONSE[2], WRITE_RESPONSE[3], WORD, WORD]),
    (61, &[TIME, STATEID, List(&[SERVER])]),
    (62, NOTHING),
    (63, &[Bitmap]),
    (64, NOTHING),
    (65, NOTHING),
    (66, NOTHING),
    (67, &[Count64, List(&[WORD])]),
    (68, &[WORD, Segments]),
    (69, &[WORD, LONG]),
    (70, &WRITE_RESPONSE),
    (71, NOTHING),
    (72, &[Opaque]),
    (73, &[CHANGE]),
    (74, &[LONG, List(&[Opaque]), WORD]),
    (75, &[CHANGE]),
];

/// For CB_PUSH_DELEG, which sends a delegation as an OPEN would have.
pub(super) const PUSHED: Layout = &[Handle, DELEGATION];
