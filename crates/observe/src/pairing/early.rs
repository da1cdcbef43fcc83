//! Answers that were captured before their requests: where the two directions have different clocks, or came through different queues.
//!
//! An answer acknowledges the bytes of its request, so a request that comes later, with the same id and within these bytes, is its.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Answer;

/// Maximum number of answers that wait for their requests on a connection, 17 KiB: enough to show two clocks whose offset is up to a
/// hundred times as long as this many requests take.
const EARLY_MAX: usize = 128;
/// The same on all connections together, 2.2 MB: a mirror port that delivers only one direction fills every connection's share.
const ALL_MAX: u32 = 16_384;

/// An answer without a request so far.
#[derive(Debug, Serialize, Deserialize)]
struct One {
    id: u64,
    command: u16,
    /// Offset in the stream of requests up to which the server had all bytes.
    acknowledges: u64,
    answer: Answer,
    /// It was counted as one without a request.
    is_orphan: bool,
}

/// How many answers wait on all connections.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct EarlyCount(u32);

/// Answers without a request so far, in the order of their capture.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Early(VecDeque<One>);

impl Early {
    /// An answer found no request, and was counted as an orphan or not. With too many of them the first ones stay, because their requests
    /// come first.
    #[cold]
    pub(super) fn add(
        &mut self,
        (id, command): (u64, u16),
        acknowledges: u64,
        (answer, is_orphan): (Answer, bool),
        all: &mut EarlyCount,
    ) {
        if self.0.len() < EARLY_MAX && all.0 < ALL_MAX {
            self.0.push_back(One { id, command, acknowledges, answer, is_orphan });
            all.0 += 1;
        }
    }

    /// Takes the answer to a request that ends at this offset, if it has passed, and whether it was counted as an orphan.
    #[inline]
    pub(super) fn take(&mut self, key: (u64, u16), end_offset: u64, all: &mut EarlyCount) -> Option<(Answer, bool)> {
        if self.0.is_empty() { None } else { self.find(key, end_offset, all) }
    }

    #[cold]
    fn find(&mut self, key: (u64, u16), end_offset: u64, all: &mut EarlyCount) -> Option<(Answer, bool)> {
        // The requests of earlier bytes have passed, so nothing waits for them any more.
        while self.0.front().is_some_and(|one| one.acknowledges < end_offset) {
            self.0.pop_front();
            all.0 = all.0.saturating_sub(1);
        }
        let is_it = |one: &One| (one.id, one.command) == key && one.acknowledges >= end_offset;
        let found = self.0.iter().position(is_it).and_then(|at| self.0.remove(at));
        all.0 = all.0.saturating_sub(u32::from(found.is_some()));
        if self.0.is_empty() {
            // Its memory was for as many as ever waited.
            self.0 = VecDeque::new();
        }
        found.map(|one| (one.answer, one.is_orphan))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops all: the connection has ended, or is idle.
    pub(super) fn clear(&mut self, all: &mut EarlyCount) {
        let dropped = u32::try_from(std::mem::take(&mut self.0).len()).unwrap_or(u32::MAX);
        all.0 = all.0.saturating_sub(dropped);
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
        let (mut early, mut all) = (Early::default(), EarlyCount::default());
        (1..=3).for_each(|id| early.add((id, 8), 100 * id, (answer(id), true), &mut all));
        let mut take = |id, command, end_offset| {
            early.take((id, command), end_offset, &mut all).map(|(answer, _)| answer.first.frame)
        };
        assert_eq!(take(2, 8, 150), Some(2));
        assert_eq!(take(1, 8, 150), None, "a later request with the same id");
        assert_eq!(take(3, 9, 250), None, "another command");
        assert_eq!(take(3, 8, 300), Some(3));
        assert_eq!(take(3, 8, 300), None);
        assert_eq!((early.0.len(), early.0.capacity(), all.0), (0, 0, 0));
    }

    #[test]
    fn what_waits_is_bounded_on_a_connection_and_in_all() {
        let (mut connections, mut all) = (Vec::new(), EarlyCount::default());
        for number in 0..200 {
            let mut early = Early::default();
            (0..500).for_each(|id| early.add((id, 0), id, (answer(id), true), &mut all));
            assert_eq!(early.0.len(), if number < 128 { EARLY_MAX } else { 0 });
            connections.push(early);
        }
        assert_eq!(all.0, ALL_MAX);
        let first = &mut connections[0];
        assert!(first.take((0, 0), 0, &mut all).is_some());
        assert!(first.take((499, 0), 1, &mut all).is_none(), "there was no room for it");
        connections[199].add((7, 0), 7, (answer(7), true), &mut all);
        assert_eq!((connections[199].0.len(), all.0), (1, ALL_MAX), "there is room for one");
        connections.iter_mut().for_each(|early| early.clear(&mut all));
        assert_eq!(all.0, 0);
    }
}
