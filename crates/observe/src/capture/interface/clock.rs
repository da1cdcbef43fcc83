//! The clock by which the kernel stamps packets.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time, ns since the Unix epoch.
pub(super) fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
