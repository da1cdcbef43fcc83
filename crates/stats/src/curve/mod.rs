//! Load curves: a server's results at several loads, and its maximum throughput.
//!
//! ```text
//!                       ┌─ maximum: where throughput was highest, and where it may have been as high
//! Point (load, numbers) ┼─ fit: the Universal Scalability Law ─ knee: where the law is highest, or why nobody can tell
//!                       └─ overall response time
//! ```
//!
//! [`judge_sizes`] finds outliers among message sizes, [`judge_clients`] among clients.
//!
//! All results are pure functions of the points. MEASUREMENT.md has the definitions.

mod clients;
mod fit;
mod knee;
mod law;
mod maximum;
mod overall;
mod sizes;
mod solve;

pub use clients::{ClientOutliers, ClientTotals, judge_clients};
pub use fit::{Fit, fit};
pub use knee::{FEWEST_LOADS, Knee, NoKnee, knee};
pub use law::Law;
pub use maximum::{Maximum, maximum};
pub use overall::overall_response_time;
pub use sizes::{Judged, Odd, SizePoint, judge_sizes, median};

use crate::comparison::Interval;

/// A load level of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The quantity that differs between levels: clients, outstanding requests, or planned iterations, 1/s.
    pub load: f64,
    /// Operations answered, 1/s.
    pub throughput: Number,
    /// Mean response time, s; `None` where nothing was answered.
    pub response: Option<Number>,
}

/// A number, and where the true one is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The number.
    pub value: f64,
    /// Contains the true value with [`crate::comparison::CONFIDENCE`]; `None` if unknown.
    pub interval: Option<Interval>,
}

impl Point {
    /// Whether something can be computed from it.
    fn is_sound(&self) -> bool {
        let (load, throughput) = (self.load, self.throughput.value);
        load.is_finite() && load > 0.0 && throughput.is_finite() && throughput > 0.0
    }
}
