//! How many requests were outstanding at once.

use serde::{Deserialize, Serialize};

/// Requests outstanding at once (long-lived requests are not counted).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueDepth {
    /// Depth met by arriving requests, themselves not counted.
    pub at_arrival: Vec<DepthShare>,
    /// Share of time at each depth.
    pub over_time: Vec<DepthShare>,
    /// Time-weighted mean depth.
    pub mean: Option<f64>,
    /// Highest depth; null if there were requests but the times that they were outstanding are unknown.
    pub max: Option<u64>,
    /// Requests that outlived the window of the calculation and were entered late.
    pub entered_late: u64,
}

/// A range of depths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthShare {
    /// Lowest depth of the range.
    pub from: u64,
    /// Highest depth of the range, inclusive.
    pub to: u64,
    /// Arrivals, or null for shares of time.
    pub count: Option<u64>,
    /// 0..=1.
    pub share: f64,
}
