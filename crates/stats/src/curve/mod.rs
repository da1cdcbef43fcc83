//! Load curves: what a server did at each of several loads, and where it can do no more.
//!
//! ```text
//!                       ┌─ maximum: where throughput was highest, and where it may have been as high
//! Point (load, numbers) ┼─ fit: the Universal Scalability Law ─ knee: where the law is highest, or why nobody can tell
//!                       └─ overall response time
//! ```
//!
//! [`judge_sizes`] finds message sizes, and [`judge_clients`] clients, that are served otherwise than the others.
//!
//! All of it is a pure function of the points. MEASUREMENT.md has the definitions.

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
    /// What was raised from level to level: clients, requests outstanding, or iterations asked for, 1/s.
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
    /// Holds the true one with [`crate::comparison::CONFIDENCE`]; `None` where nobody can tell.
    pub interval: Option<Interval>,
}

impl Point {
    /// Whether something can be computed from it.
    fn is_sound(&self) -> bool {
        let (load, throughput) = (self.load, self.throughput.value);
        load.is_finite() && load > 0.0 && throughput.is_finite() && throughput > 0.0
    }
}
