//! Requests that stand for the buckets of a histogram.

use std::collections::HashMap;
use std::num::NonZeroU64;

use plimsoll_model::{Operation, Transaction};

/// Parts of a power of two with separate exemplars: as many as the buckets of a server's metrics.
const PARTS: usize = 4;
/// All parts of the bit lengths of 64-bit numbers.
const PLACES: usize = 65 * PARTS;

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

/// The latest request of each operation, and of each quarter of the response times from a power of two to the next.
#[derive(Clone, Debug, Default)]
pub struct Exemplars {
    by_operation: HashMap<Operation, Box<[Option<Exemplar>; PLACES]>>,
}

impl Exemplars {
    pub(super) fn record(&mut self, t: &Transaction) {
        let response_ns = t.timeline.response_time().and_then(|ns| u64::try_from(ns).ok());
        let (Some(frame), Some(response_ns)) = (t.frames.request_first, response_ns) else { return };
        let Some(ended_ns) = t.timeline.response_last else { return };
        let places = self.by_operation.entry(t.procedure.row().operation).or_insert_with(|| Box::new([None; PLACES]));
        places[place(response_ns)] = Some(Exemplar { frame, response_ns, ended_ns });
    }

    pub(super) fn merge(&mut self, part: &Exemplars) {
        for (operation, part) in &part.by_operation {
            let all = self.by_operation.entry(*operation).or_insert_with(|| Box::new([None; PLACES]));
            all.iter_mut().zip(part.iter()).for_each(|(all, part)| *all = part.or(*all));
        }
    }

    /// The operations with their exemplars, whose response times rise.
    pub fn iter(&self) -> impl Iterator<Item = (Operation, &[Option<Exemplar>])> {
        self.by_operation.iter().map(|(operation, places)| (*operation, &places[..]))
    }
}

/// By the number of bits, and by the two bits behind the first.
fn place(ns: u64) -> usize {
    let bits = u64::BITS - ns.leading_zeros();
    let part = if bits < 3 { 0 } else { (ns >> (bits - 3)) as usize % PARTS };
    bits as usize * PARTS + part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_rise_and_each_quarter_has_its_own() {
        let edges: Vec<u64> = (2..63).flat_map(|bits| (4..8).map(move |part| part << (bits - 2))).collect();
        let places: Vec<usize> = edges.iter().map(|&edge| place(edge)).collect();
        assert!(places.windows(2).all(|two| two[1] == two[0] + 1), "{places:?}");
        assert!(edges.windows(2).all(|two| place(two[1] - 1) == place(two[0])));
        assert!(place(0) < place(1) && place(1) < place(2) && place(u64::MAX) == PLACES - 1);
    }
}
