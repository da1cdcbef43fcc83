//! How many requests were outstanding at once.

/// Starts and ends that are kept in order before the earlier half is taken: 1 MiB.
const WINDOW: usize = 128 * 1024;
/// Highest depth told apart; deeper counts here.
pub const MAX_DEPTH: usize = 65_535;

/// Requests outstanding at once: the depth that arriving requests met, and the time spent at each depth.
///
/// A request is outstanding from its first byte to its answer's last. Transactions come in the order of their ends,
/// so starts have to wait until no earlier one can come: a window of 65,536 transactions is kept, and its earlier half
/// is taken when it is full. A request that outlives the window (some 32,768 others end before it does) is entered
/// late: from then on it counts in the depth, its arrival does not, and [`QueueDepth::entered_late`] tells how many.
/// So a capture of up to 65,536 operations is exact.
///
/// Left out, because nobody knows how long they were outstanding: requests without a seen answer
/// ([`QueueDepth::left_out`]), and pairs with a negative time.
#[derive(Clone, Debug, Default)]
pub struct QueueDepth {
    starts: Vec<i64>,
    ends: Vec<i64>,
    // Requests that took no measurable time: they arrive, and that is all.
    points: Vec<i64>,
    taken_until: Option<i64>,
    depth: usize,
    tally: DepthTally,
}

/// The depths found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DepthTally {
    /// Requests by the depth they met, themselves not counted.
    pub at_arrival: Vec<u64>,
    /// Time at each depth, ns; idle time before the first request and after the last answer is not in it.
    pub time_ns: Vec<u128>,
    /// Requests that outlived the window and were entered late.
    pub entered_late: u64,
    /// Requests left out for want of an end.
    pub left_out: u64,
}

impl QueueDepth {
    /// Takes a request that was outstanding from `start` to `end`, ns.
    #[inline]
    pub fn record(&mut self, start: i64, end: i64) {
        if end < start {
            self.leave_out();
            return;
        }
        if let Some(mark) = self.taken_until
            && start < mark
        {
            self.tally.entered_late += 1;
            if end > mark {
                self.depth += 1;
                self.ends.push(end);
            }
        } else if start == end {
            self.points.push(start);
        } else {
            self.starts.push(start);
            self.ends.push(end);
        }
        if self.starts.len() + self.ends.len() + self.points.len() >= WINDOW {
            self.take(WINDOW / 2);
        }
    }

    /// Counts a request whose end is not known.
    pub fn leave_out(&mut self) {
        self.tally.left_out += 1;
    }

    /// Takes the earliest `count` events. At one instant, ends come first (the answer had arrived), then requests
    /// that took no time, then starts.
    #[cold]
    fn take(&mut self, count: usize) {
        // Stable sorts: they use that both lists are nearly sorted.
        self.starts.sort();
        self.ends.sort();
        self.points.sort();
        let (mut starts, mut ends, mut points) = (0, 0, 0);
        for _ in 0..count {
            let start = self.starts.get(starts).copied();
            let end = self.ends.get(ends).copied();
            let point = self.points.get(points).copied();
            let Some(now) = [start, end, point].into_iter().flatten().min() else { break };
            self.pass_until(now);
            if end == Some(now) {
                self.depth = self.depth.saturating_sub(1);
                ends += 1;
            } else {
                add(&mut self.tally.at_arrival, self.depth, 1);
                if point == Some(now) {
                    points += 1;
                } else {
                    self.depth += 1;
                    starts += 1;
                }
            }
        }
        self.starts.drain(..starts);
        self.ends.drain(..ends);
        self.points.drain(..points);
    }

    fn pass_until(&mut self, now: i64) {
        let passed = now.abs_diff(self.taken_until.unwrap_or(now));
        if passed > 0 {
            add(&mut self.tally.time_ns, self.depth, u128::from(passed));
        }
        self.taken_until = Some(now);
    }

    /// Adds another part. Exact while neither part has outgrown its window; beyond that the parts should follow each
    /// other in time: each part's depth is its own, and the time between them is in neither.
    pub fn merge(&mut self, other: &QueueDepth) {
        if self.taken_until.is_none() && other.taken_until.is_none() {
            self.starts.extend(&other.starts);
            self.ends.extend(&other.ends);
            self.points.extend(&other.points);
            self.tally.add(&other.tally);
            if self.starts.len() + self.ends.len() + self.points.len() >= WINDOW {
                self.take(WINDOW / 2);
            }
        } else {
            let mut tally = self.tally();
            tally.add(&other.tally());
            *self = QueueDepth { tally, taken_until: self.taken_until.max(other.taken_until), ..QueueDepth::default() };
        }
    }

    /// The depths found, with what is still in the window.
    pub fn tally(&self) -> DepthTally {
        let mut rest = self.clone();
        rest.take(usize::MAX);
        rest.tally
    }
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

    fn add(&mut self, other: &DepthTally) {
        other.at_arrival.iter().enumerate().for_each(|(depth, &n)| add(&mut self.at_arrival, depth, n));
        other.time_ns.iter().enumerate().for_each(|(depth, &ns)| add(&mut self.time_ns, depth, ns));
        self.entered_late += other.entered_late;
        self.left_out += other.left_out;
    }
}

fn add<T: Copy + Default + std::ops::AddAssign>(by_depth: &mut Vec<T>, depth: usize, amount: T) {
    let depth = depth.min(MAX_DEPTH);
    if depth >= by_depth.len() {
        by_depth.resize(depth + 1, T::default());
    }
    by_depth[depth] += amount;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(intervals: &[(i64, i64)]) -> QueueDepth {
        let mut depth = QueueDepth::default();
        intervals.iter().for_each(|&(start, end)| depth.record(start, end));
        depth
    }

    #[test]
    fn a_small_case_by_hand() {
        // 0----4        depth: 0–1: 1, 1–4: 2, 4–6: 1, 6–8: 0, 8–9: 1
        //  1-----6      8-9
        let tally = of(&[(0, 4), (1, 6), (4, 4), (8, 9)]).tally();
        assert_eq!(tally.at_arrival, [2, 2], "the request at 4 finds one: the other has just been answered");
        assert_eq!(tally.time_ns, [2, 4, 3]);
        assert_eq!((tally.max(), tally.mean()), (2, Some(10.0 / 9.0)));
        assert_eq!(tally.time_by_range(), [(0, 0, 2), (1, 1, 4), (2, 3, 3)]);
    }

    /// Little's law: a closed loop of 8 requests, each taking 1000 ns, holds a depth of 8, window after window.
    #[test]
    fn a_closed_loop_keeps_its_depth_beyond_the_window() {
        let mut depth = QueueDepth::default();
        for i in 0..200_000i64 {
            let start = i / 8 * 1000 + i % 8;
            depth.record(start, start + 1000);
        }
        let tally = depth.tally();
        assert_eq!(tally.entered_late, 0);
        assert_eq!(tally.at_arrival[7], 200_000 - 8 + 1, "all but the first eight meet seven others");
        assert!((tally.mean().unwrap() - 8.0).abs() < 0.01);
        assert_eq!(tally.max(), 8);
    }

    #[test]
    fn a_request_that_outlives_the_window_is_entered_late() {
        let mut depth = QueueDepth::default();
        (1..100_001).for_each(|i| depth.record(i * 10, i * 10 + 5));
        depth.record(0, 2_000_000);
        let tally = depth.tally();
        assert_eq!(tally.entered_late, 1);
        assert!(tally.time_ns[2] > 0, "from then on it counts");
        assert_eq!(tally.at_arrival.iter().sum::<u64>(), 100_000);
    }

    #[test]
    fn memory_is_bounded_when_all_end_at_once() {
        let mut depth = QueueDepth::default();
        for i in 0..1_000_000 {
            depth.record(i, 10_000_000);
            assert!(depth.starts.len() + depth.ends.len() <= WINDOW);
        }
    }

    #[test]
    fn the_whole_range_of_times_is_taken() {
        let tally = of(&[(i64::MIN, i64::MAX), (5, 4)]).tally();
        assert_eq!((tally.time_ns[1], tally.left_out), (u128::from(u64::MAX), 1));
    }

    proptest! {
        #[test]
        fn agrees_with_counting_at_every_instant_and_parts_make_the_whole(
            spans in prop::collection::vec((0i64..60, 0i64..20), 1..40), parts in 1usize..8
        ) {
            let intervals: Vec<_> = spans.iter().map(|&(start, length)| (start, start + length)).collect();
            let tally = of(&intervals).tally();
            let (first, last) = (intervals.iter().map(|i| i.0).min().unwrap(), intervals.iter().map(|i| i.1).max().unwrap());
            let mut naive = vec![0u128; 1];
            for now in first..last {
                add(&mut naive, intervals.iter().filter(|i| i.0 <= now && now < i.1).count(), 1);
            }
            let trimmed = |v: &[u128]| { let mut v = v.to_vec(); while v.last() == Some(&0) { v.pop(); } v };
            prop_assert_eq!(trimmed(&tally.time_ns), trimmed(&naive));
            prop_assert_eq!(tally.at_arrival.iter().sum::<u64>(), intervals.len() as u64);
            let mut merged = QueueDepth::default();
            for part in 0..parts {
                let mine: Vec<_> = intervals.iter().skip(part).step_by(parts).copied().collect();
                merged.merge(&of(&mine));
            }
            prop_assert_eq!(merged.tally(), tally);
        }
    }
}
