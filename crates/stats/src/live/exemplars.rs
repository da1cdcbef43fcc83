//! Requests that stand for the buckets of a histogram.

use std::collections::HashMap;
use std::num::NonZeroU64;

use plimsoll_model::{Operation, Transaction};

/// Bit lengths of 64-bit numbers.
const LENGTHS: usize = 65;

/// A request of a capture, to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exemplar {
    /// Frame with the first byte of the request.
    pub frame: NonZeroU64,
    /// Its response time, ns.
    pub response_ns: u64,
    /// When its response ended, ns since the Unix epoch.
    pub ended_ns: i64,
}

/// The latest request of each operation, and of response times from a power of two to the next.
#[derive(Clone, Debug, Default)]
pub struct Exemplars {
    by_operation: HashMap<Operation, Box<[Option<Exemplar>; LENGTHS]>>,
}

impl Exemplars {
    pub(super) fn record(&mut self, t: &Transaction) {
        let response_ns = t.timeline.response_time().and_then(|ns| u64::try_from(ns).ok());
        let (Some(frame), Some(response_ns)) = (t.frames.request_first, response_ns) else { return };
        let Some(ended_ns) = t.timeline.response_last else { return };
        let places = self.by_operation.entry(t.procedure.row().operation).or_insert_with(|| Box::new([None; LENGTHS]));
        places[(u64::BITS - response_ns.leading_zeros()) as usize] = Some(Exemplar { frame, response_ns, ended_ns });
    }

    pub(super) fn merge(&mut self, part: &Exemplars) {
        for (operation, part) in &part.by_operation {
            let all = self.by_operation.entry(*operation).or_insert_with(|| Box::new([None; LENGTHS]));
            all.iter_mut().zip(part.iter()).for_each(|(all, part)| *all = part.or(*all));
        }
    }

    /// The operations with their exemplars: that at place n has a response time of 2^(n - 1) ns and more, but less than 2^n ns.
    pub fn iter(&self) -> impl Iterator<Item = (Operation, &[Option<Exemplar>])> {
        self.by_operation.iter().map(|(operation, places)| (*operation, &places[..]))
    }
}
