//! Results: requests and time by depth.

/// The depths found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DepthTally {
    /// Requests by the depth they met, themselves not counted.
    pub at_arrival: Vec<u64>,
    /// Time at each depth, ns, from the first request to the last answer.
    pub time_ns: Vec<u128>,
    /// Requests that outlived the window and were entered late.
    pub entered_late: u64,
    /// Requests left out for want of an end.
    pub left_out: u64,
}

impl DepthTally {
    /// Highest depth reached, arriving requests counted.
    pub fn max(&self) -> u64 {
        let busiest = self.time_ns.iter().rposition(|&ns| ns > 0).unwrap_or(0);
        let met = self.at_arrival.iter().rposition(|&n| n > 0).map_or(0, |depth| depth + 1);
        busiest.max(met) as u64
    }

    /// Time-weighted mean depth; `None` where no time passed.
    pub fn mean(&self) -> Option<f64> {
        let total: u128 = self.time_ns.iter().sum();
        let weighted: f64 = self.time_ns.iter().enumerate().map(|(depth, &ns)| depth as f64 * ns as f64).sum();
        (total > 0).then(|| weighted / total as f64)
    }

    /// Arrivals by ranges of depth 0, 1, 2–3, 4–7, …: (lowest, highest, count), down to the deepest in use.
    pub fn arrivals_by_range(&self) -> Vec<(u64, u64, u64)> {
        ranges(&self.at_arrival, |&n| u128::from(n)).into_iter().map(|(a, b, n)| (a, b, n as u64)).collect()
    }

    /// Time by the same ranges: (lowest, highest, ns).
    pub fn time_by_range(&self) -> Vec<(u64, u64, u128)> {
        ranges(&self.time_ns, |&ns| ns)
    }
}

/// Cuts off depths that were never reached.
pub(super) fn trim<T: Default + PartialEq>(by_depth: &mut Vec<T>) {
    let used = by_depth.iter().rposition(|value| *value != T::default()).map_or(0, |last| last + 1);
    by_depth.truncate(used);
    by_depth.shrink_to_fit();
}

fn ranges<T>(by_depth: &[T], value: fn(&T) -> u128) -> Vec<(u64, u64, u128)> {
    let mut found: Vec<(u64, u64, u128)> = Vec::new();
    let mut from = 0;
    while from < by_depth.len() {
        let to = if from == 0 { 0 } else { 2 * from - 1 };
        let sum = by_depth[from..].iter().take(to - from + 1).map(value).sum();
        found.push((from as u64, to as u64, sum));
        from = to + 1;
    }
    found
}
