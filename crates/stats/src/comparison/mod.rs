//! Compares two runs: numbers and differences with their uncertainty, and verdicts.
//!
//! ```text
//! Intervals ─ Course ─ batches ─ Estimate ─┐
//!             (a row over time)            ├─ Difference ─ Verdict ─ holm
//! repeated runs ───────────── Estimate ────┘
//! ```
//!
//! Consecutive operations are correlated: a slow second is slow for all operations in it. Uncertainty is therefore taken from the scatter
//! of *parts of the run* ([`batches`]), or, if there are enough runs, from the scatter of whole runs ([`repeats`]), and never from the
//! number of operations alone. MEASUREMENT.md has the sources.

pub mod batches;
mod course;
mod difference;
mod estimate;
pub mod independent;
mod metric;
mod missing;
mod quantile;
mod ranking;
pub mod repeats;
mod scope;
mod sequential;
mod significance;
mod student;

pub use course::{Course, MAX_SLOTS, Slot};
pub use difference::{Difference, Interval, Side, Verdict};
pub use estimate::{Basis, Estimate, Known, estimate};
pub use metric::{Metric, Unit};
pub use missing::Missing;
pub use quantile::fewest as fewest_of_percentile;
pub use ranking::{arithmetic_mean, geometric_mean, places, rate};
pub use scope::Scope;
pub use sequential::{confidence_sequence, fewest as fewest_of_a_sequence};
pub use significance::holm;
pub(crate) use student::half_width;

/// Fraction of intervals that contain the true value.
pub const CONFIDENCE: f64 = 0.95;
