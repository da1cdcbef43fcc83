//! Times in powers of two, and how large requests were.

use serde::{Deserialize, Serialize};

/// What a sum of times over operations is where [`OperationRow::may_share_messages`](super::OperationRow::may_share_messages).
pub const SHARED: &str = "Members of an SMB2 compound or AndX chain share the times of their message: sums over operations, and shares of \
                          them, count that message once per member.";

/// The times below an edge and not below half of it; of the first edge, 1 µs, all below.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Octave {
    /// Upper edge, exclusive, s: 1 µs times a power of two.
    pub below_s: f64,
    /// How many.
    pub count: u64,
    /// What they come to together, s; within 0.05 %.
    pub total_s: f64,
}
