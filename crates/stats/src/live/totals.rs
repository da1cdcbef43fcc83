//! Sums since a watch began, for a program that asks for them again and again.

use plimsoll_model::{Names, Outcome, Procedure, Sink, Transaction};

use super::Exemplars;
use crate::accumulator::Sample;
use crate::{Breakdown, Dimension, Headline};

/// What [`Totals`] are by, one at a time.
pub const TOTAL_DIMENSIONS: [Dimension; 4] =
    [Dimension::Server, Dimension::Share, Dimension::Operation, Dimension::Client];
/// Maximum number of keys per dimension: a monitoring program stores each as a time series for months.
pub const MAX_TOTAL_KEYS: usize = 100;

/// Sums by server, by share, by operation and by client. A sum never falls, and a key stays forever: the first [`MAX_TOTAL_KEYS`] of a
/// dimension have separate sums, all others share one.
#[derive(Clone, Debug)]
pub struct Totals {
    by: [Breakdown; TOTAL_DIMENSIONS.len()],
    exemplars: Exemplars,
    write_raw_async: Procedure,
}

impl Default for Totals {
    fn default() -> Self {
        let by = |dimension: Dimension| Breakdown::of_at_most(MAX_TOTAL_KEYS, dimension.into());
        Self {
            by: TOTAL_DIMENSIONS.map(by),
            exemplars: Exemplars::default(),
            write_raw_async: Procedure::write_raw_async(),
        }
    }
}

impl Totals {
    /// Requests of a capture that stand for response times of each operation.
    pub fn exemplars(&self) -> &Exemplars {
        &self.exemplars
    }

    /// Adds the sums of another part of the same traffic.
    pub fn merge(&mut self, part: &Totals) {
        self.by.iter_mut().zip(&part.by).for_each(|(all, part)| all.merge(part));
        self.exemplars.merge(&part.exemplars);
    }

    /// The sums by each of [`TOTAL_DIMENSIONS`].
    pub fn by(&self) -> impl Iterator<Item = (Dimension, &Breakdown)> {
        TOTAL_DIMENSIONS.into_iter().zip(&self.by)
    }
}

impl Sink for Totals {
    /// Counts the same transactions as a report's breakdown.
    fn transaction(&mut self, t: &Transaction, _names: &Names) {
        let one_way = t.procedure == self.write_raw_async;
        if one_way || t.long_lived || !t.counted || t.outcome == Outcome::NeverSent {
            return;
        }
        let sample = Sample::of(t, one_way, Headline::Response);
        self.by.iter_mut().for_each(|breakdown| breakdown.record(t, &sample));
        self.exemplars.record(t);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Statistics};
    use plimsoll_model::Protocol;
    use plimsoll_testkit::transaction;

    #[test]
    fn totals_are_those_of_a_report_and_others_are_together() {
        let (mut totals, names) = (Totals::default(), Names::default());
        let by = Some(Dimension::Client.into());
        let mut statistics = Statistics::new(Options { by, ..Options::default() });
        for number in 0..2_000_u32 {
            let mut t = transaction(Procedure::of(Protocol::Smb2, 8), i64::from(number) * 1_000, 5_000);
            t.client.ip = std::net::Ipv4Addr::from_bits(0x0a00_0000 + number % 150).into();
            t.outcome = if number % 9 == 0 { Outcome::Failed } else { Outcome::Succeeded };
            totals.transaction(&t, &names);
            statistics.record(&t);
        }
        for (dimension, found) in totals.by() {
            let sum: u64 = found.rows().iter().map(|(_, stats)| stats.count).sum::<u64>() + found.others().count;
            assert_eq!(sum, 2_000, "{dimension:?}");
        }
        let (_, clients) = totals.by().last().unwrap();
        assert_eq!(clients.rows().len(), MAX_TOTAL_KEYS);
        let reported = statistics.breakdown().unwrap().rows();
        for (key, stats) in clients.rows() {
            assert_eq!(reported.iter().find(|(other, _)| *other == key).map(|(_, stats)| *stats), Some(stats));
        }
    }
}
