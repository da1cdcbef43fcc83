//! A span of time.

use serde::{Deserialize, Serialize};

/// Extent in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// First packet, ns since the Unix epoch.
    pub first_ns: Option<i64>,
    /// Last packet, ns since the Unix epoch.
    pub last_ns: Option<i64>,
    /// Between them, s.
    pub elapsed_s: Option<f64>,
    /// The part of it that lies between capture files, s. Perhaps nobody captured then, so the throughput does not include it.
    pub between_files_s: f64,
}

impl Span {
    /// The time over which the throughput is averaged, s.
    pub fn covered_s(&self) -> Option<f64> {
        self.elapsed_s.map(|elapsed_s| elapsed_s - self.between_files_s)
    }

    /// The part of the time between first and last packet that lies between capture files.
    pub(crate) fn between_files_share(&self) -> f64 {
        let elapsed_s = self.elapsed_s.filter(|&elapsed_s| elapsed_s > 0.0);
        elapsed_s.map_or(0.0, |elapsed_s| (self.between_files_s / elapsed_s).clamp(0.0, 1.0))
    }
}
