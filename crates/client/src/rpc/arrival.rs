//! A message that arrived.

use plimsoll_model::Outcome;

use crate::calls::Ending;
use crate::operation::Cause;

/// A message that arrived, whole or in part.
#[derive(Debug)]
pub(crate) struct Arrival<'a> {
    /// The stored part of the message, without record marks.
    pub(crate) kept: &'a [u8],
    /// Length of the whole message.
    pub(crate) length: usize,
    /// Times of the first and last byte, ns.
    pub(crate) at: (i64, i64),
}

impl Arrival<'_> {
    /// How a call ends whose answer is not the server's, or refuses the Kerberos context.
    pub(crate) fn rejects(&self, cause: Cause) -> Ending {
        let outcome = if cause == Cause::LogonRefused { Outcome::Refused } else { Outcome::Failed };
        let (answered, response_bytes) = (Some(self.at), Some(self.length as u64));
        Ending { answered, status: None, outcome, response_bytes, payload_bytes: None }
    }
}
