//! The content of an interval.

use plimsoll_model::{Group, Procedure, add_fields};

use super::{IntervalWidth, ROW_CELLS};
use crate::{FineHistogram, GroupKey, Moments};

/// Sums for one procedure in one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalRow {
    /// Requests; those without an answer among them.
    pub count: u64,
    /// Requests that were refused or failed.
    pub errors: u64,
    /// Requests whose answer was not seen.
    pub unanswered: u64,
    /// File data moved, bytes; a lower bound where `payload_unknown` is not 0.
    pub payload_bytes: u64,
    /// Operations that moved an unknown amount of file data.
    pub payload_unknown: u64,
    /// Response times, exact: those that lead ([`Headline`](crate::Headline)); negative ones are left out.
    pub response: Moments,
    /// The same response times for percentiles.
    pub histogram: FineHistogram,
}

impl IntervalRow {
    /// Adds another part of the same data, or another row. Exact.
    pub fn merge(&mut self, other: &IntervalRow) {
        add_fields!(self, other; count, errors, unanswered, payload_bytes, payload_unknown);
        self.response.merge(&other.response);
        self.histogram.merge(&other.histogram);
    }

    /// A percentile (0..=100) of the response times, ns, to 0.1 % and within the exact extremes. The percentile of the sum of a level's
    /// intervals is the one in its report.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let (min, max) = (self.response.min_ns()?, self.response.max_ns()?);
        Some(if percentile <= 0.0 { min } else { self.histogram.percentile_ns(percentile)?.clamp(min, max) })
    }
}

/// One interval: one row per procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    pub(crate) number: i64,
    pub(crate) width: IntervalWidth,
    // By procedure, each once.
    pub(crate) rows: Vec<(Procedure, IntervalRow)>,
}

impl Interval {
    /// The empty interval in which an instant (ns since the Unix epoch) lies.
    pub fn at(ns: i64, width: IntervalWidth) -> Self {
        Self { number: width.number(ns), width, rows: Vec::new() }
    }

    /// Its beginning, ns since the Unix epoch: a multiple of its width.
    pub fn start_ns(&self) -> i64 {
        self.number.saturating_mul(self.width.ns())
    }

    /// Where the next one begins, ns since the Unix epoch.
    pub fn end_ns(&self) -> i64 {
        self.start_ns().saturating_add(self.width.ns())
    }

    /// How long it is.
    pub fn width(&self) -> IntervalWidth {
        self.width
    }

    /// The procedures of which something happened, in the table's order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (Procedure, &IntervalRow)> {
        self.rows.iter().map(|(procedure, row)| (*procedure, row))
    }

    /// One procedure's row; `None` where nothing of it happened.
    pub fn procedure(&self, procedure: Procedure) -> Option<&IntervalRow> {
        let place = self.rows.binary_search_by_key(&procedure, |&(procedure, _)| procedure).ok()?;
        Some(&self.rows[place].1)
    }

    /// A group's sum; all 0 where nothing of it happened.
    pub fn group(&self, key: GroupKey) -> IntervalRow {
        self.sum(|group| key.holds(group))
    }

    /// The sum of all.
    pub fn total(&self) -> IntervalRow {
        self.sum(|_| true)
    }

    fn sum(&self, holds: impl Fn(Group) -> bool) -> IntervalRow {
        let mut sum = IntervalRow::default();
        self.rows().filter(|(procedure, _)| holds(procedure.row().group)).for_each(|(_, row)| sum.merge(row));
        sum
    }

    /// The row of a procedure, made where there is none.
    pub fn row_mut(&mut self, procedure: Procedure) -> &mut IntervalRow {
        let place = match self.rows.binary_search_by_key(&procedure, |&(procedure, _)| procedure) {
            Ok(place) => place,
            Err(place) => {
                self.rows.insert(place, (procedure, IntervalRow::default()));
                place
            }
        };
        &mut self.rows[place].1
    }

    /// Adds what happened in another part of this interval, or in another interval.
    pub(super) fn absorb(&mut self, other: &Interval) {
        other.rows().for_each(|(procedure, row)| self.row_mut(procedure).merge(row));
    }

    /// Its cost, in histogram cells.
    pub(super) fn cells(&self) -> usize {
        self.rows.iter().map(|(_, row)| row.histogram.len() + ROW_CELLS).sum()
    }
}
