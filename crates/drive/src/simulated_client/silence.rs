//! Silences: times without an answer to an action although a request was outstanding or due.
//!
//! An answer that only asks to wait (NFS4ERR_DELAY, NFS4ERR_GRACE) ends no silence: the client repeats the request, so that a server that
//! refuses everything in its grace period would otherwise never be silent. Nor does an answer to a session request.
//!
//! A worker stores the gaps between its answers, for each target of the run. A silence of a target is the intersection of all workers' gaps,
//! from the first instant at which one of them waited for an answer. A silence of the run is one of all targets.
//! A request that failed without an answer counts as waiting until the next answer to any worker, because its client may have given up.

use serde::{Deserialize, Serialize};

/// Shorter gaps are not kept, ns.
const SHORTEST_NS: i64 = 10_000_000;
/// Maximum number of gaps per worker, 3.5 MiB. Beyond it the minimum length of a gap doubles, and shorter gaps are dropped.
const MOST: usize = 65_536;
/// Limit of that minimum length, ns, which is enough for a day. Outages are longer.
const LONGEST_SHORTEST_NS: i64 = 640_000_000;

/// A time without an answer, as one worker saw it, or several: ns since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// Since then something was outstanding or due at this worker; `None` where nothing was.
    pub(crate) wanted: Option<i64>,
    /// Requests that failed in it without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<FailedRequests>,
}

impl Gap {
    /// Since when a request waited for an answer in it; `None` if none did. A request that failed before it does not wait any more.
    fn wanted_since(&self) -> Option<i64> {
        let failed = self.failed.filter(|failed| failed.at >= self.from).map(|failed| failed.due);
        [self.wanted, failed].into_iter().flatten().min()
    }
}

/// Requests that failed without an answer: the earliest due time, and when the last one failed, ns since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailedRequests {
    due: i64,
    at: i64,
}

impl FailedRequests {
    fn and(self, other: Self) -> Self {
        Self { due: self.due.min(other.due), at: self.at.max(other.at) }
    }
}

/// The gaps between the answers of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    /// When the last answer came.
    last: i64,
    /// The requests that failed without an answer since.
    failed: Option<FailedRequests>,
    shortest: i64,
    list: Vec<Gap>,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { last: i64::MIN, failed: None, shortest: SHORTEST_NS, list: Vec::new() }
    }
}

impl Gaps {
    /// An answer was read at `at` and had come at `came`, in a phase that began at `begin`. After a long gap returns its start, and the
    /// failed requests in it.
    #[inline]
    pub(crate) fn answered(&mut self, begin: i64, (came, at): (i64, i64)) -> Option<(i64, Option<FailedRequests>)> {
        let from = self.last.max(begin);
        self.last = self.last.max(at);
        // A request that failed before the phase waits in it, too: there was no answer since.
        let failed = self.failed.take().map(|failed| FailedRequests { at: failed.at.max(from), ..failed });
        (came.saturating_sub(from) >= self.shortest).then_some((from, failed))
    }

    /// A request that was due at `due` failed at `at` without an answer.
    pub(crate) fn failed(&mut self, due: i64, at: i64) {
        let failed = FailedRequests { due, at };
        self.failed = Some(self.failed.map_or(failed, |known| known.and(failed)));
    }

    /// Keeps a gap.
    #[cold]
    pub(crate) fn push(&mut self, gap: Gap) {
        self.list.push(gap);
        if self.list.len() > MOST && self.shortest < LONGEST_SHORTEST_NS {
            self.shortest *= 2;
            let shortest = self.shortest;
            self.list.retain(|gap| gap.to - gap.from >= shortest);
        }
    }

    /// All gaps in the order of time.
    pub(crate) fn take(&mut self) -> Vec<Gap> {
        std::mem::take(&mut self.list)
    }
}

/// The gaps of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetGaps {
    /// The target in messages.
    pub name: String,
    /// Times without an answer of it that all workers share.
    pub gaps: Vec<Gap>,
}

impl TargetGaps {
    /// Its silences: from, to, ns since the Unix epoch, in their order.
    #[must_use]
    pub fn silences(&self) -> Vec<(i64, i64)> {
        silences(&self.gaps)
    }
}

/// The gaps of each target that all workers share. Every worker has all targets, in the same order; were it not so (a part of an older
/// version), the gaps of all are unknown.
pub(crate) fn common_by_target(workers: Vec<Vec<TargetGaps>>) -> Vec<TargetGaps> {
    let join = |mut all: Vec<TargetGaps>, worker: Vec<TargetGaps>| {
        if !all.iter().map(|target| &target.name).eq(worker.iter().map(|target| &target.name)) {
            return Vec::new();
        }
        all.iter_mut().zip(worker).for_each(|(all, one)| all.gaps = both(&all.gaps, &one.gaps));
        all
    };
    workers.into_iter().reduce(join).unwrap_or_default()
}

/// The gaps that all workers share, in the order of time.
pub(crate) fn common_gaps(workers: impl IntoIterator<Item = Vec<Gap>>) -> Vec<Gap> {
    workers.into_iter().reduce(|a, b| both(&a, &b)).unwrap_or_default()
}

/// The silences in gaps that all workers share: from, to, in the order of time.
pub(crate) fn silences(common: &[Gap]) -> Vec<(i64, i64)> {
    let wanted = common.iter().filter_map(|gap| Some((gap.from.max(gap.wanted_since()?), gap.to)));
    wanted.filter(|(from, to)| to.saturating_sub(*from) >= SHORTEST_NS).collect()
}

/// Times that are in gaps of both.
fn both(a: &[Gap], b: &[Gap]) -> Vec<Gap> {
    let (mut a, mut b, mut common) = (a.iter().peekable(), b.iter().peekable(), Vec::new());
    while let (Some(one), Some(other)) = (a.peek(), b.peek()) {
        let (from, to) = (one.from.max(other.from), one.to.min(other.to));
        if from < to {
            let wanted = [one.wanted, other.wanted].into_iter().flatten().min();
            // As with a single worker, an answer ends the wait of requests that failed before it.
            let failed = [one.failed, other.failed].into_iter().flatten().filter(|failed| failed.at >= from);
            common.push(Gap { from, to, wanted, failed: failed.reduce(FailedRequests::and) });
        }
        if one.to < other.to {
            a.next()
        } else {
            b.next()
        };
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn merged_gaps(workers: impl IntoIterator<Item = Vec<Gap>>) -> Vec<(i64, i64)> {
        silences(&common_gaps(workers))
    }

    fn gap(from: i64, to: i64, wanted: Option<i64>) -> Gap {
        Gap { from: from * MS, to: to * MS, wanted: wanted.map(|at| at * MS), failed: None }
    }

    #[test]
    fn a_silence_is_one_of_all_workers_and_somebody_wants_something() {
        let one = vec![gap(0, 100, Some(0)), gap(200, 900, Some(250))];
        let other = vec![gap(50, 300, None), gap(400, 1000, None)];
        let (first, second, third) = ((50 * MS, 100 * MS), (250 * MS, 300 * MS), (400 * MS, 900 * MS));
        assert_eq!(merged_gaps([one.clone(), other.clone()]), [first, second, third]);
        assert_eq!(merged_gaps([other.clone(), one]), [first, second, third]);
        assert_eq!(merged_gaps([other.clone(), other]), [], "nobody wanted anything");
        assert_eq!(merged_gaps([vec![gap(0, 100, Some(95))]]), [], "wanted for 5 ms only");
        assert_eq!(merged_gaps([]), []);
    }

    /// A client that gave up waits for nothing after another one had an answer: pauses of the others are no silences.
    #[test]
    fn an_answer_to_any_worker_ends_the_wait_for_what_failed() {
        let failed = Some(FailedRequests { due: 100 * MS, at: 350 * MS });
        let gave_up = || vec![Gap { failed, ..gap(90, 1_000, None) }];
        let pauses = || vec![gap(200, 300, None), gap(310, 400, None), gap(410, 500, None)];
        let waited = [(200 * MS, 300 * MS), (310 * MS, 400 * MS)];
        assert_eq!(merged_gaps([gave_up(), pauses()]), waited);
        assert_eq!(merged_gaps([pauses(), gave_up()]), waited);
        assert_eq!(merged_gaps([gave_up(), vec![gap(0, 1_000, None)], pauses()]), waited);
        let dead = [(100 * MS, 1_000 * MS)];
        assert_eq!(merged_gaps([gave_up(), vec![gap(95, 1_000, None)]]), dead, "no client had an answer");
        assert_eq!(merged_gaps([gave_up()]), dead);
    }

    #[test]
    fn a_part_that_does_not_tell_targets_apart_leaves_them_unknown() {
        let target = |name: &str| TargetGaps { name: name.to_owned(), gaps: vec![gap(0, 100, Some(0))] };
        let both = || vec![target("a"), target("b")];
        assert_eq!(common_by_target(vec![both(), both()]), both());
        for parts in [vec![both(), Vec::new()], vec![Vec::new(), both()], vec![both(), vec![target("a"), target("c")]]]
        {
            assert!(common_by_target(parts).is_empty());
        }
    }

    #[test]
    fn gaps_are_bounded_and_the_long_ones_stay() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.answered(0, (5 * MS, 5 * MS)), None);
        gaps.failed(7 * MS, 8 * MS);
        gaps.failed(6 * MS, 9 * MS);
        let failed = FailedRequests { due: 6 * MS, at: 9 * MS };
        assert_eq!(gaps.answered(0, (15 * MS, 15 * MS)), Some((5 * MS, Some(failed))));
        assert_eq!(gaps.answered(0, (14 * MS, 14 * MS)), None, "answers out of order make no gap");
        assert_eq!(gaps.answered(0, (16 * MS, 90 * MS)), None, "it had come long before it was read");
        for i in 0..200_000 {
            let long = if i % 1000 == 0 { 2_000 } else { 15 };
            gaps.push(gap(i * 3_000, i * 3_000 + long, None));
        }
        let kept = gaps.take();
        assert!(kept.len() <= MOST);
        assert_eq!(kept.iter().filter(|gap| gap.to - gap.from == 2_000 * MS).count(), 200);
    }
}
