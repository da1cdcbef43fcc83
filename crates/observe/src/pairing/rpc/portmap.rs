//! Answers of portmappers: on which port a program of the file service is.

use std::net::IpAddr;

use plimsoll_wire::nfs::portmap;
use plimsoll_wire::rpc::Program;

use crate::named_services::NamedService;

/// The program that a call asks about, if it is one of the file service.
#[cold]
pub(super) fn asked_program(version: u32, procedure: u32, arguments: &[u8]) -> Option<Program> {
    let program = portmap::asked_program(version, procedure, arguments)?;
    Program::from_wire(program).filter(|program| *program != Program::Portmap)
}

/// The service that an answer of `server` names.
#[cold]
pub(super) fn named_service(
    (program, version): (Program, u32),
    results: &[u8],
    server: IpAddr,
) -> Option<NamedService> {
    Some(NamedService { program, server, port: portmap::named_port(version, results)? })
}
