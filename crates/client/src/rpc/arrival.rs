//! A message that arrived.

use std::cell::RefCell;

use plimsoll_model::Outcome;

use super::framing::{marks, unmarked};
use crate::calls::Ending;
use crate::client::Arrived;
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

thread_local! {
    /// One buffer for all clients of a thread, because records of several fragments are rare.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Arrival<'_> {
    /// The message in a record.
    #[inline]
    pub(crate) fn of<T>(record: &Arrived<'_>, take: impl FnOnce(&Arrival<'_>) -> T) -> T {
        let mut scratch = SCRATCH.take();
        let kept = unmarked(record.head, &mut scratch);
        let length = usize::try_from(record.length).unwrap_or(usize::MAX).saturating_sub(marks(record.head));
        let taken = take(&Arrival { kept, length, at: (record.first, record.last) });
        SCRATCH.set(scratch);
        taken
    }

    /// How a call ends whose answer is not the server's, or refuses the Kerberos context.
    pub(crate) fn rejects(&self, cause: Cause) -> Ending {
        let outcome = if cause == Cause::LogonRefused { Outcome::Refused } else { Outcome::Failed };
        let (answered, response_bytes) = (Some(self.at), Some(self.length as u64));
        Ending { answered, status: None, outcome, response_bytes, payload_bytes: None }
    }
}
