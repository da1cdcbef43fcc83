//! Reference orders: the same runs reordered, to show the effect of chance.
//!
//! If nothing changes and runs are independent, every order of the runs is equally likely. Consecutive runs are correlated, though (the
//! same night, the same state of the disk), so the parts of such a history differ more. The reordered values are therefore correlated
//! too: each takes over [`CARRYOVER`] of the previous one.

use super::statistic::greatest;

/// Autocorrelation of consecutive runs that counts as chance. With less, false alarms are rarer (docs/decisions/0027-change-points.md has
/// the rates).
pub const CARRYOVER: f64 = 0.3;

/// Orders of the runs of a piece, drawn the same way each time.
pub(super) struct Orders {
    /// Each metric's values around their mean.
    rows: Vec<Vec<f64>>,
    order: Vec<usize>,
    bits: u64,
    values: Vec<f64>,
}

impl Orders {
    pub(super) fn new(rows: &[&[f64]]) -> Self {
        let runs = rows.iter().map(|row| row.len()).min().unwrap_or(0);
        let centred = |row: &&[f64]| {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            row.iter().map(|value| value - mean).collect()
        };
        let rows = rows.iter().map(centred).collect();
        Self { rows, order: (0..runs).collect(), bits: runs as u64, values: Vec::with_capacity(runs) }
    }

    /// The greatest statistic of all metrics in the next order.
    pub(super) fn next_maximum(&mut self) -> f64 {
        // Fisher and Yates.
        for place in (1..self.order.len()).rev() {
            let other = self.below(place as u64 + 1);
            self.order.swap(place, other);
        }
        let fresh = (1.0 - CARRYOVER * CARRYOVER).sqrt();
        let mut maximum = 0.0_f64;
        for row in &self.rows {
            self.values.clear();
            let mut before = None;
            for value in self.order.iter().filter_map(|&place| row.get(place)) {
                let value = before.map_or(*value, |before: f64| CARRYOVER * before + fresh * value);
                self.values.push(value);
                before = Some(value);
            }
            maximum = maximum.max(greatest(&self.values));
        }
        maximum
    }

    /// A number below `limit` (SplitMix64: Steele, Lea and Flood 2014; the remainder's bias is below 1e-16).
    fn below(&mut self, limit: u64) -> usize {
        self.bits = self.bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.bits;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % limit.max(1)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_few_runs_comes_and_about_equally_often() {
        let row = [1.0, 2.0, 3.0];
        let mut orders = Orders::new(&[&row]);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            orders.next_maximum();
            *seen.entry(orders.order.clone()).or_insert(0_u32) += 1;
        }
        assert!(seen.len() == 6 && seen.values().all(|count| (900..1_100).contains(count)), "{seen:?}");
    }

    #[test]
    fn values_keep_their_scatter_and_become_alike() {
        let row: Vec<f64> = (0..400).map(|place| f64::from(place % 20)).collect();
        let mut orders = Orders::new(&[&row]);
        let (mut scatter, mut alike) = (0.0, 0.0);
        for _ in 0..100 {
            orders.next_maximum();
            scatter += orders.values.iter().map(|value| value * value).sum::<f64>();
            alike += orders.values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        }
        let expected = row.iter().map(|value| (value - 9.5).powi(2)).sum::<f64>() * 100.0;
        assert!((scatter / expected - 1.0).abs() < 0.02, "{}", scatter / expected);
        assert!((alike / scatter - CARRYOVER).abs() < 0.02, "{}", alike / scatter);
    }
}
