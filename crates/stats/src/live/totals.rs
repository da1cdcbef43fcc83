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

type ByDimension = [Breakdown; TOTAL_DIMENSIONS.len()];

/// Sums by server, by share, by operation and by client. A sum never falls, and a key stays forever: the first [`MAX_TOTAL_KEYS`] of a
/// dimension have separate sums, all others share one.
#[derive(Clone, Debug)]
pub struct Totals {
    by: ByDimension,
    /// The same with response times from the intended start; `None` without a schedule.
    from_intended: Option<Box<ByDimension>>,
    exemplars: Exemplars,
    write_raw_async: Procedure,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            by: by_dimension(),
            from_intended: None,
            exemplars: Exemplars::default(),
            write_raw_async: Procedure::write_raw_async(),
        }
    }
}

fn by_dimension() -> ByDimension {
    TOTAL_DIMENSIONS.map(|dimension| Breakdown::of_at_most(MAX_TOTAL_KEYS, dimension.into()))
}

impl Totals {
    /// Of transactions whose leading response time is `headline`, none yet.
    #[must_use]
    pub fn of(headline: Headline) -> Self {
        let from_intended = (headline == Headline::FromIntended).then(|| Box::new(by_dimension()));
        Self { from_intended, ..Self::default() }
    }

    /// The sums so far; further transactions begin new ones.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let headline = if self.from_intended.is_some() { Headline::FromIntended } else { Headline::Response };
        std::mem::replace(self, Self::of(headline))
    }

    /// Requests of a capture that stand for response times of each operation.
    pub fn exemplars(&self) -> &Exemplars {
        &self.exemplars
    }

    /// Adds the sums of another part of the same traffic.
    pub fn merge(&mut self, part: &Totals) {
        self.by.iter_mut().zip(&part.by).for_each(|(all, part)| all.merge(part));
        if let Some(part) = &part.from_intended {
            let all = self.from_intended.get_or_insert_with(|| Box::new(by_dimension()));
            all.iter_mut().zip(part.iter()).for_each(|(all, part)| all.merge(part));
        }
        self.exemplars.merge(&part.exemplars);
    }

    /// The sums by each of [`TOTAL_DIMENSIONS`].
    pub fn by(&self) -> impl Iterator<Item = (Dimension, &Breakdown)> {
        TOTAL_DIMENSIONS.into_iter().zip(&self.by)
    }

    /// The same sums, with the response times from the intended start; `None` without a schedule.
    pub fn from_intended(&self, dimension: Dimension) -> Option<&Breakdown> {
        let mut all = TOTAL_DIMENSIONS.into_iter().zip(self.from_intended.as_ref()?.iter());
        all.find_map(|(its, breakdown)| (its == dimension).then_some(breakdown))
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
        if let Some(from_intended) = &mut self.from_intended {
            let sample = Sample::of(t, one_way, Headline::FromIntended);
            from_intended.iter_mut().for_each(|breakdown| breakdown.record(t, &sample));
        }
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
