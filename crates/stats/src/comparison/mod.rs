//! Two runs side by side: numbers with their uncertainty, differences with theirs, and what may be said of them.
//!
//! ```text
//! Intervals ─ Course ─ batches ─ Estimate ─┐
//!             (a row over time)            ├─ Difference ─ Verdict ─ holm
//! repeated runs ───────────── Estimate ────┘
//! ```
//!
//! Operations that follow each other are alike: a slow second is slow for all that is in it. Uncertainty is therefore
//! taken from how much *parts of the run* differ ([`batches`]), or, where there are runs enough, from how much whole
//! runs differ ([`repeats`]), and never from the number of operations alone. MEASUREMENT.md has the sources.

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
pub use ranking::{arithmetic_mean, geometric_mean, places, rate};
pub use scope::Scope;
pub use sequential::{confidence_sequence, fewest as fewest_of_a_sequence};
pub use significance::holm;
pub(crate) use student::half_width;

/// Of 100 intervals so many hold the true value.
pub const CONFIDENCE: f64 = 0.95;
