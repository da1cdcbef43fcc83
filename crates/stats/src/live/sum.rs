//! Sums of some requests.

use plimsoll_model::Transaction;

use crate::{HEAT_EDGES_NS, HEAT_ROWS, Waiting, heat, rank};

/// Sums of some requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveSum {
    /// Requests.
    pub count: u64,
    /// Those that were refused or failed.
    pub errors: u64,
    /// How long clients waited for the answers, each message's time once, ns.
    pub waited_ns: u64,
    timed: u64,
    response_ns: u64,
    longest_ns: u64,
    /// Response times by the rows of a heat map; rising.
    rows: Vec<(u8, u32)>,
}

impl LiveSum {
    pub(super) fn record(&mut self, t: &Transaction, response_ns: Option<u64>) {
        self.count += 1;
        self.errors += u64::from(t.outcome.is_error());
        let Some(ns) = response_ns else { return };
        if Waiting::counts(t) {
            self.waited_ns = self.waited_ns.saturating_add(ns);
        }
        self.timed += 1;
        self.response_ns = self.response_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
        self.add(heat::row_of(ns) as u8, 1);
    }

    fn add(&mut self, row: u8, count: u32) {
        match self.rows.binary_search_by_key(&row, |&(row, _)| row) {
            Ok(place) => self.rows[place].1 = self.rows[place].1.saturating_add(count),
            Err(place) => self.rows.insert(place, (row, count)),
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &LiveSum) {
        self.count += other.count;
        self.errors += other.errors;
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.timed += other.timed;
        self.response_ns = self.response_ns.saturating_add(other.response_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        other.rows.iter().for_each(|&(row, count)| self.add(row, count));
    }

    /// How many have a response time.
    pub fn timed(&self) -> u64 {
        self.timed
    }

    /// The sum of the response times, ns.
    pub fn response_ns(&self) -> u64 {
        self.response_ns
    }

    /// The longest one, ns.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// How many are in which row of a heat map; rising.
    pub fn rows(&self) -> &[(u8, u32)] {
        &self.rows
    }

    /// The same as a column of a heat map.
    pub fn heat(&self) -> [u64; HEAT_ROWS] {
        let mut column = [0; HEAT_ROWS];
        self.rows.iter().for_each(|&(row, count)| column[usize::from(row)] += u64::from(count));
        column
    }

    /// Mean response time, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.response_ns as f64 / self.timed as f64)
    }

    /// A percentile (0..=100) of the response times, ns: the middle of a row of the heat map, at most 13 % off.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let row = rank::cell_at(percentile, self.rows.iter().map(|&(row, count)| (row, u64::from(count))))?;
        let row = usize::from(row);
        let from = HEAT_EDGES_NS[row];
        let middle = HEAT_EDGES_NS.get(row + 1).map_or(from, |&to| ((from.max(1) as f64) * to as f64).sqrt() as u64);
        Some(middle.min(self.longest_ns))
    }
}
