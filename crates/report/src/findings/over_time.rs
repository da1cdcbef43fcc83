//! Throughput and response time over time.

use serde::{Deserialize, Serialize};

/// Throughput over time, in equal bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Start of the first bin, ns since the Unix epoch.
    pub start_ns: i64,
    /// Width of a bin, s.
    pub bin_s: f64,
    /// Operations that ended in each bin.
    pub operations: Vec<u64>,
    /// Errors in each bin.
    pub errors: Vec<u64>,
    /// File data read, bytes a bin; a lower bound where `payload_unknown` is not 0.
    pub read_bytes: Vec<u64>,
    /// File data written, bytes a bin; likewise.
    pub write_bytes: Vec<u64>,
    /// Operations of each bin that moved an unknown amount of file data.
    #[serde(default)]
    pub payload_unknown: Vec<u64>,
    /// Mean of the leading response times of the operations that ended in the bin, s.
    pub response_mean_s: Vec<Option<f64>>,
}

/// Time × latency counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// "All" or a group's label.
    pub group: String,
    /// Start of the first column, ns since the Unix epoch.
    pub start_ns: i64,
    /// Width of a column, s.
    pub column_s: f64,
    /// Number of columns.
    pub columns: u32,
    /// Lower edges of the latency rows, s, rising; the last entry is the upper edge of the last row.
    pub edges_s: Vec<f64>,
    /// [column, row, count] of the cells that are not empty.
    pub cells: Vec<(u32, u32, u64)>,
}
