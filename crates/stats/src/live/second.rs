//! One second.

use super::cells::Cells;
use super::selection::{self, Selected};
use super::waiting::Wait;
use crate::{HEAT_ROWS, Interval, IntervalRow, IntervalWidth, Key, heat};

pub(super) const SECOND_NS: i64 = 1_000_000_000;

/// What happened in a second.
#[derive(Clone, Debug)]
pub struct Second {
    number: i64,
    interval: Interval,
    pub(super) cells: Cells,
    /// Service times by the rows of a heat map.
    service: Box<[u64; HEAT_ROWS]>,
    pub(super) outstanding_ns: u64,
    /// The same of requests that still wait.
    pub(super) waiting_ns: u64,
    /// The requests that waited at its end, once it was noted as over.
    pub(super) waited: Option<Wait>,
    pub(super) is_noted: bool,
    pub(super) lost_packets: u64,
    pub(super) interface_down: bool,
}

impl Second {
    pub(super) fn new(number: i64) -> Self {
        let service = Box::new([0; HEAT_ROWS]);
        Self {
            number,
            interval: empty(number),
            cells: Cells::default(),
            service,
            outstanding_ns: 0,
            waiting_ns: 0,
            waited: None,
            is_noted: false,
            lost_packets: 0,
            interface_down: false,
        }
    }

    /// Seconds since the Unix epoch.
    pub(super) fn number(&self) -> i64 {
        self.number
    }

    /// When it began, ns since the Unix epoch.
    pub fn start_ns(&self) -> i64 {
        self.number.saturating_mul(SECOND_NS)
    }

    /// Where operations count as in a report's series: in the second in which they ended.
    pub fn total(&self) -> IntervalRow {
        self.interval.total()
    }

    /// Mean number of outstanding requests over the second: the sum of the times that they were outstanding in it. Requests without an
    /// answer count as long as they wait.
    pub fn queue_depth(&self) -> f64 {
        self.outstanding_ns.saturating_add(self.waiting_ns) as f64 / SECOND_NS as f64
    }

    /// Whether [`Second::waited`] is known: the second is over, and the interface was not down.
    pub fn knows_waiting(&self) -> bool {
        self.is_noted && !self.interface_down
    }

    /// The requests without a response that waited at its end.
    pub fn waited(&self) -> Option<Wait> {
        self.waited
    }

    /// Packets that the capture lost.
    pub fn lost_packets(&self) -> u64 {
        self.lost_packets
    }

    /// Whether the captured interface was down in a part of it.
    pub fn interface_down(&self) -> bool {
        self.interface_down
    }

    /// The same by client, share, operation and path.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The requests where all of `within` holds.
    pub fn part(&self, within: &[Key]) -> Selected {
        selection::part(self, within)
    }

    /// Response times by the rows of a heat map.
    pub fn heat(&self) -> [u64; HEAT_ROWS] {
        let mut rows = [0; HEAT_ROWS];
        for cell in self.interval.rows().flat_map(|(_, row)| row.histogram.iter()) {
            rows[heat::row_of(cell.to_ns)] += cell.count;
        }
        rows
    }

    /// Service times by the rows of a heat map: of those requests of which they are known.
    pub fn service_heat(&self) -> &[u64; HEAT_ROWS] {
        &self.service
    }

    #[inline]
    pub(super) fn record_service(&mut self, ns: u64) {
        self.service[heat::row_of(ns)] += 1;
    }

    /// Adds another part of the same second.
    pub(super) fn merge(&mut self, part: Second) {
        self.outstanding_ns += part.outstanding_ns;
        self.lost_packets += part.lost_packets;
        self.interface_down |= part.interface_down;
        self.service.iter_mut().zip(*part.service).for_each(|(all, more)| *all += more);
        self.add(&part.interval);
        self.cells.merge(part.cells);
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        interval.rows().for_each(|(procedure, row)| self.interval.row_mut(procedure).merge(row));
    }
}

/// An empty interval of one second.
pub(super) fn empty(number: i64) -> Interval {
    Interval::at(number.saturating_mul(SECOND_NS), IntervalWidth::USUAL)
}
