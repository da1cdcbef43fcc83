//! State of a waiting request message: its rows, and the parts so far.

use plimsoll_model::{Anomaly, Sink};
use plimsoll_wire::smb1::command;
use plimsoll_wire::smb1::raw::WriteRaw;
use serde::{Deserialize, Serialize};

use super::arrival::{Arrival, Fields};
use super::parts::Parts;
use super::row::{Row, shown};
use crate::message::Message;
use crate::pairing::{Answer, ConnectionContext, Output};

/// A request message that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Exchange {
    pub(super) id: u64,
    pub(super) tid: u16,
    pub(super) uid: u16,
    pub(super) first: Row,
    /// The further commands of an AndX chain.
    pub(super) rest: Vec<Row>,
    /// How much of a transaction was seen.
    pub(super) parts: Parts,
    /// The parts of the answer so far.
    pub(super) answer: Option<Answer>,
    /// The raw write that it begins.
    #[serde(with = "crate::hand_over::maybe_write_raw")]
    pub(super) write_raw: Option<WriteRaw>,
}

impl Exchange {
    pub(super) fn new(fields: Fields, (first, rest): (Row, Vec<Row>)) -> Self {
        let Fields { id, tid, uid, .. } = fields;
        Self { id, tid, uid, first, rest, parts: Parts::default(), answer: None, write_raw: None }
    }

    /// All rows, in the order of the chain.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// The same, to be completed.
    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        std::iter::once(&mut self.first).chain(&mut self.rest)
    }

    /// Whether a part of the answer has come.
    pub(super) fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// Whether this is a request with a command that an answer in `direction` may be for.
    pub(super) fn awaits(&self, command: u8, direction: usize) -> bool {
        self.first.command == command && usize::from(self.first.pending.direction) != direction
    }

    /// Whether an answer is consistent with this request.
    pub(super) fn is_answered_by(&self, command: u8, arrival: &Arrival<'_, '_>) -> bool {
        let Arrival { fields, direction, .. } = *arrival;
        let same_ids = (self.tid, self.uid) == (fields.tid, fields.uid) || self.changes_ids();
        let opposite = usize::from(self.first.pending.direction) != direction;
        // The further parts of an answer begun in time are in time.
        answers(command, self.first.command)
            && same_ids
            && opposite
            && (self.answer.is_some() || self.is_acknowledged(arrival))
    }

    /// Whether the answer's packet acknowledges the request's last byte: no server answers a request before it has received all of it.
    pub(super) fn is_acknowledged(&self, arrival: &Arrival<'_, '_>) -> bool {
        let (has, needs) = (arrival.message.acknowledges, self.first.pending.end_offset);
        has == 0 || needs == 0 || has >= needs
    }

    /// Whether losses both ways make its id worthless. An answer that has begun has settled that, and one whose packet acknowledges
    /// the request and nothing behind it: no later request with this id had reached the server by then.
    pub(super) fn is_ambiguous(&self, message: &Message<'_>, context: &ConnectionContext) -> bool {
        let nothing_behind = message.acknowledges != 0 && message.acknowledges == self.first.pending.end_offset;
        self.answer.is_none() && !nothing_behind && self.first.pending.is_ambiguous(context)
    }

    /// Counts the commands of this request and writes no row: the answer that came may belong to another request,
    /// so nobody knows whether and when this one was answered.
    pub(super) fn withhold<S: Sink>(&self, output: &mut Output<S>) {
        for _ in self.rows() {
            output.anomalies.add(Anomaly::PairAmbiguous);
            output.tally.others().requests_after_gap += 1;
        }
    }

    /// No (further) answer will come.
    pub(super) fn give_up<S: Sink>(&self, context: &ConnectionContext, output: &mut Output<S>) {
        let id = Some(shown(self.id));
        if let Some(answer) = self.answer {
            return output.pair(context, id, &self.first.pending, &Answer { last: None, ..answer });
        }
        for row in self.rows() {
            output.unanswered(context, id, &row.pending);
        }
    }

    /// Whether the answer gives a new tree or user id.
    fn changes_ids(&self) -> bool {
        self.rows().any(|row| {
            matches!(
                row.command,
                command::NEGOTIATE
                    | command::SESSION_SETUP_ANDX
                    | command::LOGOFF_ANDX
                    | command::TREE_CONNECT
                    | command::TREE_CONNECT_ANDX
            )
        })
    }
}

/// Whether an answer's command answers a request's: WRITE_COMPLETE ends a WRITE_RAW.
pub(super) fn answers(answer: u8, request: u8) -> bool {
    command::primary(answer) == request
}
