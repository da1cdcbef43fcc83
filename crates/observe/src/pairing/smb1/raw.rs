//! Raw reads and writes: blocks of data without a header, recognised only by the messages before them.
//!
//! A raw write is reported in two parts, as in Swartz (1997): the request with the answer that asks for the block, which has a response
//! time, and the block. Usually the block has no answer; its row then has no answer and is not counted as an unanswered request. In
//! write-through mode WRITE_COMPLETE answers the block.
//!
//! Spec: MS-CIFS 2.2.4.22, 2.2.4.25, 3.2.4.14, 3.2.4.15

use plimsoll_model::{Anomaly, Asked, Outcome, Procedure, Sink};
use plimsoll_wire::smb1::andx::Link as Command;
use plimsoll_wire::smb1::command;
pub(super) use plimsoll_wire::smb1::raw::WriteRaw;
use plimsoll_wire::smb1::raw::{self, Answer as RawAnswer};
use serde::{Deserialize, Serialize};

use super::arrival::{Arrival, Fields};
use super::exchange::Exchange;
use super::row::{Binding, Row, shown};
use super::{Answer, ConnectionContext, Output, Pending, Smb1};
use crate::message::Message;

/// The expected blocks: one per direction, because a client sends no other request meanwhile.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Raw {
    read: Option<Read>,
    write: Option<Write>,
}

/// A READ_RAW that waits for its block.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Read {
    id: u64,
    direction: usize,
    /// The client has sent no other request since. Otherwise the block was not captured, and these bytes are not a block.
    open: bool,
}

/// A WRITE_RAW whose block was asked for.
#[derive(Debug, Serialize, Deserialize)]
struct Write {
    id: u64,
    tid: u16,
    uid: u16,
    request: Pending,
    #[serde(with = "crate::hand_over::write_raw")]
    asked: WriteRaw,
}

impl Raw {
    /// Whether a block may come in this direction.
    #[inline]
    pub(super) fn expects(&self, direction: usize) -> bool {
        self.read.is_some_and(|read| read.open && read.direction != direction)
            || self.write.as_ref().is_some_and(|write| usize::from(write.request.direction) == direction)
    }

    /// The client asked for a block.
    pub(super) fn read_asked(&mut self, id: u64, direction: usize) {
        self.read = Some(Read { id, direction, open: true });
    }

    /// The client sent another request: blocks that have not come are not to come any more.
    pub(super) fn client_went_on(&mut self, direction: usize) {
        if self.write.as_ref().is_some_and(|write| usize::from(write.request.direction) == direction) {
            self.write = None;
        }
        if let Some(read) = self.read.as_mut().filter(|read| read.direction == direction) {
            read.open = false;
        }
    }

    /// A request got its answer: perhaps a WRITE_RAW may send its block now.
    pub(super) fn answered(&mut self, exchange: &Exchange, answer: &Command<'_>) {
        if let (Some(asked), Some(RawAnswer::Interim { .. })) = (exchange.write_raw, raw::answer(answer)) {
            let Exchange { id, tid, uid, .. } = *exchange;
            self.write = Some(Write { id, tid, uid, request: exchange.first.pending.clone(), asked });
        }
    }
}

impl Smb1 {
    /// Takes a block without a header.
    pub(super) fn block<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        output: &mut Output<S>,
    ) {
        let written = self.raw.write.take_if(|write| usize::from(write.request.direction) == direction);
        if let Some(write) = written {
            return self.block_written(write, message, direction, context, output);
        }
        match self.raw.read.take_if(|read| read.direction != direction) {
            Some(read) => self.block_read(read, message, direction, context, output),
            None => output.anomalies.add(Anomaly::BytesUnrecognised),
        }
    }

    /// Handles the answer to a READ_RAW. It has no status: an empty one means end of file or error, and the client must send another
    /// request to find out which. It counts as an answer without data.
    fn block_read<S: Sink>(
        &mut self,
        read: Read,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        output: &mut Output<S>,
    ) {
        let waits = self.waiting.get_mut(read.id).filter(|exchange| exchange.awaits(command::READ_RAW, direction));
        let Some(exchange) = waits else { return output.orphan(context, direction) };
        let fields = Fields { id: read.id, tid: exchange.tid, uid: exchange.uid, is_response: true };
        if !exchange.is_acknowledged(&Arrival { message, fields, direction, context }) {
            // The block of an earlier READ_RAW that was lost to us.
            self.raw.read = Some(read);
            output.anomalies.add(Anomaly::ResponseMismatch);
            return output.orphan(context, direction);
        }
        let ambiguous = exchange.is_ambiguous(message, context);
        let Some(exchange) = self.waiting.remove(read.id, &mut output.waiting) else { return };
        if ambiguous {
            return exchange.withhold(output);
        }
        let answer = Answer { payload: Some(message.len), ..Answer::of(message, None, Outcome::Succeeded) };
        output.pair(context, Some(shown(read.id)), &exchange.first.pending, &answer);
    }

    /// The block of a WRITE_RAW.
    fn block_written<S: Sink>(
        &mut self,
        write: Write,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        output: &mut Output<S>,
    ) {
        let Write { id, tid, uid, request, asked } = write;
        if message.len > u64::from(asked.block_len()) {
            output.anomalies.add(Anomaly::MessageMalformed);
            return;
        }
        let Pending { session, share, path, user, asked: Asked { file, .. }, .. } = request;
        let block = Pending::of(message, direction, context, Procedure::write_raw_async());
        let block = Pending {
            payload: Some(message.len),
            session,
            share,
            path,
            user,
            asked: Asked { file, ..Asked::default() },
            ..block
        };
        if !asked.expects_final() {
            return output.unanswered_member(context, Some(shown(id)), &block);
        }
        let fields = Fields { id, tid, uid, is_response: false };
        let row = Row { pending: block, command: command::WRITE_RAW, binding: Binding::None };
        self.wait(Exchange::new(fields, (row, Vec::new())), context, output);
    }
}
