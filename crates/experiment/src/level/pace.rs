//! Parameters of a level's load besides the number of clients, users or iterations.

use plimsoll_drive::engine::Plan;
use plimsoll_workload::{Arrivals, Load, Pause};

/// Parameters of the load besides its level, in words: a rate has no meaning without them.
pub(super) fn pace(plan: &Plan) -> Vec<String> {
    let time = |ns: u64| plimsoll_report::duration(ns as f64 / 1e9);
    let arrive = |arrivals| match arrivals {
        Arrivals::Constant => "arrivals at constant intervals".to_owned(),
        Arrivals::Poisson => "arrivals at random (Poisson)".to_owned(),
    };
    let mut pace = match plan.load {
        Load::Closed { think, .. } => vec![match think {
            Pause::None => "no think time".to_owned(),
            Pause::Constant(ns) => format!("think time {}", time(ns)),
            Pause::Exponential(ns) => format!("think time exponential, mean {}", time(ns)),
            Pause::Uniform(low, high) => format!("think time {} to {}", time(low), time(high)),
        }],
        Load::Open { arrivals, .. } => vec![arrive(arrivals)],
        Load::Partly { every_ns, arrivals, .. } => vec![every(every_ns), arrive(arrivals)],
    };
    pace.push(format!("timeout {}", time(plan.timeout_ns)));
    pace
}

/// How often a user starts.
fn every(ns: u64) -> String {
    format!("one iteration per user every {}", plimsoll_report::duration(ns as f64 / 1e9))
}
