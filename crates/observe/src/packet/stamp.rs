//! When a packet was captured, and which it is.

use serde::{Deserialize, Serialize};

/// A time and the frame that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Capture time, ns since the Unix epoch.
    pub time_ns: i64,
    /// Frame number, from 1.
    pub frame: u64,
}
