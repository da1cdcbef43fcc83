//! A distribution in a few numbers.

use serde::{Deserialize, Serialize};

/// A distribution's summary, seconds. Percentiles come from a histogram that is exact to 0.1 %; the rest is exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "field names are the definition; see MEASUREMENT.md")]
pub struct Times {
    pub count: u64,
    pub min_s: f64,
    pub max_s: f64,
    pub mean_s: f64,
    /// Sample standard deviation; null for a single value.
    pub stddev_s: Option<f64>,
    pub p50_s: f64,
    pub p90_s: f64,
    pub p95_s: f64,
    pub p99_s: f64,
    pub p999_s: f64,
}

#[cfg(test)]
impl Times {
    /// Times of requests that took equally long.
    pub(crate) fn alike(count: u64, s: f64) -> Self {
        Self { count, min_s: s, max_s: s, mean_s: s, stddev_s: None, p50_s: s, p90_s: s, p95_s: s, p99_s: s, p999_s: s }
    }
}
