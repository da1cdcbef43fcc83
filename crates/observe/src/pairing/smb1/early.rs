//! Answers that were captured before their requests: the request that comes then must not wait for the next answer with its id.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Maximum number of remembered early answers: more than a capture has out of order.
const EARLY_MAX: usize = 32;

/// Answers without a request, each with its id and the acknowledged offset in the requests' stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Early(VecDeque<(u64, u64)>);

impl Early {
    /// An answer found no request.
    pub(super) fn add(&mut self, id: u64, acknowledges: u64) {
        if self.0.len() == EARLY_MAX {
            self.0.pop_front();
        }
        self.0.push_back((id, acknowledges));
    }

    /// Whether the answer to a request that ends at this offset has passed.
    pub(super) fn take(&mut self, id: u64, end_offset: u64) -> bool {
        let found = self.0.iter().position(|&(early, acknowledges)| early == id && acknowledges >= end_offset);
        found.is_some_and(|at| self.0.remove(at).is_some())
    }
}
