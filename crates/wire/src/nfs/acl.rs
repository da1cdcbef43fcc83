//! NFSACL, the side program for access control lists, versions 2 and 3.
//!
//! Spec: none was published; Solaris and Linux agree on this (`nfs_acl.x`). Handles are those of the NFS version.

use super::facts::Facts;
use super::layout::Field::{Handle, Handle32, Optional, Skip};
use super::layout::{Layout, Row, facts_of, facts_of_results, row};

const NOTHING: Layout = &[];

static VERSION_2: [Row; 6] = [
    row("NULL", NOTHING, NOTHING),
    row("GETACL", &[Handle32], NOTHING),
    row("SETACL", &[Handle32], NOTHING),
    row("GETATTR", &[Handle32], NOTHING),
    row("ACCESS", &[Handle32], NOTHING),
    row("GETXATTRDIR", &[Handle32], &[Handle32]),
];

static VERSION_3: [Row; 4] = [
    row("NULL", NOTHING, NOTHING),
    row("GETACL", &[Handle], NOTHING),
    row("SETACL", &[Handle], NOTHING),
    row("GETXATTRDIR", &[Handle], &[Handle, Optional(&[Skip(84)])]),
];

/// Facts of a call's arguments.
#[inline]
pub fn arguments(version: u32, procedure: u32, bytes: &[u8]) -> Facts<'_> {
    facts_of(find(version, procedure).map_or(NOTHING, |row| row.arguments), bytes)
}

/// Facts of a reply's results: the status has the numbers of the NFS version. NULL returns nothing.
#[inline]
pub fn results(version: u32, procedure: u32, bytes: &[u8]) -> Facts<'_> {
    if procedure == 0 {
        return Facts::default();
    }
    let Some(row) = find(version, procedure) else { return Facts::default() };
    facts_of_results(row.results, bytes)
}

pub(super) fn find(version: u32, procedure: u32) -> Option<&'static Row> {
    let procedure = usize::try_from(procedure).ok()?;
    match version {
        2 => VERSION_2.get(procedure),
        3 => VERSION_3.get(procedure),
        _ => None,
    }
}
