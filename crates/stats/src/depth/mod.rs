//! How many requests were outstanding at once.

mod by_depth;
mod instants;
mod shared_depth;
mod state;
mod tally;

use serde::{Deserialize, Serialize};

use by_depth::ByDepth;
use instants::Instants;
pub(crate) use shared_depth::DepthSender;
pub use shared_depth::SharedDepth;
pub use tally::DepthTally;

/// Starts and ends that are kept in order before the earlier half is taken: 1 MiB.
const WINDOW: usize = 128 * 1024;
/// Maximum distinguished depth; higher depths count here.
pub const MAX_DEPTH: usize = 65_535;

/// Queue depth: the number of outstanding requests that each arriving request met, and the time spent at each depth.
///
/// A request is outstanding from its first byte to its answer's last. Transactions come in the order of their ends, so starts must wait
/// until no earlier one can come: a window of 65,536 transactions is kept, and its earlier half is processed when it is full. A request
/// that outlives the window (some 32,768 others end before it does) is entered late: from then on it counts in the depth, its arrival
/// does not, and `entered_late` counts it. So a capture of up to 65,536 operations is exact.
///
/// Left out are requests without a captured answer (`left_out`) and pairs with a negative time, because the time that they were
/// outstanding is unknown.
#[derive(Default, Clone, Debug, Serialize, Deserialize)]
pub struct QueueDepth {
    starts: Instants,
    ends: Instants,
    // Requests that took no measurable time: they arrive, and that is all.
    points: Instants,
    taken_until: Option<i64>,
    depth: usize,
    by_depth: ByDepth,
    entered_late: u64,
    left_out: u64,
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
            self.entered_late += 1;
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
        self.take_if_full();
    }

    /// Counts a request whose end is not known.
    pub fn leave_out(&mut self) {
        self.left_out += 1;
    }

    #[inline]
    fn take_if_full(&mut self) {
        // Two windows that are merged may have twice as many: one half is not enough then.
        while self.starts.len() + self.ends.len() + self.points.len() >= WINDOW {
            self.take_half();
        }
    }

    #[cold]
    fn take_half(&mut self) {
        self.sort();
        // Half of the longest list, at least a sixth of all entries: the window stays bounded for any times.
        let lists = [&self.starts.list, &self.ends.list, &self.points.list];
        let longest = lists.into_iter().max_by_key(|list| list.len());
        if let Some(&middle) = longest.and_then(|list| list.get(list.len() / 2)) {
            self.take_until(middle);
        }
    }

    fn sort(&mut self) {
        self.starts.sort();
        self.ends.sort();
        self.points.sort();
    }

    /// Takes all events up to and including the instant `mark`; the lists are sorted. At one instant, ends come first
    /// (the answer had arrived), then requests that took no time, then starts.
    fn take_until(&mut self, mark: i64) {
        let [starts, ends, points] =
            [&self.starts, &self.ends, &self.points].map(|of| of.list.partition_point(|&time| time <= mark));
        let lists = [&self.starts.list[..starts], &self.ends.list[..ends], &self.points.list[..points]];
        let (Some(first), Some(last)) =
            (lists.iter().filter_map(|list| list.first()).min(), lists.iter().filter_map(|list| list.last()).max())
        else {
            return;
        };
        let (first, last) = (*first, *last);
        self.take_points(starts, ends, points);
        let now = self.take_spans(starts, ends, self.taken_until.unwrap_or(first));
        self.by_depth.at(self.depth).time_ns += u128::from(last.abs_diff(now));
        self.taken_until = Some(last);
        self.starts.list.drain(..starts);
        self.ends.list.drain(..ends);
        self.points.list.drain(..points);
    }

    fn take_points(&mut self, starts: usize, ends: usize, points: usize) {
        let (starts, ends) = (&self.starts.list[..starts], &self.ends.list[..ends]);
        let (mut started, mut ended) = (0, 0);
        for &point in &self.points.list[..points] {
            started += starts[started..].iter().take_while(|&&start| start < point).count();
            ended += ends[ended..].iter().take_while(|&&end| end <= point).count();
            self.by_depth.at((self.depth + started).saturating_sub(ended)).arrivals += 1;
        }
    }

    /// Begins at the instant `last`, returns the last instant taken.
    fn take_spans(&mut self, starts: usize, ends: usize, mut last: i64) -> i64 {
        let (starts, ends) = (&self.starts.list[..starts], &self.ends.list[..ends]);
        let by_depth = &mut self.by_depth;
        let (mut started, mut ended, before) = (0, 0, self.depth);
        let mut event = |started: usize, ended: usize, now: i64, is_start: bool| {
            let reached = by_depth.at((before + started).saturating_sub(ended));
            reached.time_ns += u128::from(now.abs_diff(last));
            reached.arrivals += u64::from(is_start);
            last = now;
        };
        while let (Some(&start), Some(&end)) = (starts.get(started), ends.get(ended)) {
            // Whether a start or an end comes next is a coin's toss: no branch on it.
            let is_start = start < end;
            event(started, ended, start.min(end), is_start);
            started += usize::from(is_start);
            ended += usize::from(!is_start);
        }
        for &start in &starts[started..] {
            event(started, ended, start, true);
            started += 1;
        }
        for &end in &ends[ended..] {
            event(started, ended, end, false);
            ended += 1;
        }
        self.depth = (before + started).saturating_sub(ended);
        last
    }

    /// Adds another part. Exact while neither part has outgrown its window; beyond that the parts should follow each other in time: each
    /// part has a separate depth, and the time between them is in neither.
    pub fn merge(&mut self, other: &QueueDepth) {
        if self.taken_until.is_none() && other.taken_until.is_none() {
            self.starts.extend(&other.starts);
            self.ends.extend(&other.ends);
            self.points.extend(&other.points);
            self.entered_late += other.entered_late;
            self.left_out += other.left_out;
            self.take_if_full();
        } else {
            let taken_until = self.taken_until.max(other.taken_until);
            self.take_rest();
            let theirs = other.tally();
            theirs.at_arrival.iter().enumerate().for_each(|(depth, n)| self.by_depth.at(depth).arrivals += n);
            theirs.time_ns.iter().enumerate().for_each(|(depth, ns)| self.by_depth.at(depth).time_ns += ns);
            self.entered_late += theirs.entered_late;
            self.left_out += theirs.left_out;
            self.taken_until = taken_until;
        }
    }

    fn take_rest(&mut self) {
        self.sort();
        self.take_until(i64::MAX);
    }

    /// The depths so far, including the data in the window.
    pub fn tally(&self) -> DepthTally {
        let mut all = self.clone();
        all.take_rest();
        DepthTally {
            at_arrival: all.by_depth.arrivals(),
            time_ns: all.by_depth.times_ns(),
            entered_late: all.entered_late,
            left_out: all.left_out,
        }
    }
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
        let last_end = 199_999 / 8 * 1000 + 7 + 1000;
        assert_eq!(tally.time_ns.iter().sum::<u128>(), last_end, "no time is lost between windows");
    }

    #[test]
    fn requests_that_take_no_time_are_bounded_too() {
        let mut depth = QueueDepth::default();
        (0..300_000).for_each(|i| depth.record(i, i));
        assert!(depth.points.len() < WINDOW);
        let tally = depth.tally();
        assert_eq!((tally.at_arrival, tally.time_ns), (vec![300_000], vec![299_999]));
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

    /// Two windows together may exceed one window by more than half of the longest list.
    #[test]
    fn merged_windows_are_bounded_and_can_be_read_again() {
        let points: Vec<(i64, i64)> = (0..54_600).map(|i| (i * 100, i * 100)).collect();
        let spans: Vec<(i64, i64)> =
            (0..54_600).map(|i| (60_000_000_000 + i * 100, 60_000_000_000 + i * 100 + 30)).collect();
        for [one, other] in [[&points, &spans], [&spans, &points]] {
            let mut merged = of(one);
            merged.merge(&of(other));
            let back: QueueDepth = crate::state::Reader::new(&crate::state::to_bytes(&merged)).last().unwrap();
            let tally = back.tally();
            assert_eq!(tally, merged.tally());
            assert_eq!((tally.at_arrival.iter().sum::<u64>(), tally.entered_late), (109_200, 0));
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
            let mut naive = vec![0u128; 41];
            for now in first..last {
                naive[intervals.iter().filter(|i| i.0 <= now && now < i.1).count()] += 1;
            }
            tally::trim(&mut naive);
            prop_assert_eq!(&tally.time_ns, &naive);
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
