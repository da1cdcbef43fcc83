//! The sums in a cell of the cube.

use plimsoll_model::Transaction;

use super::histogram::CubeHistogram;
use crate::{ByteSum, Waiting};

/// The requests of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CubeCell {
    /// Requests.
    pub count: u64,
    /// Those that were refused or failed.
    pub errors: u64,
    /// File data moved.
    pub payload: ByteSum,
    /// How long clients waited for the answers.
    pub waiting: Waiting,
    /// Leading response times that are service times too, as most are where request and answer took a packet each.
    pub both: CubeHistogram,
    /// The response times of other requests.
    pub response: CubeHistogram,
    /// The service times of other requests.
    pub service: CubeHistogram,
}

impl CubeCell {
    /// Takes one transaction, whose leading response time is known where it is not negative; tells how many histogram entries that added.
    pub(super) fn record(&mut self, t: &Transaction, response_ns: Option<u64>, joined: u32) -> usize {
        self.count += 1;
        self.errors += u64::from(t.outcome.is_error());
        self.payload.add_payload(t);
        let service_ns = t.timeline.service_time().and_then(|ns| u64::try_from(ns).ok());
        if let Some(ns) = response_ns {
            self.waiting.record(t, ns, service_ns);
        }
        match (response_ns, service_ns) {
            (Some(response), Some(service)) if response == service => self.both.record(response, joined),
            (response, service) => {
                response.map_or(0, |ns| self.response.record(ns, joined))
                    + service.map_or(0, |ns| self.service.record(ns, joined))
            }
        }
    }

    /// Adds another part of the same data with bins as wide; tells how many histogram entries that added.
    pub(super) fn merge(&mut self, other: &CubeCell) -> usize {
        self.count += other.count;
        self.errors += other.errors;
        self.payload.merge(other.payload);
        self.waiting.merge(other.waiting);
        let histograms =
            [(&mut self.both, &other.both), (&mut self.response, &other.response), (&mut self.service, &other.service)];
        histograms.into_iter().map(|(mine, theirs)| mine.merge(theirs)).sum()
    }

    pub(super) fn coarsen(&mut self, joined: u32) {
        for histogram in [&mut self.both, &mut self.response, &mut self.service] {
            histogram.coarsen(joined);
        }
    }

    pub(super) fn entries(&self) -> usize {
        self.both.entries() + self.response.entries() + self.service.entries()
    }
}
