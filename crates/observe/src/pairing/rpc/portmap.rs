//! Answers of portmappers: on which port a program of the file service is.

use plimsoll_wire::nfs::portmap;
use plimsoll_wire::rpc::Program;

use super::Waiting;
use crate::named_services::NamedService;
use crate::pairing::{ConnectionContext, Output};

/// The program that a call asks about, if it is one of the file service.
#[cold]
pub(super) fn asked_program(waiting: &Waiting, arguments: &[u8]) -> Option<Program> {
    let program = portmap::asked_program(waiting.version, waiting.procedure, arguments)?;
    Program::from_wire(program).filter(|program| *program != Program::Portmap)
}

/// Notes the service that an answer in `direction` names.
#[cold]
pub(super) fn note_service<S>(
    (program, version): (Program, u32),
    results: &[u8],
    direction: usize,
    link: &ConnectionContext,
    output: &Output<S>,
) {
    if let (Some(services), Some(port)) = (&output.services, portmap::named_port(version, results)) {
        services.add(NamedService { program, server: link.ends[direction].ip, port });
    }
}
