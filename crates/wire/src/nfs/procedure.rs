//! From program, version and procedure to the table that knows it.

use super::entry::entry;
use super::facts::Facts;
use super::{acl, mount, nlm, portmap, v2, v3, v4};
use crate::rpc::{Program, is_transient};

/// The procedure's name as its specification spells it, without a prefix. `None` when there is no such procedure.
pub fn procedure_name(program: u32, version: u32, procedure: u32) -> Option<&'static str> {
    if is_transient(program) {
        return v4::callback_procedure_name(procedure);
    }
    match (Program::from_wire(program)?, version) {
        (Program::Portmap, _) => portmap::procedure_name(version, procedure),
        (Program::Nfs, 2) => v2::procedure_name(procedure),
        (Program::Nfs, 3) => v3::procedure_name(procedure),
        (Program::Nfs, 4) => v4::procedure_name(procedure),
        (Program::Mount, 1..=3) => mount::procedure_name(version, procedure),
        (Program::Nlm, 1 | 3 | 4) => nlm::procedure_name(version, procedure),
        (Program::NfsAcl, 2 | 3) => acl::procedure_name(version, procedure),
        (Program::Status, 1) => entry(&STATUS_MONITOR, procedure),
        (Program::Rquota, 1 | 2) => entry(&RQUOTA, procedure),
        _ => None,
    }
}

/// What the arguments say, noted in `facts` that say nothing yet. Nothing is noted of what this module does not know,
/// nor of NFS 4 (see [`v4`]).
#[inline]
pub fn arguments<'a>(program: u32, version: u32, procedure: u32, bytes: &'a [u8], facts: &mut Facts<'a>) {
    match (Program::from_wire(program), version) {
        (Some(Program::Nfs), 3) => v3::note_arguments(procedure, bytes, facts),
        (Some(known), _) => rare_arguments(known, version, procedure, bytes, facts),
        (None, _) => {}
    }
}

#[inline(never)]
fn rare_arguments<'a>(program: Program, version: u32, procedure: u32, bytes: &'a [u8], facts: &mut Facts<'a>) {
    *facts = match (program, version) {
        (Program::Nfs, 2) => v2::arguments(procedure, bytes),
        (Program::NfsAcl, _) => acl::arguments(version, procedure, bytes),
        (Program::Mount, _) => mount::arguments(version, procedure, bytes),
        (Program::Nlm, _) => nlm::Arguments::new(version, procedure, bytes).facts(),
        _ => return,
    };
}

/// What the results say; the reply does not name its procedure, so take it from the call. Noted like the arguments.
#[inline]
pub fn results<'a>(program: u32, version: u32, procedure: u32, bytes: &'a [u8], facts: &mut Facts<'a>) {
    match (Program::from_wire(program), version) {
        (Some(Program::Nfs), 3) => v3::note_results(procedure, bytes, facts),
        (Some(known), _) => rare_results(known, version, procedure, bytes, facts),
        (None, _) => {}
    }
}

#[inline(never)]
fn rare_results<'a>(program: Program, version: u32, procedure: u32, bytes: &'a [u8], facts: &mut Facts<'a>) {
    *facts = match (program, version) {
        (Program::Nfs, 2) => v2::results(procedure, bytes),
        (Program::NfsAcl, _) => acl::results(version, procedure, bytes),
        (Program::Mount, _) => mount::results(version, procedure, bytes),
        (Program::Nlm, _) => nlm::results(version, procedure, bytes),
        _ => return,
    };
}

/// X/Open XNFS C702, chapter 11.
const STATUS_MONITOR: [&str; 7] = ["NULL", "STAT", "MON", "UNMON", "UNMON_ALL", "SIMU_CRASH", "NOTIFY"];

/// The quota program has no specification; these are what its implementations agree on.
const RQUOTA: [&str; 5] = ["NULL", "GETQUOTA", "GETACTIVEQUOTA", "SETQUOTA", "SETACTIVEQUOTA"];
