//! NFS version 2: every procedure's arguments and results.
//!
//! Spec: RFC 1094 2.2

use super::facts::Facts;
use super::layout::Field::{Count, Handle32, Name, NewSize32, Offset32, Payload, Skip, ToHandle32, ToName};
use super::layout::{Field, Layout, Row, facts_of, facts_of_results, row};

/// `fattr`: seventeen words (RFC 1094 2.3.5).
const ATTRIBUTES: Field = Skip(68);
const NOTHING: Layout = &[];
/// `diropargs`.
const IN_DIRECTORY: Layout = &[Handle32, Name];
/// `diropres`.
const FOUND: Layout = &[Handle32, ATTRIBUTES];

/// By procedure number. Symbolic links name their text before the attributes.
static PROCEDURES: [Row; 18] = [
    row("NULL", NOTHING, NOTHING),
    row("GETATTR", &[Handle32], NOTHING),
    row("SETATTR", &[Handle32], NOTHING),
    row("ROOT", NOTHING, NOTHING),
    row("LOOKUP", IN_DIRECTORY, FOUND),
    row("READLINK", &[Handle32], &[Name]),
    row("READ", &[Handle32, Offset32, Count], &[ATTRIBUTES, Payload]),
    row("WRITECACHE", NOTHING, NOTHING),
    row("WRITE", &[Handle32, Skip(4), Offset32, Skip(4), Payload], NOTHING),
    // `sattr`: mode, uid, gid, size.
    row("CREATE", &[Handle32, Name, Skip(12), NewSize32], FOUND),
    row("REMOVE", IN_DIRECTORY, NOTHING),
    row("RENAME", &[Handle32, Name, ToHandle32, ToName], NOTHING),
    row("LINK", &[Handle32, ToHandle32, ToName], NOTHING),
    row("SYMLINK", &[Handle32, Name, ToName], NOTHING),
    row("MKDIR", IN_DIRECTORY, FOUND),
    row("RMDIR", IN_DIRECTORY, NOTHING),
    row("READDIR", &[Handle32, Skip(4), Count], NOTHING),
    row("STATFS", &[Handle32], NOTHING),
];

/// Facts of a call's arguments.
#[inline]
pub fn arguments(procedure: u32, bytes: &[u8]) -> Facts<'_> {
    let mut facts = facts_of(find(procedure).map_or(NOTHING, |row| row.arguments), bytes);
    if facts.count.is_none() {
        // WRITE counts its bytes by carrying them: `totalcount` is documented as ignored.
        facts.count = facts.payload.map(u64::from);
    }
    facts
}

/// Facts of a reply's results. NULL, ROOT and WRITECACHE return nothing.
#[inline]
pub fn results(procedure: u32, bytes: &[u8]) -> Facts<'_> {
    if matches!(procedure, 0 | 3 | 7) {
        return Facts::default();
    }
    let Some(row) = find(procedure) else { return Facts::default() };
    let mut facts = facts_of_results(row.results, bytes);
    facts.count = facts.payload.map(u64::from);
    facts
}

#[inline]
pub(super) fn find(procedure: u32) -> Option<&'static Row> {
    PROCEDURES.get(procedure as usize)
}
