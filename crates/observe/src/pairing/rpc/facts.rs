//! The facts of a call and of its results: files, names, bytes and statuses.

use std::net::IpAddr;

use plimsoll_model::{FileIdentity, Outcome, Sink};
use plimsoll_wire::nfs::{self, Facts};
use plimsoll_wire::rpc::Program;

use super::asked::note_asked;
use super::waiting::Waiting;
use super::{compound, portmap};
use crate::names::Handles;
use crate::pairing::request::written;
use crate::pairing::{Answer, ConnectionContext, Output};

const PORTMAP: u32 = Program::Portmap.number();
const MOUNT: u32 = Program::Mount.number();
const MOUNT_MNT: u32 = 1;

#[inline]
pub(super) fn note_arguments<S: Sink>(
    waiting: &mut Waiting,
    bytes: &[u8],
    context: &ConnectionContext,
    handles: &mut Handles,
    output: &mut Output<S>,
) {
    if waiting.is_compound() {
        compound::note(waiting, bytes, context, handles, output);
        return;
    }
    if waiting.program == PORTMAP && output.services.is_some() {
        waiting.asked_program = portmap::asked_program(waiting.version, waiting.procedure, bytes);
    }
    let mut facts = Facts::default();
    nfs::arguments(waiting.program, waiting.version, waiting.procedure, bytes, &mut facts);
    waiting.pending.payload = facts.payload.map(u64::from);
    note_asked(&mut waiting.pending.asked, &facts);
    // None waits by design: servers answer a lock that must wait at once (NLM_BLOCKED, NFS4ERR_DENIED).
    if waiting.program == MOUNT {
        if let Some(export) = facts.name {
            waiting.pending.share = output.names.intern(&String::from_utf8_lossy(export));
        }
        return;
    }
    let Some(handle) = facts.handle else { return };
    let (_, server) = compound::place(context, waiting.pending.direction, waiting.pending.procedure.is_callback());
    let object = handles.object(handle, server, &mut output.names);
    waiting.made = match facts.name {
        Some(name) => handles.child(object, name, &mut output.names),
        None => object.into(),
    };
    waiting.pending.share = waiting.made.object.share;
    waiting.pending.path = waiting.made.object.path;
    waiting.pending.asked.file = waiting.made.object.file;
    if facts.to_name.is_some() {
        note_second_path(waiting, &facts, server, handles, output);
    }
}

/// The new name of RENAME and LINK.
#[cold]
fn note_second_path<S: Sink>(
    waiting: &mut Waiting,
    facts: &Facts<'_>,
    server: IpAddr,
    handles: &mut Handles,
    output: &mut Output<S>,
) {
    if let (Some(directory), Some(name)) = (facts.to_handle, facts.to_name) {
        let directory = handles.object(directory, server, &mut output.names);
        waiting.pending.asked.second_path = handles.child(directory, name, &mut output.names).object.path;
    }
}

#[inline]
pub(super) fn note_results<S: Sink>(
    waiting: &mut Waiting,
    facts: &Facts<'_>,
    answer: &mut Answer,
    server: IpAddr,
    handles: &mut Handles,
    output: &mut Output<S>,
) {
    answer.payload = facts.payload.map(u64::from).or_else(|| written(waiting.pending.payload, facts.count));
    if facts.status.is_some() {
        answer.status = facts.status;
    }
    if facts.status.is_some_and(|status| status != 0) {
        answer.outcome = Outcome::Refused;
    }
    let Some(handle) = facts.handle else { return };
    if (waiting.program, waiting.procedure) == (MOUNT, MOUNT_MNT) {
        if let Some(export) = output.names.text(waiting.pending.share).map(str::to_owned) {
            waiting.pending.asked.file = handles.learn_root(handle, (server, export.as_bytes()), &mut output.names);
        }
    } else if waiting.made.object.path.is_some() {
        waiting.pending.asked.file = handles.learn_named(handle, server, &waiting.made);
    } else {
        waiting.pending.asked.file = Some(FileIdentity::of_handle(handle));
    }
}
