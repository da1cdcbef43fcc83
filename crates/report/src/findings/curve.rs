//! Combined results of several load levels: the maximum throughput, and the response times up to it.

use plimsoll_stats::curve::Law;
use serde::{Deserialize, Serialize};

/// Two ends; the true number is between them in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower one.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

/// The levels of one load curve, at least two different loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadCurve {
    /// As its levels say; null where the run has one curve.
    pub curve: Option<String>,
    /// The varied quantity, see [`LOADS`].
    pub load: String,
    /// Its levels, in order of load.
    pub points: Vec<CurvePoint>,
    /// The highest throughput; null where no level may be used.
    pub maximum: Option<CurveMaximum>,
    /// The Universal Scalability Law that comes nearest; null where there are too few points, or the load is a rate.
    pub law: Option<FittedLaw>,
    /// The load at which the law is highest.
    pub knee: Knee,
    /// Area under response time against throughput up to the highest throughput, over that throughput, s.
    pub overall_response_time_s: Option<f64>,
}

/// Quantities that can vary between levels.
pub const LOADS: [&str; 4] = ["clients", "actions outstanding", "iterations per second", "users"];

/// A level of a load curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Number of the level.
    pub level: u32,
    /// Its load.
    pub load: f64,
    /// Whether the curve's numbers are made from it, too: not where its own may not be used.
    pub used: bool,
    /// Throughput that the law has here, 1/s.
    pub law_per_s: Option<f64>,
    /// Measured throughput over the law's, − 1.
    pub residual: Option<f64>,
}

/// The highest throughput that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurveMaximum {
    /// Number of the level.
    pub level: u32,
    /// The load there.
    pub load: f64,
    /// Requests answered, 1/s.
    pub operations_per_s: f64,
    /// Of `operations_per_s`; null where the phase was too short to tell.
    pub interval: Option<Interval>,
    /// Numbers of the levels whose throughput was not shown to be lower. Those without an interval are not among them.
    pub not_shown_lower: Vec<u32>,
}

/// X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), fitted to the points: least squares of ln(measured / law), σ, κ ≥ 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedLaw {
    /// λ: throughput of one alone, 1/s.
    pub lambda_per_s: f64,
    /// σ: contention.
    pub sigma: f64,
    /// κ: coherency.
    pub kappa: f64,
    /// Relative standard deviation of the points from it.
    pub deviation: f64,
}

impl FittedLaw {
    /// Throughput at a load, 1/s.
    pub(crate) fn throughput(&self, load: f64) -> f64 {
        let Self { lambda_per_s: lambda, sigma, kappa, .. } = *self;
        Law { lambda, sigma, kappa }.throughput(load)
    }
}

/// The load of the highest throughput by the law, or the reason why it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// √((1 − σ) / κ), at least 1.
    pub load: Option<f64>,
    /// Of `load`.
    pub interval: Option<Interval>,
    /// Why it is not identifiable; null where it is.
    pub missing: Option<String>,
}
