//! Times in powers of two, and how large requests were.

use serde::{Deserialize, Serialize};

use super::OperationRow;

/// What a sum of times over operations is where [`OperationRow::may_share_messages`].
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

impl OperationRow {
    /// Whether its requests are in no other row: it is no subcommand, which its command's row holds too.
    pub fn is_counted_once(&self) -> bool {
        self.parent.is_none()
    }

    /// Whether several of its protocol's operations may share a message, and so its times: SMB2 compounds, SMB1 AndX chains. (An
    /// NFSv4 compound counts once.)
    pub fn may_share_messages(&self) -> bool {
        matches!(self.protocol.as_str(), "SMB1" | "SMB2")
    }

    /// File data of a request that was carried out on average, bytes; `None` where none was moved, or nobody knows how much.
    pub fn mean_payload(&self) -> Option<f64> {
        let bytes = self.payload_bytes.filter(|&bytes| bytes > 0 && self.payload_unknown == 0)?;
        let carried_out =
            [self.unanswered, self.refused, self.failed].into_iter().fold(self.count, u64::saturating_sub);
        (carried_out > 0).then(|| bytes as f64 / carried_out as f64)
    }

    /// All its service times together, s.
    pub fn service_total_s(&self) -> f64 {
        self.service_time.map_or(0.0, |times| times.mean_s * times.count as f64)
    }
}
