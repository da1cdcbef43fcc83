//! Transactions in several messages, both ways.
//!
//! Spec: MS-CIFS 2.2.4.33, 2.2.4.34

use plimsoll_model::Outcome;
use plimsoll_wire::smb1::andx::Link as Command;
use plimsoll_wire::smb1::transaction::{Progress, Transaction};
use serde::{Deserialize, Serialize};

use crate::message::Message;
use crate::pairing::Answer;
use crate::pairing::request::{both, later};

/// How much of a transaction was seen.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Parts {
    #[serde(with = "crate::hand_over::progress")]
    asked: Progress,
    #[serde(with = "crate::hand_over::progress")]
    answered: Progress,
    /// Whether the whole request was captured; `None` if it is not a transaction, or its counts were cut off.
    complete: Option<bool>,
    /// Its last part was captured; earlier parts may be missing.
    end_seen: bool,
}

impl Parts {
    pub(super) fn of_request(command: &Command<'_>) -> Self {
        let mut parts = Self::default();
        parts.add_request(command);
        parts
    }

    /// Adds a message of the request.
    pub(super) fn add_request(&mut self, command: &Command<'_>) {
        let Some(transaction) = Transaction::new(command) else { return };
        self.complete = Some(self.asked.add(&transaction));
        self.end_seen = transaction.reaches_end();
    }

    /// Whether the whole request was seen.
    pub(super) fn request_complete(&self) -> bool {
        self.complete == Some(true)
    }

    /// Whether the request's last byte was seen, as far as its counts tell.
    pub(super) fn request_end_seen(&self) -> bool {
        self.complete != Some(false) || self.end_seen
    }

    /// Adds a message of the answer to `answer`; whether it was the last.
    pub(super) fn add_response(
        &mut self,
        answer: &mut Option<Answer>,
        command: &Command<'_>,
        message: &Message<'_>,
        (status, outcome): (Option<u32>, Outcome),
    ) -> bool {
        // An error has no counts, and nothing follows it.
        let done = Transaction::new(command)
            .is_none_or(|transaction| self.answered.add(&transaction) || transaction.reaches_end());
        match answer {
            None if done => {}
            None => *answer = Some(Answer::of(message, status, outcome)),
            Some(answer) => {
                answer.last = later(answer.last, message.last);
                answer.resent_wait_ns = both(answer.resent_wait_ns, message.resent_wait_ns);
                answer.bytes = answer.bytes.map(|bytes| bytes + message.len);
                answer.packets = answer.packets.saturating_add(message.packets);
                if outcome != Outcome::Succeeded {
                    (answer.status, answer.outcome) = (status, outcome);
                }
            }
        }
        done
    }
}
