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
}
