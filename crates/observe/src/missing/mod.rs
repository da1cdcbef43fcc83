//! Estimates the number of operations that a capture lacks.
//!
//! A lost packet leaves traces even if nothing of its messages was captured: sequence numbers without bytes, and gaps in ids that count
//! up. Each measure gives an estimate with an error, and the best estimate is used. Losses that no measure covers, such as a connection
//! that ended while the capture lost packets, widen the interval.

mod blocks;
mod bursts;
mod ids;
mod ledger;
mod tally;

pub(crate) use blocks::Blocks;
pub(crate) use bursts::{Bursts, OpenGaps, between_connections};
pub(crate) use ids::Ids;
pub(crate) use ledger::{End, Ledger, client_by_port};
pub(crate) use tally::Tally;

/// A number of operations with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// How many.
    pub(crate) operations: f64,
    /// Its standard error.
    pub(crate) error: f64,
}

impl Estimate {
    /// The sum of two estimates of different numbers.
    pub(crate) fn and(self, other: Estimate) -> Estimate {
        Estimate { operations: self.operations + other.operations, error: self.error.hypot(other.error) }
    }

    /// The mean of several estimates of the same number, each weighted by its precision. `None` of none.
    pub(crate) fn combined(all: impl IntoIterator<Item = Estimate>) -> Option<Estimate> {
        /// Bytes and ids come whole: below this error, in operations, an estimate is exact.
        const EXACT: f64 = 0.05;
        let (mut weights, mut sum, mut squares, mut count) = (0.0, 0.0, 0.0, 0.0);
        for one in all {
            let weight = one.error.max(EXACT).powi(-2);
            weights += weight;
            sum += weight * one.operations;
            squares += weight * one.operations * one.operations;
            count += 1.0;
        }
        let operations = sum / weights;
        // Estimates that differ by more than their errors have larger errors than they seem to (Birge 1932).
        let spread = if count > 1.0 { (squares - sum * operations).max(0.0) / (count - 1.0) } else { 1.0 };
        (weights > 0.0).then(|| Estimate { operations, error: (spread.max(1.0) / weights).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_precise_estimate_counts_more() {
        let rough = Estimate { operations: 100.0, error: 30.0 };
        let fine = Estimate { operations: 80.0, error: 1.0 };
        let both = Estimate::combined([rough, fine]).unwrap();
        assert!((80.0..80.1).contains(&both.operations) && both.error < 1.0, "{both:?}");
        assert_eq!(Estimate::combined([]), None);
    }
}
