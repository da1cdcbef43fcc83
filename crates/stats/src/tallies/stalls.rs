//! Requests that took long, and whether they come at regular intervals.

use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol, Transaction};
use serde::{Deserialize, Serialize};

/// How long a request takes that is noted, at first, ns. Doubled whenever there are too many.
const FIRST_NS: u64 = 1 << 24;
/// Requests noted: 80 KiB.
const MAX_NOTED: usize = 1024;
/// Requests that end within this time of each other belong to the same stall, ns.
const JOINED_NS: i64 = 10_000_000;
/// Stalls at regular intervals, at least.
const LEAST_STALLS: usize = 6;
/// Minimum fraction of the intervals that are near to their median.
const MOST_INTERVALS: f64 = 0.8;
/// Maximum relative distance of these intervals from their median.
const NEAR: f64 = 0.1;
/// Stalls take this part of an interval at most.
const SHORT: f64 = 0.5;

/// A request that took long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Long {
    /// From the first byte of the request to the last of the response, ns.
    pub span_ns: (i64, i64),
    /// How long the client waited, ns.
    pub waited_ns: u64,
    /// Whose it was.
    pub client: IpAddr,
    /// The server.
    pub server: IpAddr,
    /// The operation.
    pub operation: Operation,
    /// The share.
    pub share: Symbol,
    /// The path, if known.
    pub path: Symbol,
}

/// All that took as long as the threshold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongOnes {
    threshold_ns: u64,
    noted: Vec<Long>,
}

/// Stalls at regular intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Periodic {
    /// Median interval from end to end, ns.
    pub interval_ns: u64,
    /// How many stalls.
    pub stalls: u64,
    /// When the first began, ns.
    pub first_ns: i64,
    /// The shortest request, ns.
    pub least_ns: u64,
    /// The requests.
    pub requests: Vec<Long>,
}

impl Default for LongOnes {
    fn default() -> Self {
        Self { threshold_ns: FIRST_NS, noted: Vec::new() }
    }
}

impl LongOnes {
    #[inline]
    pub(super) fn record(&mut self, t: &Transaction, waited_ns: u64) {
        if waited_ns >= self.threshold_ns {
            self.note(t, waited_ns);
        }
    }

    #[cold]
    fn note(&mut self, t: &Transaction, waited_ns: u64) {
        let Some(end_ns) = t.timeline.response_last else { return };
        let span_ns = (end_ns.saturating_sub_unsigned(waited_ns), end_ns);
        let (client, server, operation) = (t.client.ip, t.server.ip, t.procedure.row().operation);
        self.noted.push(Long { span_ns, waited_ns, client, server, operation, share: t.share, path: t.path });
        self.limit();
    }

    fn limit(&mut self) {
        while self.noted.len() > MAX_NOTED && self.threshold_ns < 1 << 56 {
            self.threshold_ns *= 2;
            let least_ns = self.threshold_ns;
            self.noted.retain(|one| one.waited_ns >= least_ns);
        }
        self.noted.truncate(MAX_NOTED);
    }

    /// Adds another part of the same data.
    pub(super) fn merge(&mut self, other: &LongOnes) {
        self.threshold_ns = self.threshold_ns.max(other.threshold_ns);
        let least_ns = self.threshold_ns;
        self.noted.extend(other.noted.iter());
        self.noted.retain(|one| one.waited_ns >= least_ns);
        self.limit();
    }

    /// Requests that took this long or longer are all noted, ns.
    pub fn least_ns(&self) -> u64 {
        self.threshold_ns
    }

    /// The requests noted.
    pub fn noted(&self) -> &[Long] {
        &self.noted
    }

    /// The regular stalls that make clients wait longest, of those that requests make which take as long as any power of two.
    pub fn periodic(&self) -> Option<Periodic> {
        let mut ordered = self.noted.clone();
        ordered.sort_by_key(|one| one.span_ns);
        let waited = |found: &Periodic| found.requests.iter().map(|one| u128::from(one.waited_ns)).sum::<u128>();
        let shifts = 0..u64::BITS - 24;
        let least = shifts.filter_map(|shift| self.threshold_ns.checked_shl(shift)).take_while(|&ns| ns < 1 << 56);
        let found = least.filter_map(|least_ns| {
            ordered.retain(|one| one.waited_ns >= least_ns);
            periodic(&ordered, least_ns)
        });
        found.max_by_key(waited)
    }
}

/// Whether requests, in the order of their beginnings, make regular stalls.
fn periodic(requests: &[Long], least_ns: u64) -> Option<Periodic> {
    let mut stalls: Vec<(i64, i64)> = Vec::new();
    for one in requests {
        match stalls.last_mut() {
            Some((_, end)) if one.span_ns.0 <= end.saturating_add(JOINED_NS) => *end = (*end).max(one.span_ns.1),
            _ => stalls.push(one.span_ns),
        }
    }
    if stalls.len() < LEAST_STALLS {
        return None;
    }
    let intervals: Vec<u64> = stalls.windows(2).map(|pair| pair[1].1.abs_diff(pair[0].1)).collect();
    let interval_ns = median(intervals.clone())?;
    let is_near = |ns: &&u64| ns.abs_diff(interval_ns) as f64 <= NEAR * interval_ns as f64;
    let near = intervals.iter().filter(is_near).count();
    let length_ns = median(stalls.iter().map(|(from, to)| to.abs_diff(*from)).collect())?;
    let is_regular = near as f64 >= MOST_INTERVALS * intervals.len() as f64 && near + 1 >= LEAST_STALLS;
    (is_regular && length_ns as f64 <= SHORT * interval_ns as f64).then(|| Periodic {
        interval_ns,
        stalls: stalls.len() as u64,
        first_ns: stalls[0].0,
        least_ns,
        requests: requests.to_vec(),
    })
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

crate::state::fields!("long request"; Long { span_ns, waited_ns, client, server, operation, share, path });
crate::state::fields!("long requests"; LongOnes { threshold_ns, noted } if |long| {
    long.noted.len() <= MAX_NOTED && (FIRST_NS..=1 << 56).contains(&long.threshold_ns)
});

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};
    use plimsoll_testkit::transaction;

    use super::*;

    const MS: i64 = 1_000_000;

    fn long(ends_ms: impl IntoIterator<Item = (i64, i64)>) -> LongOnes {
        let mut all = LongOnes::default();
        for (end_ms, took_ms) in ends_ms {
            let t = transaction(Procedure::of(Protocol::Smb2, 8), end_ms * MS, took_ms * MS);
            all.record(&t, (took_ms * MS) as u64);
        }
        all
    }

    #[test]
    fn stalls_every_few_seconds_are_found_among_other_long_requests() {
        let stalls = (1..=10).flat_map(|n| [(n * 5_000, 300), (n * 5_000 + 1, 250), (n * 5_000 + 2, 120)]);
        let others = [(7_300, 40), (22_900, 60), (44_100, 35)];
        let found = long(stalls.chain(others)).periodic().unwrap();
        assert_eq!((found.stalls, found.interval_ns), (10, 5_000_000_000));
        assert_eq!((found.requests.len(), found.first_ns), (30, 4_700 * MS), "without those between the stalls");
    }

    #[test]
    fn random_or_few_stalls_have_no_interval() {
        let mut seed = 7_u64;
        let mut at = 0;
        let random: Vec<(i64, i64)> = (0..40)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                at += 400 + (seed >> 33) as i64 % 5_000;
                (at, 300)
            })
            .collect();
        assert_eq!(long(random).periodic(), None);
        assert_eq!(long((1..=5).map(|n| (n * 5_000, 300))).periodic(), None, "five");
        assert_eq!(long((1..=500).map(|n| (n * 500, 300))).periodic(), None, "more stall than time between");
    }

    #[test]
    fn only_so_many_are_noted() {
        let many = long((0..5_000).map(|n| (n * 100, 20 + n % 64)));
        assert!(many.noted.len() <= MAX_NOTED && many.threshold_ns > FIRST_NS);
    }
}
