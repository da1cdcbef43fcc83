//! NFS version 3: every procedure's arguments and results.
//!
//! This file has the tolerant views of an observer. For a client, the modules below send and strictly read the same procedures, one
//! module per procedure: a struct that is a [`Call`], and a `parse` for its results.
//!
//! Spec: RFC 1813 3.3

mod answer;
mod attributes;
mod handle;

pub mod access;
pub mod commit;
pub mod create;
pub mod fsinfo;
pub mod fsstat;
pub mod getattr;
pub mod link;
pub mod lookup;
pub mod mkdir;
pub mod null;
pub mod read;
pub mod readdir;
pub mod readdirplus;
pub mod readlink;
pub mod remove;
pub mod rename;
pub mod setattr;
pub mod symlink;
pub mod write;

pub use answer::{Answer, Call};
pub use attributes::{Attributes, FileType, POST_OP_ATTR, SetAttributes};
pub use handle::{FHSIZE, FileHandle, Place};

use super::facts::Facts;
use super::layout::Field::{
    Choice, Count, Creating, Handle, Name, Offset, Optional, Payload, Size, Skip, Stable, ToHandle, ToName,
};
use super::layout::{self, Field, Layout, Otherwise, Row, note, row};

/// `post_op_attr`: a boolean and, if true, `fattr3` (RFC 1813 2.6).
const ATTRIBUTES: Field = Optional(&[Skip(84)]);
/// `wcc_data`: `pre_op_attr` (size, mtime, ctime) and `post_op_attr`.
const BEFORE_AND_AFTER: [Field; 2] = [Optional(&[Skip(24)]), ATTRIBUTES];
/// `set_atime` and `set_mtime`: only SET_TO_CLIENT_TIME carries a time.
const SET_TIME: Field = Choice(&[(2, &[Skip(8)])], Otherwise::Nothing);
const NOTHING: Layout = &[];
const ONE_HANDLE: Layout = &[Handle];
/// `diropargs3`.
const IN_DIRECTORY: Layout = &[Handle, Name];
/// `post_op_fh3`, followed by attributes that are not needed.
const MADE: Layout = &[Optional(&[Handle])];
/// `sattr3` between the name and the text: mode, uid, gid, size, and two times.
const SYMLINK: Layout = &[
    Handle,
    Name,
    Optional(&[Skip(4)]),
    Optional(&[Skip(4)]),
    Optional(&[Skip(4)]),
    Optional(&[Skip(8)]),
    SET_TIME,
    SET_TIME,
    ToName,
];

/// `sattr3` of a new file as far as its size: mode, uid, gid, size.
const NEW_FILE: Layout = &[Optional(&[Skip(4)]), Optional(&[Skip(4)]), Optional(&[Skip(4)]), Optional(&[Size])];
/// `createhow3`, which ends with attributes that are not needed.
const CREATE: Layout = &[Handle, Name, Creating(&[(0, NEW_FILE), (1, NOTHING), (2, NOTHING)])];

/// By procedure number.
static PROCEDURES: [Row; 22] = [
    row("NULL", NOTHING, NOTHING),
    row("GETATTR", ONE_HANDLE, NOTHING),
    row("SETATTR", ONE_HANDLE, NOTHING),
    row("LOOKUP", IN_DIRECTORY, &[Handle]),
    row("ACCESS", ONE_HANDLE, NOTHING),
    row("READLINK", ONE_HANDLE, &[ATTRIBUTES, Name]),
    row("READ", &[Handle, Offset, Count], &[ATTRIBUTES, Count, Skip(4), Payload]),
    row("WRITE", &[Handle, Offset, Count, Stable, Payload], &[BEFORE_AND_AFTER[0], BEFORE_AND_AFTER[1], Count, Stable]),
    row("CREATE", CREATE, MADE),
    row("MKDIR", IN_DIRECTORY, MADE),
    row("SYMLINK", SYMLINK, MADE),
    row("MKNOD", IN_DIRECTORY, MADE),
    row("REMOVE", IN_DIRECTORY, NOTHING),
    row("RMDIR", IN_DIRECTORY, NOTHING),
    row("RENAME", &[Handle, Name, ToHandle, ToName], NOTHING),
    row("LINK", &[Handle, ToHandle, ToName], NOTHING),
    row("READDIR", &[Handle, Skip(16), Count], NOTHING),
    row("READDIRPLUS", &[Handle, Skip(20), Count], NOTHING),
    row("FSSTAT", ONE_HANDLE, NOTHING),
    row("FSINFO", ONE_HANDLE, NOTHING),
    row("PATHCONF", ONE_HANDLE, NOTHING),
    row("COMMIT", &[Handle, Offset, Count], NOTHING),
];

/// Facts of a call's arguments. The count of READDIR is its reply's limit in bytes, that of READDIRPLUS its `maxcount`.
#[inline]
pub fn arguments(procedure: u32, bytes: &[u8]) -> Facts<'_> {
    let mut facts = Facts::default();
    note_arguments(procedure, bytes, &mut facts);
    facts
}

/// The same, into `facts` that say nothing yet.
#[inline]
pub(super) fn note_arguments<'a>(procedure: u32, bytes: &'a [u8], facts: &mut Facts<'a>) {
    let Some(row) = find(procedure) else { return };
    note(row.arguments, bytes, facts);
    if procedure == WRITE && facts.payload.is_none() {
        facts.payload = payload_from_count(facts);
    }
}

/// Facts of a reply's results. NULL returns nothing.
#[inline]
pub fn results(procedure: u32, bytes: &[u8]) -> Facts<'_> {
    let mut facts = Facts::default();
    note_results(procedure, bytes, &mut facts);
    facts
}

/// The same, into `facts` that say nothing yet.
#[inline]
pub(super) fn note_results<'a>(procedure: u32, bytes: &'a [u8], facts: &mut Facts<'a>) {
    let Some(row) = find(procedure) else { return };
    if procedure == 0 {
        return;
    }
    layout::note_results(row.results, bytes, facts);
    if procedure == READ && facts.payload.is_none() {
        facts.payload = payload_from_count(facts);
    }
}

const READ: u32 = 6;
const WRITE: u32 = 7;

/// RFC 1813 3.3.6 and 3.3.7: the count equals the length of the data, and it comes first.
fn payload_from_count(facts: &Facts<'_>) -> Option<u32> {
    facts.count.and_then(|count| u32::try_from(count).ok())
}

#[inline]
pub(super) fn find(procedure: u32) -> Option<&'static Row> {
    PROCEDURES.get(procedure as usize)
}
