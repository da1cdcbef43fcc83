//! The unit of the ranking: operations, or iterations if the operations of different protocols are not comparable.

use plimsoll_stats::comparison::Metric;

use crate::collect::comparison::contestant::IterationCost;
use crate::findings::ranking::RankedBy;

impl RankedBy {
    pub(super) fn label(self, metric: Metric) -> &'static str {
        match (self, metric) {
            (RankedBy::Iterations, Metric::Throughput) => "iterations",
            (RankedBy::Iterations, Metric::Mean) => "iteration time",
            _ => metric.label(),
        }
    }

    pub(super) fn metrics(self) -> &'static [Metric] {
        match self {
            RankedBy::Operations => &[Metric::Throughput, Metric::Mean],
            RankedBy::Iterations => &[Metric::Throughput, Metric::Bytes, Metric::Mean],
        }
    }
}

/// Maximum relative difference of the requests per iteration between the loads of a curve that counts as equal; in addition, two
/// iterations more or less at the ends of a phase.
const EVEN: f64 = 0.02;
const AT_THE_ENDS: f64 = 2.0;

/// Whether iterations of these loads need different numbers of requests.
pub(super) fn uneven(costs: &[IterationCost]) -> bool {
    let most = costs.iter().map(|cost| cost.requests).fold(0.0, f64::max);
    let least = costs.iter().map(|cost| cost.requests).fold(f64::INFINITY, f64::min);
    let fewest = costs.iter().map(|cost| cost.count).min().unwrap_or(0).max(1) as f64;
    most / least - 1.0 > EVEN + AT_THE_ENDS / fewest
}

/// Factor from a number of requests to a number of iterations, if iterations are counted; `None` if the cost of an iteration is unknown.
pub(super) fn factor(metric: Metric, by: RankedBy, value: f64, cost: Option<IterationCost>) -> Option<f64> {
    match (by, metric) {
        (RankedBy::Operations, _) | (_, Metric::Bytes) => Some(1.0),
        (_, Metric::Mean) => Some(cost?.seconds? / value).filter(|factor| factor.is_finite()),
        _ => Some(1.0 / cost?.requests),
    }
}
