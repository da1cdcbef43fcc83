//! SMB 1 by PID and MID.
//!
//! MIDs come round again (after a thousand requests with some clients), so an id is not enough: an answer must have
//! the command, the tree and the user of its request, and its packet must acknowledge the request's last byte. After
//! losses both ways even that may fit the answer to another request, and the request is left unpaired.
//!
//! Spec: MS-CIFS 2.2.1.6, 3.2.4.1, 3.3.4.1

mod acknowledgements;
mod arrival;
mod bodies;
mod due;
mod early;
mod ending;
mod exchange;
mod ids;
mod oplock_breaks;
mod parts;
mod raw;
mod row;
#[cfg(test)]
mod tests;

use plimsoll_model::{Anomaly, Outcome, Procedure, Protocol, Sink};
use plimsoll_wire::smb1::andx::{Chain, Link as Command};
use plimsoll_wire::smb1::{command, session, transaction};
use plimsoll_wire::smb2;
use serde::{Deserialize, Serialize};

use super::pending::Displaced;
use super::request::{both, later};
use super::smb2::outcome as nt_outcome;
use super::{Answer, ConnectionContext, LastUse, Output, Pending, PendingTable, Role};
use crate::message::{Content, Message};
use crate::missing::Ids as MessageIds;
use acknowledgements::{Acknowledgements, is_acknowledgement};
use arrival::{Arrival, Fields};
use early::Early;
use ending::ending;
use exchange::{Exchange, answers};
use ids::Ids;
pub(crate) use oplock_breaks::OplockBreaks;
use parts::Parts;
use row::{Binding, Row, shown};

/// The SMB1 requests of one connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Smb1 {
    waiting: PendingTable<Exchange>,
    early: Early,
    ids: Ids,
    raw: raw::Raw,
    acknowledgements: Acknowledgements,
    /// A NEGOTIATE that waits, which may be answered in SMB2.
    negotiate: Option<u64>,
    /// MIDs of requests.
    mids: MessageIds,
    last: LastUse,
}

impl Smb1 {
    /// Takes a message that went in `direction`.
    pub fn message<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        output: &mut Output<S>,
    ) -> Role {
        if message.content == Content::Raw {
            self.block(message, direction, context, output);
            return Role::Response;
        }
        let Some(mut chain) = Chain::new(message.bytes, usize::try_from(message.len).unwrap_or(usize::MAX)) else {
            output.unread(Anomaly::MessageMalformed);
            return Role::Response;
        };
        let header = chain.header();
        let Some(fields) = Fields::of(&header) else {
            output.anomalies.add(Anomaly::HeaderCutShort);
            return if header.is_response() == Some(false) { Role::Request } else { Role::Response };
        };
        let arrival = Arrival { message, fields, direction, context };
        if header.is_unsolicited() == Some(true) && header.command() == Some(command::LOCKING_ANDX) {
            // The server's notice that an oplock is broken.
            output.one_way += 1;
            if let Some(broken) = chain.next() {
                output.oplock_breaks.notified(&broken, &arrival, &self.ids);
            }
            return Role::OneWay;
        }
        if fields.is_response {
            self.response(&mut chain, &arrival, output);
        } else {
            self.request(&mut chain, &arrival, output);
        }
        if chain.malformed() {
            output.unread(Anomaly::MessageMalformed);
        }
        if fields.is_response { Role::Response } else { Role::Request }
    }

    /// Whether a block without a header may come in this direction.
    #[inline]
    pub fn expects_raw(&self, direction: usize) -> bool {
        self.raw.expects(direction)
    }

    /// Whether `message` is the SMB2 answer to a waiting SMB1 NEGOTIATE. It is then handed on as the answer.
    ///
    /// Spec: MS-SMB2 3.3.5.3.1
    pub fn is_negotiated_in_smb2<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        output: &mut Output<S>,
    ) -> bool {
        let Some(id) = self.negotiate else { return false };
        let Some(header) = smb2::header::Header::new(message.bytes) else { return false };
        let answers = header.is_response()
            && header.command() == smb2::Command::Negotiate
            && header.message_id().map_or(header.message_id_low16() == 0, |id| id == 0);
        let waits = self.waiting.get_mut(id).is_some_and(|exchange| exchange.awaits(command::NEGOTIATE, direction));
        if !answers || !waits {
            return false;
        }
        self.negotiate = None;
        if let Some(exchange) = self.waiting.remove(id, &mut output.waiting) {
            let status = header.status();
            let answer = Answer::of(message, status, nt_outcome(status));
            output.pair(context, Some(shown(id)), &exchange.first.pending, &answer);
        }
        true
    }

    /// The MIDs of requests.
    pub(crate) fn ids(&self) -> &MessageIds {
        &self.mids
    }

    /// What the connection was last used for.
    pub(crate) fn last_use(&self) -> LastUse {
        self.last
    }

    /// Whether a request waits for its answer.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Passes the requests without any part of an answer to `take`.
    pub(crate) fn waiting(&self, take: &mut impl FnMut(&Pending)) {
        let exchanges = self.waiting.iter().filter(|exchange| !exchange.has_answer());
        exchanges.flat_map(Exchange::rows).for_each(|row| take(&row.pending));
    }

    /// The connection has ended: the waiting requests were not answered, or not completely.
    pub fn end<S: Sink>(&mut self, context: &ConnectionContext, output: &mut Output<S>) {
        for (_, exchange) in self.waiting.drain(&mut output.waiting) {
            exchange.give_up(context, output);
        }
    }

    fn request<S: Sink>(&mut self, chain: &mut Chain<'_>, arrival: &Arrival<'_, '_>, output: &mut Output<S>) {
        let Arrival { fields, direction, context, .. } = *arrival;
        let Some(first) = chain.next() else { return };
        let primary = command::primary(first.command);
        self.acknowledgements.forget(fields.id);
        output.oplock_breaks.requested(context.connection, &first);
        if command::is_unanswered(first.command) || (first.command == command::ECHO && wants_no_answer(&first)) {
            output.one_way += 1;
            return;
        }
        if primary != first.command && first.command != command::WRITE_COMPLETE {
            self.further_part(&first, primary, arrival);
            return;
        }
        self.mids.mid(fields.id as u16, context.breaks[direction]);
        let second = chain.next();
        if second.is_none() && is_acknowledgement(&first) {
            output.one_way += 1;
            let rows = self.rows(first, second, chain, arrival, output);
            self.acknowledgements.add(Exchange::new(fields, rows));
            return;
        }
        self.raw.client_went_on(direction);
        let rows = self.rows(first, second, chain, arrival, output);
        let mut exchange = Exchange::new(fields, rows);
        let pending = &exchange.first.pending;
        self.last.request(pending.procedure, pending.first.time_ns, first.command == command::ECHO);
        exchange.parts = Parts::of_request(&first);
        match first.command {
            command::NEGOTIATE => self.negotiate = Some(fields.id),
            command::READ_RAW => self.raw.read_asked(fields.id, direction),
            command::WRITE_RAW => exchange.write_raw = raw::WriteRaw::new(&first),
            _ => {}
        }
        if let Some(answered_ns) = self.early.take(fields.id, arrival.message.end_offset) {
            output.answered_before(&exchange.first.pending, answered_ns);
            output.anomalies.add(Anomaly::NegativeTime);
            return exchange.give_up(context, output);
        }
        self.wait(exchange, context, output);
    }

    /// A request begins to wait.
    fn wait<S: Sink>(&mut self, exchange: Exchange, context: &ConnectionContext, output: &mut Output<S>) {
        let before = self.waiting.get_mut(exchange.id).filter(|_| exchange.first.command == command::NEGOTIATE);
        let holes = context.holes;
        if before.is_some_and(|old| old.first.command == command::NEGOTIATE && old.first.pending.holes == holes) {
            // A server answers the first one only.
            output.anomalies.add(Anomaly::IdReused);
            return exchange.give_up(context, output);
        }
        match self.waiting.insert(exchange.id, exchange, &mut output.waiting) {
            Some(Displaced::SameId(_, old)) => {
                output.anomalies.add(Anomaly::IdReused);
                old.give_up(context, output);
            }
            Some(Displaced::Oldest(_, old)) => {
                output.anomalies.add(Anomaly::PendingEvicted);
                old.give_up(context, output);
            }
            None => {}
        }
    }

    /// The rows of a request: one for each command of its chain.
    fn rows<'a, S: Sink>(
        &self,
        first: Command<'a>,
        second: Option<Command<'a>>,
        chain: &mut Chain<'a>,
        arrival: &Arrival<'_, '_>,
        output: &mut Output<S>,
    ) -> (Row, Vec<Row>) {
        let mut passed = bodies::PassedIds::default();
        let alone = second.is_none();
        let mut row = |command: &Command<'_>, end: u64, output: &mut Output<S>| {
            let procedure = Procedure::of(Protocol::Smb1, u16::from(command.command));
            if procedure.is_unknown() {
                output.anomalies.add(Anomaly::ProcedureUnknown);
            }
            let mut pending = Pending::of(arrival.message, arrival.direction, arrival.context, procedure);
            pending.compound_position = (!alone).then_some(command.position);
            pending.bytes = Some(own_part(command, end));
            let mut row = Row { pending, command: command.command, binding: Binding::None };
            bodies::note_request(&mut row, command, &arrival.fields, arrival.context, &self.ids, &mut passed, output);
            row
        };
        let len = arrival.message.len;
        let mut head = row(&first, second.map_or(len, |next| next.offset as u64), output);
        let (mut rest, mut next) = (Vec::new(), second);
        while let Some(command) = next {
            next = chain.next();
            rest.push(row(&command, next.map_or(len, |next| next.offset as u64), output));
        }
        if head.pending.long_lived || rest.iter().any(|row| row.pending.long_lived) {
            // One message answers the whole chain, so all its commands wait for the one that waits.
            head.pending.long_lived = true;
            rest.iter_mut().for_each(|row| row.pending.long_lived = true);
        }
        (head, rest)
    }

    /// A further part of a request. Without its first part it is nothing: the answer will be counted as an orphan.
    fn further_part(&mut self, part: &Command<'_>, primary: u8, arrival: &Arrival<'_, '_>) {
        let Arrival { message, fields, direction, context } = *arrival;
        let Some(exchange) = self.waiting.get_mut(fields.id) else { return };
        let same = exchange.first.command == primary
            && usize::from(exchange.first.pending.direction) == direction
            && (exchange.tid, exchange.uid) == (fields.tid, fields.uid)
            && !exchange.first.pending.is_ambiguous(context);
        if !same {
            return;
        }
        let pending = &mut exchange.first.pending;
        pending.last = later(pending.last, message.last);
        pending.resent_wait_ns = both(pending.resent_wait_ns, message.resent_wait_ns);
        pending.bytes = pending.bytes.map(|bytes| bytes + message.len);
        pending.packets = pending.packets.saturating_add(message.packets);
        pending.end_offset = message.end_offset;
        exchange.parts.add_request(part);
    }

    fn response<S: Sink>(&mut self, chain: &mut Chain<'_>, arrival: &Arrival<'_, '_>, output: &mut Output<S>) {
        let Arrival { message, fields, direction, context } = *arrival;
        let Some(first) = chain.next() else { return };
        if first.command == command::ECHO && session::echo_number(&first).is_some_and(|number| number > 1) {
            // One request, many answers: the first one is the pair.
            output.one_way += 1;
            return;
        }
        let Some(exchange) = self.waiting.get_mut(fields.id) else {
            if let Some(refused) = self.acknowledgements.take_refused(first.command, arrival) {
                // It is an operation, and no one-way message.
                output.one_way = output.one_way.saturating_sub(1);
                return self.finish(refused, first, chain, arrival, output);
            }
            self.early.add(fields.id, message.acknowledges, message.first.time_ns);
            return self.orphan(first, chain, direction, context, output);
        };
        if !exchange.is_answered_by(first.command, arrival) {
            output.anomalies.add(Anomaly::ResponseMismatch);
            self.early.add(fields.id, message.acknowledges, message.first.time_ns);
            return self.orphan(first, chain, direction, context, output);
        }
        if exchange.is_ambiguous(message, context) {
            if let Some(old) = self.waiting.remove(fields.id, &mut output.waiting) {
                old.withhold(output);
            }
            return;
        }
        if transaction::is_interim(&first) && !exchange.parts.request_complete() {
            return;
        }
        let (status, outcome) = ending(&first.header());
        if !exchange.parts.request_end_seen() && outcome != Outcome::Refused {
            // The server has it all, so its last part was lost to us. (It may refuse before it has all.)
            exchange.first.pending.last = None;
        }
        if !exchange.parts.add_response(&mut exchange.answer, &first, message, (status, outcome)) {
            return;
        }
        let Some(exchange) = self.waiting.remove(fields.id, &mut output.waiting) else { return };
        self.finish(exchange, first, chain, arrival, output);
    }

    /// Hands on an exchange with its final answer.
    fn finish<'a, S: Sink>(
        &mut self,
        mut exchange: Exchange,
        first: Command<'a>,
        chain: &mut Chain<'a>,
        arrival: &Arrival<'_, '_>,
        output: &mut Output<S>,
    ) {
        let Arrival { message, context, .. } = *arrival;
        let (status, outcome) = ending(&first.header());
        self.raw.answered(&exchange, &first);
        self.last.response(&exchange.first.pending, message, first.command == command::ECHO);
        let id = Some(shown(exchange.id));
        let partial = exchange.answer.take();
        let (mut next, mut cut) = (Some(first), false);
        for row in exchange.rows_mut() {
            let command = next.take();
            let Some(command) = command.filter(|command| answers(command.command, row.command)) else {
                if cut && outcome == Outcome::Succeeded {
                    // The rest of the answer was not captured, but the chain's status covers it.
                    let answer = Answer { bytes: None, ..Answer::of(message, status, outcome) };
                    output.pair(context, id, &row.pending, &answer);
                } else {
                    output.not_carried_out(context, id, &row.pending);
                }
                continue;
            };
            next = chain.next();
            // The status is that of the last command carried out; the commands before it succeeded.
            let (status, outcome) =
                if next.is_some() { (status.map(|_| 0), Outcome::Succeeded) } else { (status, outcome) };
            let mut answer = partial.unwrap_or_else(|| Answer::of(message, status, outcome));
            if partial.is_none() {
                answer.bytes = Some(own_part(&command, next.map_or(message.len, |next| next.offset as u64)));
            }
            bodies::note_response(row, &command, &arrival.fields, context, &mut answer, &mut self.ids);
            output.pair(context, id, &row.pending, &answer);
            cut = next.is_none() && (message.bytes.len() as u64) < message.len;
        }
    }

    /// Handles an answer without a captured request: each command of its chain is half an operation. An id that it opened loses its old
    /// meaning.
    fn orphan<S: Sink>(
        &mut self,
        first: Command<'_>,
        chain: &mut Chain<'_>,
        direction: usize,
        context: &ConnectionContext,
        output: &mut Output<S>,
    ) {
        let mut next = Some(first);
        while let Some(command) = next {
            self.ids.forget_answered(&command);
            output.orphan(context, direction);
            next = chain.next();
        }
    }
}

/// Size of a command's own part of its message that ends at `end`; the header belongs to the first.
fn own_part(command: &Command<'_>, end: u64) -> u64 {
    let start = if command.position == 0 { 0 } else { command.offset as u64 };
    end.saturating_sub(start)
}

fn wants_no_answer(echo: &Command<'_>) -> bool {
    session::echo_number(echo) == Some(0)
}
