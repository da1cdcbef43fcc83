//! Programs, versions and procedure numbers as rows of the one table.

use plimsoll_model::{Procedure, Protocol};
use plimsoll_wire::rpc::{self, Call, Program};

const NLM: u32 = Program::Nlm.number();

/// The row of an RPC procedure.
#[inline]
pub(super) fn of(program: u32, version: u32, number: u32) -> Procedure {
    let protocol = match (Program::from_wire(program), version) {
        (Some(Program::Nfs), 2) => Protocol::Nfs2,
        (Some(Program::Nfs), 3) => Protocol::Nfs3,
        (Some(Program::Nfs), 4) => Protocol::Nfs4,
        (Some(Program::Mount), _) => Protocol::Mount,
        (Some(Program::Portmap), _) => Protocol::Portmap,
        (Some(Program::Nlm), _) => Protocol::Nlm,
        (Some(Program::NfsAcl), _) => Protocol::NfsAcl,
        (None, _) if is_callback_procedure(program, version, number) => Protocol::Nfs4Callback,
        _ => Protocol::Rpc,
    };
    Procedure::of(protocol, u16::try_from(number).unwrap_or(u16::MAX))
}

/// Whether this is a procedure of callbacks. Other programs have such numbers too, but hardly such versions and procedures.
#[inline]
pub(super) fn is_callback_procedure(program: u32, version: u32, number: u32) -> bool {
    rpc::is_transient(program) && rpc::highest_procedure(program, version).is_some_and(|highest| number <= highest)
}

/// Whether a server sends this call to a client.
#[inline]
pub(super) fn is_callback(call: &Call<'_>) -> bool {
    let program = call.program();
    let may_be = rpc::is_transient(program) || program == NLM;
    may_be && of(program, call.version(), call.procedure()).is_callback()
}

/// Whether the results of a procedure begin with a status, without which its outcome is unknown. False for NFSv4 compounds.
#[inline]
pub(super) fn returns_status(program: u32, version: u32, number: u32) -> bool {
    match (Program::from_wire(program), version) {
        (Some(Program::Nfs), 2) => matches!(number, 1 | 2 | 4..=6 | 8..=17),
        (Some(Program::Nfs), 3) => matches!(number, 1..=21),
        (Some(Program::NfsAcl), _) => matches!(number, 1..=5),
        (Some(Program::Mount), _) => number == 1,
        (Some(Program::Nlm), _) => matches!(number, 1..=5 | 20..=22),
        _ => false,
    }
}
