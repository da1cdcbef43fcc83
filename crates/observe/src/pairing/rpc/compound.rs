//! NFSv4 compounds: one row for the compound, and one for each operation in it.
//!
//! The call names the operations, the answer has their statuses; the end of either may be cut off after the payload of a WRITE or READ,
//! so each is used to complete the other.
//!
//! One of the rows is counted: the main operation of the compound, even if the server did not reach it. Its outcome is then the
//! compound's.
//!
//! Spec: RFC 8881 16.2, 20.2.

use std::net::IpAddr;

use plimsoll_model::{Anomaly, Asked, FileIdentity, Outcome, Procedure, Protocol, Sink, Symbol};
use plimsoll_wire::nfs::Facts;
use plimsoll_wire::nfs::v4::sequence::session_number;
use plimsoll_wire::nfs::v4::{CompoundCall, CompoundReply, Operation};
use plimsoll_wire::rpc;

use super::asked::note_asked;
use super::delegations;
use super::member::Member;
use super::waiting::Waiting;
use crate::names::{Handles, Object};
use crate::pairing::request::written;
use crate::pairing::{Answer, ConnectionContext, Output};

/// Operations of a compound that get rows, at most; real ones have a dozen.
const MEMBERS_MAX: usize = 128;

const OP_CREATE: u32 = 6;
const OP_DELEGRETURN: u32 = 8;
const OP_LINK: u32 = 11;
const OP_LOOKUP: u32 = 15;
const OP_LOOKUPP: u32 = 16;
const OP_OPEN: u32 = 18;
const OP_PUTFH: u32 = 22;
const OP_PUTROOTFH: u32 = 24;
const OP_RENAME: u32 = 29;
const OP_RESTOREFH: u32 = 31;
const OP_SAVEFH: u32 = 32;
const OP_COPY: u32 = 60;
/// Of callbacks.
const CB_RECALL: u32 = 4;
const OP_CLONE: u32 = 71;

/// Marks a member that works on a second file. No compound changes its file handle this often.
const OTHER_FILE: u16 = u16::MAX;

/// Notes the operations of a call, following the current file handle through them.
pub(super) fn note<S: Sink>(
    waiting: &mut Waiting,
    arguments: &[u8],
    context: &ConnectionContext,
    handles: &mut Handles,
    output: &mut Output<S>,
) {
    let callback = rpc::is_transient(waiting.program);
    let call = if callback { CompoundCall::callback(arguments) } else { CompoundCall::new(arguments) };
    waiting.announced = call.announced;
    let (_, server) = place(context, waiting.pending.direction, callback);
    let (mut current, mut saved, mut changes) = (Object::default(), Object::default(), 0);
    for operation in call.operations().take(MEMBERS_MAX) {
        let facts = operation.facts;
        if !callback {
            note_session(waiting, &operation, context, output);
        }
        if matches!((callback, operation.code), (true, CB_RECALL) | (false, OP_DELEGRETURN)) {
            note_state(waiting, operation.position as u16, facts.delegation, context, output);
        }
        match (operation.code, facts.handle, facts.name) {
            _ if callback => {}
            (OP_PUTFH, Some(handle), _) => current = handles.object(handle, server, &mut output.names),
            (OP_PUTFH, None, _) => current = Object::default(),
            (OP_PUTROOTFH, ..) => current = Object { path: output.names.intern("/"), ..Object::default() },
            (OP_LOOKUP | OP_OPEN | OP_CREATE, _, Some(name)) => {
                current = handles.child(current, name, &mut output.names).object;
            }
            (OP_LOOKUP, _, None) | (OP_LOOKUPP, ..) => current = Object::default(),
            (OP_SAVEFH, ..) => saved = current,
            (OP_RESTOREFH, ..) => current = saved,
            _ => {}
        }
        changes += u16::from(changes_current(operation.code));
        let mut asked = Asked::default();
        note_asked(&mut asked, &facts);
        let (mut object, mut own) = (current, changes);
        if let Some((of, second)) = two_paths(operation.code, &facts, (current, saved), handles, output) {
            (object, asked.second_path, own) = (of, second, OTHER_FILE);
        }
        let payload = facts.payload.map(u64::from);
        let (position, procedure) = (operation.position as u16, procedure(callback, operation.code));
        let (code, wish, changes) = (operation.code, facts.access.map(delegations::wishes), own);
        waiting.members.push(Member { code, position, procedure, object, changes, payload, asked, wish });
    }
    if callback && waiting.announced.is_none_or(|announced| (waiting.members.len() as u64) < u64::from(announced)) {
        // It may recall a delegation.
        output.delegations.partial(place(context, waiting.pending.direction, callback));
    }
    // The compound gets the name of its last file.
    waiting.pending.share = current.share;
    waiting.pending.path = current.path;
    waiting.pending.asked.file = current.file;
    waiting.pending.payload = waiting.members.iter().find_map(|member| member.payload);
}

/// Notes the session of a call, and its slot.
#[inline]
fn note_session<S: Sink>(
    waiting: &mut Waiting,
    operation: &Operation<'_>,
    context: &ConnectionContext,
    output: &mut Output<S>,
) {
    let Facts { slot, session, .. } = operation.facts;
    if let Some(slot) = slot {
        let place = place(context, waiting.pending.direction, false);
        waiting.pending.session = output.slots.request(&slot, place, waiting.pending.first.time_ns);
        waiting.slot = Some(slot.slot);
    } else if let Some(session) = session {
        waiting.pending.session = session.try_into().ok().map(|id| session_number(&id));
    }
}

/// The session of a call, and its slot.
pub(super) fn slot(waiting: &Waiting) -> Option<(u64, u32)> {
    waiting.pending.session.zip(waiting.slot)
}

/// Notes the state ID of the delegation that a client returns or a server recalls.
fn note_state<S: Sink>(
    waiting: &mut Waiting,
    position: u16,
    state: Option<&[u8]>,
    context: &ConnectionContext,
    output: &mut Output<S>,
) {
    let callback = rpc::is_transient(waiting.program);
    let place = place(context, waiting.pending.direction, callback);
    let Some(state) = state.and_then(|state| state.try_into().ok()) else {
        output.delegations.partial(place);
        return;
    };
    waiting.delegations.push((position, state));
    match callback {
        true => output.delegations.recall(place, &state, waiting.pending.first.time_ns),
        false => output.delegations.returns(place, &state),
    }
}

/// Client and server of a message in this direction. Servers send callbacks.
pub(super) fn place(context: &ConnectionContext, direction: u8, callback: bool) -> (IpAddr, IpAddr) {
    let sender = usize::from(direction) & 1;
    let [sender, receiver] = [sender, 1 - sender].map(|end| context.ends[end].ip);
    if callback { (receiver, sender) } else { (sender, receiver) }
}

/// Notes what the result of an operation tells of delegations.
#[inline]
fn note_delegation<S: Sink>(
    waiting: &Waiting,
    member: &Member,
    facts: &Facts<'_>,
    context: &ConnectionContext,
    output: &mut Output<S>,
) {
    let callback = rpc::is_transient(waiting.program);
    let place = || place(context, waiting.pending.direction, callback);
    let state =
        || waiting.delegations.iter().find(|(position, _)| *position == member.position).map(|(_, state)| state);
    match (callback, member.code) {
        (false, OP_OPEN) => output.delegations.opened(place(), facts.status, facts.delegation_kind, member.wish),
        (false, OP_DELEGRETURN) => {
            output.delegations.returned(place(), state(), waiting.pending.first.time_ns, facts.status);
        }
        (true, CB_RECALL) => {
            state().into_iter().for_each(|state| output.delegations.recall_answered(place(), state, facts.status));
        }
        _ => {}
    }
}

/// Whether OPEN or DELEGRETURN may be among the operations of a client's compound that were carried out and whose results were not read.
/// `seen`: number of results that were read.
pub(super) fn hides_delegations(
    waiting: &Waiting,
    reply: Option<&CompoundReply<'_>>,
    seen: usize,
    outcome: Outcome,
) -> bool {
    let is_refused = reply.is_none() && matches!(outcome, Outcome::Refused | Outcome::Failed);
    if is_refused || rpc::is_transient(waiting.program) {
        return false;
    }
    let Some(results) = reply.and_then(|reply| reply.announced).or(waiting.announced) else { return true };
    let results = usize::try_from(results).unwrap_or(usize::MAX);
    let mut unread = waiting.members.iter().take(results).skip(seen);
    waiting.members.len().max(seen) < results || unread.any(|member| matches!(member.code, OP_OPEN | OP_DELEGRETURN))
}

/// Whether an operation makes another file the current one.
fn changes_current(code: u32) -> bool {
    matches!(code, OP_PUTFH | OP_PUTROOTFH | OP_LOOKUP | OP_LOOKUPP | OP_OPEN | OP_CREATE | OP_RESTOREFH)
}

/// The object of an operation on two files, and its second path. (Callbacks have other numbers.)
fn two_paths<S: Sink>(
    code: u32,
    facts: &Facts<'_>,
    (current, saved): (Object, Object),
    handles: &mut Handles,
    output: &mut Output<S>,
) -> Option<(Object, Symbol)> {
    let mut child = |directory, name: Option<&[u8]>| {
        name.map(|name| handles.child(directory, name, &mut output.names).object).unwrap_or_default()
    };
    Some(match code {
        OP_RENAME => (child(saved, facts.name), child(current, facts.to_name).path),
        OP_LINK => (saved, child(current, facts.to_name).path),
        OP_COPY | OP_CLONE => (current, saved.path),
        _ => return None,
    })
}

/// The place of the operation that a compound is about; `None` where that is not known.
pub(super) fn principal(members: &[Member], announced: Option<u32>) -> Option<usize> {
    let complete = announced.is_some_and(|announced| members.len() as u64 >= u64::from(announced));
    Procedure::principal(members.iter().map(|member| member.procedure), complete)
}

/// Pairs a compound and each of its operations.
pub(super) fn pair<S: Sink>(
    waiting: &mut Waiting,
    results: Option<&[u8]>,
    answer: &mut Answer,
    id: u64,
    context: &ConnectionContext,
    handles: &mut Handles,
    output: &mut Output<S>,
) {
    let callback = rpc::is_transient(waiting.program);
    let reply = results.map(|bytes| if callback { CompoundReply::callback(bytes) } else { CompoundReply::new(bytes) });
    free_slot(waiting, reply.as_ref(), answer, context, output);
    let mut members = match &reply {
        Some(reply) => answered(waiting, reply, answer, context, handles, output),
        None => Vec::new(),
    };
    if hides_delegations(waiting, reply.as_ref(), members.len(), answer.outcome) {
        output.delegations.partial(place(context, waiting.pending.direction, callback));
    }
    if answer.status.is_none() && answer.outcome == Outcome::Succeeded {
        answer.outcome = Outcome::Unknown;
    }
    answer.payload = members.iter().find_map(|(_, answer)| answer.payload);
    // Operations behind a READ's payload have no result that was kept. A compound that succeeded carried them all out.
    let whole_succeeded = reply.is_some_and(|reply| reply.status == Some(0));
    let mut known: Vec<Member> = members.iter().map(|(member, _)| *member).collect();
    known.extend(waiting.members.iter().skip(members.len()));
    if whole_succeeded {
        for member in waiting.members.iter().skip(members.len()) {
            members.push((*member, Answer { status: Some(0), payload: None, bytes: None, ..*answer }));
        }
    }
    // All results of a compound that succeeded are all of its operations.
    let in_reply = reply.filter(|_| whole_succeeded).and_then(|reply| reply.announced);
    let principal = principal(&known, waiting.announced.or(in_reply));
    if let Some(place) = principal
        && place >= members.len()
        && let Some(&member) = known.get(place)
    {
        members.push((member, unseen(reply.as_ref(), &member, answer)));
    }
    let main = principal.and_then(|place| known.get(place));
    // Without the request it is unknown whether the status is an error.
    let asked = main.map_or_else(|| procedure(callback, 0), |member| member.procedure);
    answer.outcome = answer.outcome.with_status(asked, answer.status);
    let position = main.map(|member| member.position);
    waiting.pending.counted = position.is_none();
    output.pair(context, Some(id), &waiting.pending, answer);
    for (member, own) in &members {
        let counted = position == Some(member.position);
        let own = Answer { bytes: answer.bytes.filter(|_| counted), ..*own };
        output.pair_member(context, Some(id), &member.pending(&waiting.pending, counted), &own);
    }
}

/// The slot of a compound is free again. SEQUENCE is its first operation.
#[inline]
fn free_slot<S: Sink>(
    waiting: &Waiting,
    reply: Option<&CompoundReply<'_>>,
    answer: &Answer,
    context: &ConnectionContext,
    output: &mut Output<S>,
) {
    if let Some(slot) = slot(waiting) {
        let target = reply.and_then(|reply| reply.operations().next()?.facts.target_slot);
        output.slots.response(slot, target, (answer.first.time_ns, context.to_client_ns));
    }
}

/// The session of a compound's results.
#[cold]
pub(super) fn session_of(results: &[u8]) -> Option<u64> {
    let slot = CompoundReply::new(results).operations().next()?.facts.slot?;
    slot.session.try_into().ok().map(|id| session_number(&id))
}

/// The operations with a result that was seen; the compound's own status goes to `answer`.
fn answered<S: Sink>(
    waiting: &mut Waiting,
    reply: &CompoundReply<'_>,
    answer: &mut Answer,
    context: &ConnectionContext,
    handles: &mut Handles,
    output: &mut Output<S>,
) -> Vec<(Member, Answer)> {
    let callback = rpc::is_transient(waiting.program);
    let (_, server) = place(context, waiting.pending.direction, callback);
    let mut members = Vec::new();
    for operation in reply.operations().take(MEMBERS_MAX) {
        let position = operation.position as u16;
        let asked = waiting.members.get(usize::from(position)).copied();
        if asked.is_some_and(|asked| asked.code != operation.code) {
            output.anomalies.add(Anomaly::MessageMalformed);
            break;
        }
        let member = asked.unwrap_or_else(|| Member {
            code: operation.code,
            position,
            procedure: procedure(callback, operation.code),
            object: Object::default(),
            changes: 0,
            payload: None,
            asked: Asked::default(),
            wish: None,
        });
        note_delegation(waiting, &member, &operation.facts, context, output);
        if let (false, Some(id), Some(granted)) = (callback, operation.facts.session, operation.facts.granted_slots) {
            output.slots.created(id, granted, place(context, waiting.pending.direction, false));
        }
        if let Some(handle) = operation.facts.handle.filter(|_| asked.is_some()) {
            let file = match member.object.path.is_some() {
                true => handles.learn(handle, server, member.object),
                false => Some(FileIdentity::of_handle(handle)),
            };
            let same = waiting.members.iter_mut().filter(|same| same.changes == member.changes);
            same.for_each(|same| same.object.file = file);
        }
        let status = operation.facts.status;
        let outcome = match status {
            Some(0) => Outcome::Succeeded,
            Some(_) => Outcome::Refused,
            None => Outcome::Unknown,
        };
        let read = operation.facts.payload.map(u64::from);
        let payload = read.or_else(|| written(member.payload, operation.facts.count));
        members.push((member, Answer { status, outcome, payload, bytes: None, ..*answer }));
    }
    for (member, _) in &mut members {
        if let Some(asked) = waiting.members.get(usize::from(member.position)) {
            member.object.file = asked.object.file;
        }
    }
    waiting.pending.asked.file = waiting.members.last().and_then(|last| last.object.file);
    answer.status = reply.status;
    if reply.status.is_some_and(|status| status != 0) {
        answer.outcome = Outcome::Refused;
    }
    members
}

/// The outcome of an operation whose result is missing, in a compound that failed: operations before the last result succeeded; an
/// operation without a result ended with the compound.
fn unseen(reply: Option<&CompoundReply<'_>>, member: &Member, whole: &Answer) -> Answer {
    let results = reply.and_then(|reply| reply.announced);
    match results {
        Some(results) if u32::from(member.position) + 1 < results => {
            Answer { status: Some(0), outcome: Outcome::Succeeded, payload: None, ..*whole }
        }
        _ => Answer { payload: None, ..*whole },
    }
}

fn procedure(callback: bool, code: u32) -> Procedure {
    let protocol = if callback { Protocol::Nfs4Callback } else { Protocol::Nfs4 };
    // 0 and 1 are the procedures NULL and COMPOUND, no operations.
    let code = if code < 3 { u16::MAX } else { u16::try_from(code).unwrap_or(u16::MAX) };
    Procedure::of(protocol, code)
}
