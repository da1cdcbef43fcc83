//! A histogram small enough to have thousands of.

use serde::{Deserialize, Serialize};

use crate::cells;
use crate::rank::cell_at;
use crate::state::Counter;

/// Most cells of one histogram: 4 KiB.
const MAX_CELLS: usize = 512;
/// Cells per octave at the finest, as a power of two: a resolution of 1/128.
const FINEST_BITS: u32 = 7;

/// A histogram that keeps the cells in use alone.
///
/// Cells are an octave's 128th (0.8 %, 0.4 % either way from the middle). When more than 512 are in use, pairs of
/// neighbours are joined until they fit (1.6 %, 3.1 %, …): [`SparseHistogram::resolution`] tells. The resolution
/// depends on the values alone, not on their order, so parts merge into exactly the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseHistogram {
    // Sorted by cell number.
    cells: Vec<(u16, u64)>,
    joined: u32,
}

impl SparseHistogram {
    /// Takes one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.add(cell_of(value) >> self.joined, 1);
    }

    fn add(&mut self, cell: u16, count: u64) {
        match self.cells.binary_search_by_key(&cell, |&(cell, _)| cell) {
            Ok(found) => self.cells[found].1 += count,
            Err(place) => {
                self.cells.insert(place, (cell, count));
                while self.cells.len() > MAX_CELLS {
                    self.join();
                }
            }
        }
    }

    fn join(&mut self) {
        self.joined += 1;
        self.cells.iter_mut().for_each(|(cell, _)| *cell >>= 1);
        self.cells.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }

    /// Adds another part of the same data.
    pub fn merge(&mut self, other: &SparseHistogram) {
        while self.joined < other.joined {
            self.join();
        }
        for &(cell, count) in &other.cells {
            // `self` may join more while adding.
            self.add(cell >> (self.joined - other.joined), count);
        }
    }

    /// The cells in use, smallest values first: (highest value that counts there, count). Each lies between two neighbouring powers of two.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let next = |cell: u16| lowest((u32::from(cell) + 1) << self.joined);
        self.cells.iter().map(move |&(cell, count)| (next(cell).saturating_sub(1), count))
    }

    /// The value that at least `percentile` (0..=100) per cent do not exceed, to [`SparseHistogram::resolution`].
    pub fn percentile(&self, percentile: f64) -> Option<u64> {
        let cell = cell_at(percentile, self.cells.iter().copied())?;
        let first = lowest(u32::from(cell) << self.joined);
        let next = lowest((u32::from(cell) + 1) << self.joined);
        Some(first + (next - first) / 2)
    }

    /// Width of a cell over its value, at most.
    pub fn resolution(&self) -> f64 {
        f64::from(1 << self.joined) / f64::from(1 << FINEST_BITS)
    }
}

/// Values below 256 have a cell each, then 128 cells an octave; below 7,424.
#[inline]
fn cell_of(value: u64) -> u16 {
    cells::cell_of::<{ FINEST_BITS + 1 }>(value)
}

/// The lowest value of a cell; `u64::MAX` beyond the last.
fn lowest(cell: u32) -> u64 {
    cells::lowest::<{ FINEST_BITS + 1 }>(cell)
}

crate::state::fields!("sparse histogram"; SparseHistogram { cells, joined } if |histogram| {
    let cells = &histogram.cells;
    let last = cells.last().map_or(0, |&(cell, _)| u64::from(cell));
    cells.len() <= MAX_CELLS
        && cells.is_sorted_by(|a, b| a.0 < b.0)
        && histogram.joined <= 13
        && last << histogram.joined.min(13) <= u64::from(cell_of(u64::MAX))
        && cells.iter().all(|&(_, count)| Counter::all(&[count]))
});

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Also where cells were joined: counts below a power of two, and below each quarter of it, are exact.
        #[test]
        fn no_cell_lies_on_both_sides_of_a_quarter_of_a_power_of_two(values in prop::collection::vec(1u64..1 << 45, 1..3_000)) {
            let histogram = of(&values);
            for edge in (10..45).flat_map(|octave| (4..8).map(move |part| part << (octave - 2))) {
                let below = |value: u64| value < edge;
                let counted: u64 = histogram.iter().filter(|&(to, _)| below(to)).map(|(_, count)| count).sum();
                prop_assert_eq!(counted, values.iter().filter(|&&value| below(value)).count() as u64);
            }
        }
    }

    fn of(values: &[u64]) -> SparseHistogram {
        let mut histogram = SparseHistogram::default();
        values.iter().for_each(|&v| histogram.record(v));
        histogram
    }

    #[test]
    fn percentiles_are_within_half_a_cell() {
        let histogram = of(&(1..=100_000).map(|v| 10_000_000 + v * 100).collect::<Vec<_>>());
        assert_eq!(histogram.resolution(), 1.0 / 128.0);
        for p in [1.0, 50.0, 99.0, 99.9] {
            let exact = 1e7 + p / 100.0 * 1e7;
            let found = histogram.percentile(p).unwrap() as f64;
            assert!((found / exact - 1.0).abs() <= 0.0041, "p{p}: {found} for {exact}");
        }
    }

    #[test]
    fn a_wide_distribution_costs_resolution_not_memory() {
        let histogram = of(&(0..1_000_000u64).map(|v| v * v).collect::<Vec<_>>());
        assert!(histogram.cells.len() <= MAX_CELLS);
        assert!(histogram.resolution() > 1.0 / 128.0);
        let (found, exact) = (histogram.percentile(50.0).unwrap() as f64, 500_000f64.powi(2));
        assert!((found / exact - 1.0).abs() <= histogram.resolution() / 2.0 + 1e-3, "{found} for {exact}");
    }

    proptest! {
        #[test]
        fn a_cell_holds_its_value(value in prop::num::u64::ANY, shift in 0u32..64) {
            let value = value >> shift;
            let cell = u32::from(cell_of(value));
            prop_assert!(lowest(cell) <= value);
            prop_assert!(value < lowest(cell + 1) || lowest(cell + 1) == u64::MAX);
        }

        #[test]
        fn parts_make_the_whole(seeds in prop::collection::vec((prop::num::u64::ANY, 0u32..64), 0..2000), parts in 1usize..8) {
            let values: Vec<_> = seeds.iter().map(|&(value, shift)| value >> shift).collect();
            let whole = of(&values);
            let mut merged = SparseHistogram::default();
            for part in 0..parts {
                merged.merge(&of(&values.iter().skip(part).step_by(parts).copied().collect::<Vec<_>>()));
            }
            prop_assert_eq!(merged, whole);
        }
    }
}
