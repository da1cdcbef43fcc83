//! Requests that were captured after their responses.

use serde::{Deserialize, Serialize};

/// Requests that were captured after their responses: the capture has the two directions from different clocks, or out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateRequests {
    /// How many.
    pub count: u64,
    /// The longest time from a response to its request, ns: with two clocks, the least by which they differ.
    pub most_ns: u64,
}

impl LateRequests {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        *self = Self { count: self.count + other.count, most_ns: self.most_ns.max(other.most_ns) };
    }
}
