//! What servers are ranked by: operations, or iterations where an operation of the one is not one of the other.

use plimsoll_stats::comparison::Metric;

/// What an iteration of the workload took: the same work in every protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IterationCost {
    /// Requests, on average.
    pub requests: f64,
    /// Time from when one was due to its end, s; `None` where nobody counted it.
    pub seconds: Option<f64>,
    /// Iterations that this is the mean of.
    pub count: u64,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Operations,
    /// Of contestants that speak different protocols, in which the same work is other operations.
    Iterations,
}

impl By {
    pub(super) fn label(self, metric: Metric) -> &'static str {
        match (self, metric) {
            (By::Iterations, Metric::Throughput) => "iterations",
            (By::Iterations, Metric::Mean) => "iteration time",
            _ => metric.label(),
        }
    }

    pub(super) fn metrics(self) -> &'static [Metric] {
        match self {
            By::Operations => &[Metric::Throughput, Metric::Mean],
            By::Iterations => &[Metric::Throughput, Metric::Bytes, Metric::Mean],
        }
    }
}

/// Requests per iteration may differ by this share among the loads of a curve and still be the same number; and by what two iterations
/// more or less at the ends of a phase make of it.
const EVEN: f64 = 0.02;
const AT_THE_ENDS: f64 = 2.0;

/// Whether iterations of these loads need different numbers of requests.
pub(super) fn uneven(costs: &[IterationCost]) -> bool {
    let most = costs.iter().map(|cost| cost.requests).fold(0.0, f64::max);
    let least = costs.iter().map(|cost| cost.requests).fold(f64::INFINITY, f64::min);
    let fewest = costs.iter().map(|cost| cost.count).min().unwrap_or(0).max(1) as f64;
    most / least - 1.0 > EVEN + AT_THE_ENDS / fewest
}

/// What a number of requests is multiplied by to be one of iterations, where these are counted; `None` where nobody knows what an
/// iteration took.
pub(super) fn factor(metric: Metric, by: By, value: f64, cost: Option<IterationCost>) -> Option<f64> {
    match (by, metric) {
        (By::Operations, _) | (_, Metric::Bytes) => Some(1.0),
        (_, Metric::Mean) => Some(cost?.seconds? / value).filter(|factor| factor.is_finite()),
        _ => Some(1.0 / cost?.requests),
    }
}
