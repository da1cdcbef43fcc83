//! From program, version and procedure to the table that knows it.

use super::facts::Facts;
use super::{acl, mount, nlm, v2, v3};
use crate::rpc::Program;

/// Adds the facts of the arguments to empty `facts`. Adds nothing for unknown programs, nor for NFS 4 (see [`super::v4`]).
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

/// Adds the facts of the results. The reply does not name its procedure, so the caller takes it from the call.
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
