//! Answers that were captured before their requests: the request that comes then must not wait for the next answer with its id.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Maximum number of remembered early answers: more than a capture has out of order.
const EARLY_MAX: usize = 32;

/// Answers without a request, each with its id, the acknowledged offset in the requests' stream, and its time, ns.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Early(VecDeque<(u64, u64, i64)>);

impl Early {
    /// An answer found no request.
    pub(super) fn add(&mut self, id: u64, acknowledges: u64, time_ns: i64) {
        if self.0.len() == EARLY_MAX {
            self.0.pop_front();
        }
        self.0.push_back((id, acknowledges, time_ns));
    }

    /// When the answer to a request that ends at this offset passed, if it did.
    pub(super) fn take(&mut self, id: u64, end_offset: u64) -> Option<i64> {
        let found = self.0.iter().position(|&(early, acknowledges, _)| early == id && acknowledges >= end_offset);
        self.0.remove(found?).map(|(.., time_ns)| time_ns)
    }
}
