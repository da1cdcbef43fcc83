//! Message sizes beside each other: which of them stand out.

use serde::{Deserialize, Serialize};

use super::Interval;

/// Response time against message size at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeCurve {
    /// The parameter that was varied.
    pub parameter: String,
    /// The load in words.
    pub level: String,
    /// Its sizes, the smallest first.
    pub points: Vec<SizePoint>,
}

/// A size, and what its neighbours say of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizePoint {
    /// Number of its stage.
    pub stage: u32,
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
    /// slower or faster, where it stands out from its neighbours; null where it does not, or nobody can tell.
    pub outlier: Option<String>,
}
