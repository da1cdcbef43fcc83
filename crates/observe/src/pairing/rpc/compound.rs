//! NFSv4 compounds: a row for the whole, and one for each operation in it.
//!
//! The call names the operations, the answer gives their statuses; either may have its end cut off behind the
//! payload of a WRITE or READ, so each fills in what the other lacks.
//!
//! Spec: RFC 8881 16.2, 20.2.

use plimsoll_model::{Anomaly, Outcome, Procedure, Protocol, Sink};
use plimsoll_wire::nfs::v4::{CompoundCall, CompoundReply};
use plimsoll_wire::rpc;

use super::{Answer, Link, Output, Pending, Waiting};
use crate::names::{Handles, Object};

/// Operations of a compound that get rows, at most; real ones have a dozen.
const MEMBERS_MAX: usize = 128;

const OP_CREATE: u32 = 6;
const OP_LOOKUP: u32 = 15;
const OP_OPEN: u32 = 18;
const OP_PUTFH: u32 = 22;
const OP_PUTROOTFH: u32 = 24;
const OP_RESTOREFH: u32 = 31;
const OP_SAVEFH: u32 = 32;

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    code: u32,
    position: u16,
    procedure: Procedure,
    object: Object,
    payload: Option<u64>,
}

impl Member {
    /// The member as a request of its own.
    pub(super) fn pending(&self, whole: &Pending) -> Pending {
        Pending {
            procedure: self.procedure,
            held: false,
            bytes: None,
            compound_position: Some(self.position),
            payload: self.payload,
            share: self.object.share,
            path: self.object.path,
            ..whole.clone()
        }
    }
}

/// Notes the operations of a call, following the current file handle through them.
pub(super) fn note<S: Sink>(waiting: &mut Waiting, arguments: &[u8], handles: &mut Handles, output: &mut Output<S>) {
    let callback = rpc::is_transient(waiting.program);
    let call = if callback { CompoundCall::callback(arguments) } else { CompoundCall::new(arguments) };
    let (mut current, mut saved) = (Object::default(), Object::default());
    for operation in call.operations().take(MEMBERS_MAX) {
        let facts = operation.facts;
        match (operation.code, facts.handle, facts.name) {
            _ if callback => {}
            (OP_PUTFH, Some(handle), _) => current = handles.object(handle, &mut output.names),
            (OP_PUTFH, None, _) => current = Object::default(),
            (OP_PUTROOTFH, ..) => current = Object { path: output.names.intern("/"), ..Object::default() },
            (OP_LOOKUP | OP_OPEN | OP_CREATE, _, Some(name)) => {
                current = handles.child(current, name, &mut output.names).object;
            }
            (OP_LOOKUP, _, None) => current = Object::default(),
            (OP_SAVEFH, ..) => saved = current,
            (OP_RESTOREFH, ..) => current = saved,
            _ => {}
        }
        waiting.members.push(Member {
            code: operation.code,
            position: operation.position as u16,
            procedure: procedure(callback, operation.code),
            object: current,
            payload: facts.payload.map(u64::from),
        });
    }
    // The whole is named after what it ends on.
    waiting.pending.share = current.share;
    waiting.pending.path = current.path;
    waiting.pending.payload = waiting.members.iter().find_map(|member| member.payload);
}

/// Pairs a compound and each of its operations.
pub(super) fn pair<S: Sink>(
    waiting: &Waiting,
    results: Option<&[u8]>,
    answer: &mut Answer,
    id: u64,
    link: &Link,
    handles: &mut Handles,
    output: &mut Output<S>,
) {
    let callback = rpc::is_transient(waiting.program);
    let mut members: Vec<(Member, Answer)> = Vec::new();
    let reply = results.map(|bytes| if callback { CompoundReply::callback(bytes) } else { CompoundReply::new(bytes) });
    if let Some(reply) = reply {
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
                payload: None,
            });
            if let Some(handle) = operation.facts.handle
                && member.object.path.is_some()
            {
                handles.learn(handle, member.object);
            }
            let status = operation.facts.status;
            let outcome = if status.is_some_and(|status| status != 0) { Outcome::Refused } else { Outcome::Succeeded };
            let payload = operation.facts.payload.map(u64::from);
            members.push((member, Answer { status, outcome, payload, bytes: None, ..*answer }));
        }
        answer.status = reply.status;
        if reply.status.is_some_and(|status| status != 0) {
            answer.outcome = Outcome::Refused;
        }
    }
    answer.payload = members.iter().find_map(|(_, answer)| answer.payload);
    output.pair(link, Some(id), &waiting.pending, answer);
    // Operations behind a READ's payload have no result that was kept. A compound that succeeded carried them all out.
    let whole_succeeded = reply.is_some_and(|reply| reply.status == Some(0));
    if whole_succeeded {
        for member in waiting.members.iter().skip(members.len()) {
            members.push((*member, Answer { status: Some(0), payload: None, bytes: None, ..*answer }));
        }
    }
    for (member, answer) in &members {
        output.pair_member(link, Some(id), &member.pending(&waiting.pending), answer);
    }
}

fn procedure(callback: bool, code: u32) -> Procedure {
    let protocol = if callback { Protocol::Nfs4Callback } else { Protocol::Nfs4 };
    // 0 and 1 are the procedures NULL and COMPOUND, no operations.
    let code = if code < 3 { u16::MAX } else { u16::try_from(code).unwrap_or(u16::MAX) };
    Procedure::of(protocol, code)
}
