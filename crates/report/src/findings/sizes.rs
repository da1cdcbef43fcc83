//! Comparison of message sizes: outliers among them.

use serde::{Deserialize, Serialize};

use super::Interval;

/// Response time against message size at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeCurve {
    /// The parameter that was varied.
    pub parameter: String,
    /// The load in words.
    pub load_name: String,
    /// Its sizes, the smallest first.
    pub points: Vec<SizePoint>,
}

/// A size, and the comparison with its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizePoint {
    /// Number of the level.
    pub level: u32,
    /// The size as it was given.
    pub value: String,
    /// Bytes.
    pub bytes: u64,
    /// Mean response time, s.
    pub mean_s: f64,
    /// Of `mean_s`; null where the phase was too short to tell.
    pub interval: Option<Interval>,
    /// The time that its neighbours let expect, s; null near the smallest and the largest size.
    pub expected_s: Option<f64>,
    /// slower or faster, if it is an outlier; otherwise, or if unknown, null.
    pub outlier: Option<String>,
}
