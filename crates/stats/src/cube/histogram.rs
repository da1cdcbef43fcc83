//! Times of a cell of the cube: log-spaced bins, and the longest one exactly.

use crate::cells;
use crate::rank::cell_at;

/// Bins as in [`crate::SparseHistogram`], but with 32 per octave: a resolution of 1/32.
const BITS: u32 = 6;
/// A bin's number stands above its count, so that entries sort by bin.
const COUNT_BITS: u32 = 48;

/// The bins in use, and the longest time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CubeHistogram {
    entries: Vec<u64>,
    max_ns: u64,
}

impl CubeHistogram {
    /// Takes one time, where `1 << joined` bins were joined into each; tells how many entries that added.
    pub(super) fn record(&mut self, ns: u64, joined: u32) -> usize {
        self.max_ns = self.max_ns.max(ns);
        self.add(cells::cell_of::<BITS>(ns) >> joined, 1)
    }

    fn add(&mut self, bin: u16, count: u64) -> usize {
        let place = self.entries.binary_search_by_key(&bin, |&entry| parts(entry).0);
        match place {
            Ok(found) => self.entries[found] += count,
            Err(place) => self.entries.insert(place, u64::from(bin) << COUNT_BITS | count),
        }
        usize::from(place.is_err())
    }

    /// Adds another part of the same data with bins as wide; tells how many entries that added.
    pub(super) fn merge(&mut self, other: &CubeHistogram) -> usize {
        self.max_ns = self.max_ns.max(other.max_ns);
        other.bins().map(|(bin, count)| self.add(bin, count)).sum()
    }

    /// Joins `1 << joined` neighbouring bins into one.
    pub(super) fn coarsen(&mut self, joined: u32) {
        if joined == 0 {
            return;
        }
        let fine = std::mem::take(&mut self.entries);
        for (bin, count) in fine.into_iter().map(parts) {
            self.add(bin >> joined, count);
        }
    }

    pub(super) fn entries(&self) -> usize {
        self.entries.len()
    }

    /// (bin, count), shortest times first.
    pub fn bins(&self) -> impl ExactSizeIterator<Item = (u16, u64)> + Clone {
        self.entries.iter().copied().map(parts)
    }

    /// The longest time, ns; 0 where there is none.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The lowest time of a bin, ns, where `1 << joined` bins were joined into each; `u64::MAX` beyond the last.
    pub fn lowest_ns(bin: u32, joined: u32) -> u64 {
        cells::lowest::<BITS>(bin << joined)
    }

    /// Half the width of a bin over its lowest time, at most: how far a percentile of 64 ns or more can be from the exact one. Below, bins are
    /// `1 << joined` ns wide.
    pub fn error(joined: u32) -> f64 {
        f64::from(1 << joined) / f64::from(1 << BITS)
    }

    /// The time that at least `percentile` (0..=100) per cent do not exceed, ns: the middle of its bin, at most the longest time, and
    /// that itself where the rank is the last.
    pub fn percentile_ns(&self, percentile: f64, joined: u32) -> Option<u64> {
        let total = self.bins().fold(0, |sum: u64, (_, count)| sum.saturating_add(count));
        if crate::rank::rank(percentile, total) == total {
            return (total > 0).then_some(self.max_ns);
        }
        let bin = u32::from(cell_at(percentile, self.bins())?);
        let (low, next) = (Self::lowest_ns(bin, joined), Self::lowest_ns(bin + 1, joined));
        Some((low + (next - low) / 2).min(self.max_ns))
    }
}

fn parts(entry: u64) -> (u16, u64) {
    ((entry >> COUNT_BITS) as u16, entry & ((1 << COUNT_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> CubeHistogram {
        let mut histogram = CubeHistogram::default();
        values.iter().for_each(|&ns| {
            histogram.record(ns, 0);
        });
        histogram
    }

    proptest! {
        #[test]
        fn percentiles_are_within_the_stated_error(
            seeds in prop::collection::vec((prop::num::u64::ANY, 1u32..60), 1..300), joined in 0u32..3, percentile in 0.0f64..100.0
        ) {
            let mut values: Vec<u64> = seeds.iter().map(|&(value, shift)| value >> shift).collect();
            let mut histogram = of(&values);
            histogram.coarsen(joined);
            values.sort_unstable();
            let exact = values[crate::rank::rank(percentile, values.len() as u64) as usize - 1];
            let found = histogram.percentile_ns(percentile, joined).unwrap();
            let error = CubeHistogram::error(joined) * exact as f64 + f64::from(1 << joined);
            prop_assert!(found.abs_diff(exact) as f64 <= error, "{found} for {exact}");
            prop_assert_eq!(histogram.percentile_ns(100.0, joined), values.last().copied());
        }

        #[test]
        fn parts_make_the_whole(values in prop::collection::vec(0u64..1 << 40, 0..300), at in 0usize..300) {
            let (left, right) = values.split_at(at.min(values.len()));
            let mut merged = of(right);
            let added = merged.merge(&of(left));
            prop_assert_eq!(added + of(right).entries(), merged.entries());
            prop_assert_eq!(merged, of(&values));
        }
    }
}
