//! Times in powers of two, and how large requests were.

use serde::{Deserialize, Serialize};

/// Explanation of a sum of times over operations if [`OperationRow::may_share_messages`](super::OperationRow::may_share_messages) is set.
pub const SHARED: &str = "Each member of an SMB2 compound or AndX chain has the times of the whole message, so sums over operations, and shares of these sums, count the message once per member.";

/// Explanation of the columns of an operation mix; [`OperationRow::mean_payload`](super::OperationRow::mean_payload) is the I/O size.
pub const IO_SIZE: &str = "I/O size: file data divided by the number of requests; refused, failed and unanswered requests do not \
    count. Together: sum of the service times of all requests.";

/// The times from half an edge up to the edge; for the first edge, 1 µs, all times below it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Octave {
    /// Upper edge, exclusive, s: 1 µs times a power of two.
    pub below_s: f64,
    /// How many.
    pub count: u64,
    /// Their sum, s; within 0.05 %.
    pub total_s: f64,
}
