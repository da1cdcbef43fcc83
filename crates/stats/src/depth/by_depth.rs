//! Requests and time by depth.

use serde::{Deserialize, Serialize};

use super::MAX_DEPTH;
use super::tally::trim;

/// Requests and time by depth, as far as depths were reached: most servers have some tens outstanding, and none of the rest takes memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ByDepth(Vec<AtDepth>);

/// What happened at a depth.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct AtDepth {
    pub(super) time_ns: u128,
    /// Requests that met it.
    pub(super) arrivals: u64,
}

impl ByDepth {
    /// Of these numbers by depth, none of which is longer than [`MAX_DEPTH`] allows.
    pub(super) fn new(arrivals: &[u64], times_ns: &[u128]) -> Self {
        let at = |depth: usize| AtDepth {
            time_ns: times_ns.get(depth).copied().unwrap_or_default(),
            arrivals: arrivals.get(depth).copied().unwrap_or_default(),
        };
        Self((0..arrivals.len().max(times_ns.len())).map(at).collect())
    }

    /// What happened at a depth.
    #[inline]
    pub(super) fn at(&mut self, depth: usize) -> &mut AtDepth {
        if depth >= self.0.len() {
            return self.deeper(depth);
        }
        &mut self.0[depth]
    }

    #[cold]
    #[inline(never)]
    fn deeper(&mut self, depth: usize) -> &mut AtDepth {
        let depth = depth.min(MAX_DEPTH);
        let len = (depth + 1).next_power_of_two().min(MAX_DEPTH + 1);
        self.0.resize(self.0.len().max(len), AtDepth::default());
        &mut self.0[depth]
    }

    /// Requests by the depth they met.
    pub(super) fn arrivals(&self) -> Vec<u64> {
        trimmed(self.0.iter().map(|reached| reached.arrivals))
    }

    /// Time at each depth, ns.
    pub(super) fn times_ns(&self) -> Vec<u128> {
        trimmed(self.0.iter().map(|reached| reached.time_ns))
    }
}

fn trimmed<T: Default + PartialEq>(by_depth: impl Iterator<Item = T>) -> Vec<T> {
    let mut by_depth: Vec<T> = by_depth.collect();
    trim(&mut by_depth);
    by_depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_the_depths_reached() {
        let mut by_depth = ByDepth::default();
        by_depth.at(3).arrivals += 1;
        by_depth.at(2).time_ns += 5;
        assert_eq!(by_depth.0.len(), 4);
        assert_eq!((by_depth.arrivals(), by_depth.times_ns()), (vec![0, 0, 0, 1], vec![0, 0, 5]));
        by_depth.at(MAX_DEPTH + 7).arrivals += 1;
        by_depth.at(MAX_DEPTH).arrivals += 1;
        assert_eq!((by_depth.0.len(), by_depth.at(MAX_DEPTH).arrivals), (MAX_DEPTH + 1, 2), "deeper counts there");
    }
}
