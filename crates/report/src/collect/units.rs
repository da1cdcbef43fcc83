//! Units of findings.

/// Nanoseconds a second. Times are divided by it: that gives the nearest number (0.001), multiplying by 1e-9 does not.
pub(super) const SECOND: f64 = 1e9;
