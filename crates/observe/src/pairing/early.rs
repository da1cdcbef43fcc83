//! Answers that were captured before their requests: where the two directions have different clocks, or came through different queues.
//!
//! An answer acknowledges the bytes of its request, so a request that comes later, with the same id and within these bytes, is its.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Answer;

/// Maximum number of answers that wait for their requests: as many as a client has outstanding within the offset of two clocks.
const EARLY_MAX: usize = 1024;

/// An answer without a request so far.
#[derive(Debug, Serialize, Deserialize)]
struct One {
    id: u64,
    command: u16,
    /// Offset in the stream of requests up to which the server had all bytes.
    acknowledges: u64,
    answer: Answer,
}

/// Answers without a request so far, in the order of their capture.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Early(VecDeque<One>);

impl Early {
    /// An answer found no request.
    #[cold]
    pub(super) fn add(&mut self, id: u64, command: u16, acknowledges: u64, answer: Answer) {
        if self.0.len() == EARLY_MAX {
            self.0.pop_front();
        }
        self.0.push_back(One { id, command, acknowledges, answer });
    }

    /// Takes the answer to a request that ends at this offset, if it has passed.
    #[inline]
    pub(super) fn take(&mut self, id: u64, command: u16, end_offset: u64) -> Option<Answer> {
        if self.0.is_empty() { None } else { self.find(id, command, end_offset) }
    }

    #[cold]
    fn find(&mut self, id: u64, command: u16, end_offset: u64) -> Option<Answer> {
        // The requests of earlier bytes have passed, so nothing waits for them any more.
        while self.0.front().is_some_and(|one| one.acknowledges < end_offset) {
            self.0.pop_front();
        }
        let is_it = |one: &One| (one.id, one.command) == (id, command) && one.acknowledges >= end_offset;
        let at = self.0.iter().position(is_it)?;
        self.0.remove(at).map(|one| one.answer)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Outcome;

    use super::*;
    use crate::packet::Stamp;

    fn answer(frame: u64) -> Answer {
        let first = Stamp { time_ns: 5, frame };
        Answer {
            first,
            last: Some(first),
            bytes: None,
            packets: 1,
            resent_wait_ns: None,
            status: None,
            payload: None,
            outcome: Outcome::Succeeded,
        }
    }

    #[test]
    fn an_answer_is_that_of_a_request_whose_bytes_it_acknowledges() {
        let mut early = Early::default();
        let frame = |found: Option<Answer>| found.map(|answer| answer.first.frame);
        early.add(1, 8, 100, answer(1));
        early.add(2, 8, 200, answer(2));
        early.add(3, 8, 300, answer(3));
        assert_eq!(frame(early.take(2, 8, 150)), Some(2));
        assert_eq!(frame(early.take(1, 8, 150)), None, "a later request with the same id");
        assert_eq!(frame(early.take(3, 9, 250)), None, "another command");
        assert_eq!(frame(early.take(3, 8, 300)), Some(3));
        assert_eq!(frame(early.take(3, 8, 300)), None);
        assert!(early.0.is_empty());
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut early = Early::default();
        (0..5_000).for_each(|id| early.add(id, 0, id, answer(id)));
        assert_eq!(early.0.len(), EARLY_MAX);
        assert!(early.take(3_000, 0, 1).is_none() && early.take(4_999, 0, 1).is_some());
    }
}
