//! A request waits for its answer.

use plimsoll_model::{Anomaly, Procedure, Protocol, Sink};
use plimsoll_wire::smb2::Command;

use super::{Part, Smb2, Smb2Shared, Waiting, context};
use crate::pairing::pending::Displaced;
use crate::pairing::{ConnectionContext, Output, Pending};

impl Smb2 {
    pub(super) fn request<S: Sink>(
        &mut self,
        part: &Part<'_, '_>,
        direction: usize,
        context: &ConnectionContext,
        chain: &mut context::Chain,
        shared: &mut Smb2Shared,
        output: &mut Output<S>,
    ) {
        let header = &part.member.header;
        let (key, id) = self.id(header, context, output);
        if header.command() == Command::Cancel {
            output.one_way += 1;
            return;
        }
        self.ids.message_id(key, header.credit_charge(), context.breaks[direction]);
        let is_whole = context.from_start && context.holes == [0; 2];
        self.balance.request(header.credit_charge(), part.message.first.time_ns, is_whole);
        let ends = (context.ends[1 - direction].ip, context.ends[direction].ip);
        output.breaks.requested(part.member, ends, part.message.first.time_ns);
        let command = header.command_code();
        let mut pending = Pending::of(part.message, direction, context, Procedure::of(Protocol::Smb2, command));
        if pending.procedure.is_unknown() {
            output.anomalies.add(Anomaly::ProcedureUnknown);
        }
        self.last.request(pending.procedure, pending.first.time_ns, header.command() == Command::Echo);
        pending.compound_position = part.position;
        pending.bytes = Some(part.member.len as u64);
        let mut waiting = Waiting { pending, command, id, may_wait: false, binding: context::Binding::default() };
        let closed = context::note_request(&mut waiting, key, part.member, context, chain, &shared.names, output);
        if let Some(create) = closed.and_then(|create| self.waiting.get_mut(create)) {
            // Nobody can use its file id later.
            create.binding = context::Binding::None;
        }
        if let Some((answer, is_orphan)) = self.early.take((key, command), part.message.end_offset, &mut output.early) {
            if is_orphan {
                output.answered_before(&waiting.pending, answer.last.unwrap_or(answer.first).time_ns);
            }
            return output.pair(context, id, &waiting.pending, &answer);
        }
        match self.waiting.insert(key, waiting, &mut output.waiting) {
            Some(Displaced::SameId(_, old)) => {
                output.anomalies.add(Anomaly::IdReused);
                output.unanswered(context, old.id, &old.pending);
            }
            Some(Displaced::Oldest(_, old)) => {
                output.anomalies.add(Anomaly::PendingEvicted);
                output.unanswered(context, old.id, &old.pending);
            }
            None => {}
        }
    }
}
