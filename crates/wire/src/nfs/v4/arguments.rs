//! The layout of every operation's arguments.
//!
//! Spec: RFC 7531, RFC 5662, RFC 7863, RFC 8276 8.4

use super::operation::{FIRST, ILLEGAL};
use crate::nfs::layout::Field::{
    Access, Bitmap, Choice, Count, Count64, Creating, Delegation, Handle, List, Lock, Name, NewAttributes, Offset,
    Opaque, Opening, Optional, Payload, Session, Skip, Slot, Stable, ToName,
};
use crate::nfs::layout::{Field, Layout, Otherwise};

/// `stateid4`.
pub(super) const STATEID: Field = Skip(16);
/// `sessionid4`.
pub(super) const SESSION: Field = Skip(16);
/// `deviceid4`.
pub(super) const DEVICE: Field = Skip(16);
/// `verifier4`.
pub(super) const VERIFIER: Field = Skip(8);
/// `nfstime4`.
pub(super) const TIME: Field = Skip(12);
/// A 32-bit number of no interest.
pub(super) const WORD: Field = Skip(4);
/// A 64-bit number of no interest.
pub(super) const LONG: Field = Skip(8);
const NOTHING: Layout = &[];
/// `state_protect_ops4`.
pub(super) const PROTECTED: [Field; 2] = [Bitmap, Bitmap];
/// `channel_attrs4`: six words and at most one more.
pub(super) const CHANNEL: [Field; 2] = [Skip(24), List(&[WORD])];
/// `nfs_impl_id4<1>`: domain, name, date.
pub(super) const IMPLEMENTATION: Field = List(&[Opaque, Opaque, TIME]);
/// `netloc4`.
pub(super) const SERVER: Field = Choice(&[(1, &[Opaque]), (2, &[Opaque]), (3, &[Opaque, Opaque])], Otherwise::Unknown);

/// `openflag4`: creating, how and with which attributes.
const OPEN_HOW: Field = Opening(&[Creating(&[
    (0, &[NewAttributes]),
    (1, &[NewAttributes]),
    (2, &[VERIFIER]),
    (3, &[VERIFIER, NewAttributes]),
])]);
/// `open_claim4`: by name, or of the current file handle.
const OPEN_CLAIM: Field = Choice(
    &[(0, &[Name]), (1, &[WORD]), (2, &[STATEID, Name]), (3, &[Name]), (4, NOTHING), (5, &[STATEID]), (6, NOTHING)],
    Otherwise::Unknown,
);
/// `locker4`: a new lock owner, or one that has locks already.
const LOCKER: Field = Choice(&[(1, &[WORD, STATEID, WORD, LONG, Opaque]), (0, &[STATEID, WORD])], Otherwise::Unknown);
/// `createtype4`: links have a text, devices two numbers.
const CREATE_TYPE: Field = Choice(&[(5, &[ToName]), (3, &[Skip(8)]), (4, &[Skip(8)])], Otherwise::Nothing);
/// `callback_sec_parms4`.
const CALLBACK_SECURITY: Field = List(&[Choice(
    &[(0, NOTHING), (1, &[WORD, Opaque, WORD, WORD, List(&[WORD])]), (6, &[WORD, Opaque, Opaque])],
    Otherwise::Unknown,
)]);
/// `state_protect4_a`.
const STATE_PROTECTION: Field = Choice(
    &[(0, NOTHING), (1, &PROTECTED), (2, &[PROTECTED[0], PROTECTED[1], List(&[Opaque]), List(&[Opaque]), WORD, WORD])],
    Otherwise::Unknown,
);

/// What follows the operation's number in a call; `None` when that is not known.
#[inline]
pub(super) fn layout(code: u32) -> Option<Layout> {
    if code == ILLEGAL {
        return Some(NOTHING);
    }
    LAYOUTS.get(code.checked_sub(FIRST)? as usize).map(|(_, layout)| *layout)
}

/// By operation, from 3 on. The number is only for readers and a test.
pub(super) static LAYOUTS: [(u32, Layout); 73] = [
    (3, &[WORD]),
    (4, &[WORD, STATEID]),
    (5, &[Offset, Count]),
    (6, &[CREATE_TYPE, Name, Bitmap, Opaque]),
    (7, &[LONG]),
    (8, &[Delegation]),
    (9, &[Bitmap]),
    (10, NOTHING),
    (11, &[ToName]),
    (12, &[Lock, WORD, Offset, Count64, LOCKER]),
    (13, &[Lock, Offset, Count64, LONG, Opaque]),
    (14, &[Lock, WORD, STATEID, Offset, Count64]),
    (15, &[Name]),
    (16, NOTHING),
    (17, &[Bitmap, Opaque]),
    (18, &[WORD, Access, WORD, LONG, Opaque, OPEN_HOW, OPEN_CLAIM]),
    (19, &[WORD]),
    (20, &[STATEID, WORD]),
    (21, &[STATEID, WORD, WORD, WORD]),
    (22, &[Handle]),
    (23, NOTHING),
    (24, NOTHING),
    (25, &[STATEID, Offset, Count]),
    (26, &[LONG, VERIFIER, WORD, Count, Bitmap]),
    (27, NOTHING),
    (28, &[Name]),
    (29, &[Name, ToName]),
    (30, &[LONG]),
    (31, NOTHING),
    (32, NOTHING),
    (33, &[Name]),
    (34, &[STATEID, Bitmap, Opaque]),
    (35, &[VERIFIER, Opaque, WORD, Opaque, Opaque, WORD]),
    (36, &[LONG, VERIFIER]),
    (37, &[Bitmap, Opaque]),
    (38, &[STATEID, Offset, Stable, Payload]),
    (39, &[LONG, Opaque]),
    (40, &[WORD, CALLBACK_SECURITY]),
    (41, &[Session, WORD, WORD]),
    (42, &[VERIFIER, Opaque, WORD, STATE_PROTECTION, IMPLEMENTATION]),
    (43, &[LONG, WORD, WORD, CHANNEL[0], CHANNEL[1], CHANNEL[0], CHANNEL[1], WORD, CALLBACK_SECURITY]),
    (44, &[SESSION]),
    (45, &[STATEID]),
    (46, &[WORD, Bitmap, TIME, TIME, Bitmap, Bitmap]),
    (47, &[DEVICE, WORD, WORD, Bitmap]),
    (48, &[WORD, WORD, LONG, VERIFIER]),
    (49, &[Offset, Count64, WORD, STATEID, Optional(&[LONG]), Optional(&[TIME]), WORD, Opaque]),
    (50, &[WORD, WORD, WORD, Offset, Count64, LONG, STATEID, WORD]),
    (51, &[WORD, WORD, WORD, Choice(&[(1, &[Offset, Count64, STATEID, Opaque])], Otherwise::Nothing)]),
    (52, &[WORD]),
    (53, &[Slot, WORD, WORD]),
    (54, &[Opaque, Opaque]),
    (55, &[List(&[STATEID])]),
    (56, &[WORD, Choice(&[(4, NOTHING), (6, NOTHING), (1, &[WORD])], Otherwise::Unknown)]),
    (57, &[LONG]),
    (58, &[WORD]),
    (59, &[STATEID, Offset, Count64]),
    // COPY: from where in the source, then to where in the current file, which is the offset that is kept.
    (60, &[STATEID, STATEID, LONG, Offset, Count64, WORD, WORD, List(&[SERVER])]),
    (61, &[STATEID, SERVER]),
    (62, &[STATEID, Offset, Count64]),
    (63, &[STATEID, Offset, Count64, Bitmap]),
    (64, &[Offset, Count64, STATEID, List(&[DEVICE, WORD, WORD])]),
    (65, &[Offset, Count64, STATEID, LONG, LONG, LONG, LONG, DEVICE, WORD, Opaque]),
    (66, &[STATEID]),
    (67, &[STATEID]),
    (68, &[STATEID, Offset, Count]),
    (69, &[STATEID, Offset, WORD]),
    (70, &[STATEID, Stable, Offset, LONG, LONG, LONG, WORD, LONG, Opaque]),
    (71, &[STATEID, STATEID, LONG, Offset, Count64]),
    // RFC 8276 8.4: an attribute's name is not a file's; it is stepped over.
    (72, &[Opaque]),
    (73, &[WORD, Opaque, Opaque]),
    (74, &[LONG, WORD]),
    (75, &[Opaque]),
];
