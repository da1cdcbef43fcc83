//! A histogram with the cells of HdrHistogram, of which it keeps those in use.

use serde::{Deserialize, Serialize};

use crate::SIGNIFICANT_DIGITS;
use crate::cells;
use crate::packed::{PackedCells, Pairs};
use crate::rank::cell_at;
use crate::state::{Counter, Reader, State, StateError, Writer};

/// Bits of a value that tell its cell: three significant digits need 2048 cells for the smallest values, then half as
/// many an octave (as `hdrhistogram` has them).
const BITS: u32 = 11;
/// Cells of an octave.
pub(crate) const OCTAVE: usize = 1 << (BITS - 1);
/// Octaves: all cells are below `OCTAVES * OCTAVE`, which a `u16` holds.
pub(crate) const OCTAVES: usize = (u64::BITS - BITS) as usize + 2;

const _: () = assert!(SIGNIFICANT_DIGITS == 3 && OCTAVES * OCTAVE <= 1 << u16::BITS);

/// Counts of times in the cells of HdrHistogram with three significant digits, those in use alone: mostly 2 or 3 bytes each.
///
/// The cells are those of [`Times`](crate::Times), whatever the values, and cells are never merged: the sum of the histograms of parts
/// equals the whole's histogram cell by cell, and has its percentiles. 56,320 cells at most; a second of one procedure has a few hundred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Columns", into = "Columns")]
pub struct FineHistogram {
    cells: PackedCells,
}

/// The same where it is written and read.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Columns {
    // Rising.
    cells: Vec<u16>,
    // As long; none is 0.
    counts: Vec<u64>,
}

impl From<FineHistogram> for Columns {
    fn from(histogram: FineHistogram) -> Self {
        let (cells, counts) = histogram.pairs().unzip();
        Self { cells, counts }
    }
}

impl From<Columns> for FineHistogram {
    fn from(Columns { cells, counts }: Columns) -> Self {
        let mut histogram = Self::default();
        cells
            .into_iter()
            .zip(counts)
            .filter(|&(_, count)| count > 0)
            .for_each(|(cell, count)| histogram.add(cell, count));
        histogram.cells.shrink();
        histogram
    }
}

/// A cell of a [`FineHistogram`], ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FineCell {
    /// The lowest time that counts here.
    pub from_ns: u64,
    /// The highest; it stands for all, as in HdrHistogram.
    pub to_ns: u64,
    /// Times.
    pub count: u64,
}

impl FineHistogram {
    /// Takes one value, ns.
    pub fn record(&mut self, ns: u64) {
        self.add(cell_of(ns), 1);
    }

    /// Takes `count` values of the cell in which `ns` lies: what [`FineHistogram::iter`] gave, given back.
    pub fn record_many(&mut self, ns: u64, count: u64) {
        if count > 0 {
            self.add(cell_of(ns), count);
        }
    }

    fn add(&mut self, cell: u16, count: u64) {
        if self.cells.last().is_none_or(|last| last <= cell) {
            return self.cells.push(cell, count);
        }
        // Rare: what is recorded is in order, but for what belongs to an interval that is not open.
        let mut one = PackedCells::default();
        one.push(cell, count);
        self.cells = both(self.cells.pairs(), one.pairs());
    }

    /// Adds another part of the same data. Exact.
    pub fn merge(&mut self, other: &FineHistogram) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        self.cells = both(self.pairs(), other.pairs());
        self.cells.shrink();
    }

    fn pairs(&self) -> Pairs<'_> {
        self.cells.pairs()
    }

    /// Cells in use.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether no value was taken.
    pub fn is_empty(&self) -> bool {
        self.cells.len() == 0
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.pairs().fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// The cells in use, shortest times first.
    pub fn iter(&self) -> impl Iterator<Item = FineCell> {
        self.pairs().map(|(cell, count)| FineCell { from_ns: lowest(cell), to_ns: highest(cell), count })
    }

    /// The value that at least `percentile` (0..=100) per cent do not exceed, ns, at most 0.1 % too high.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        cell_at(percentile, self.pairs()).map(highest)
    }

    /// From counters by cell, which are 0 afterwards.
    pub(crate) fn take_octave(&mut self, octave: usize, counters: &mut [u32; OCTAVE]) {
        for (place, counter) in counters.iter_mut().enumerate() {
            let count = std::mem::take(counter);
            if count > 0
                && let Ok(cell) = u16::try_from(octave * OCTAVE + place)
            {
                self.add(cell, u64::from(count));
            }
        }
    }
}

/// The cells of two histograms, with the sums of their counts.
fn both(mine: Pairs<'_>, theirs: Pairs<'_>) -> PackedCells {
    let (mut all, mut theirs) = (PackedCells::default(), theirs.peekable());
    for (cell, count) in mine {
        while let Some((before, count)) = theirs.next_if(|&(theirs, _)| theirs < cell) {
            all.push(before, count);
        }
        let same = theirs.next_if(|&(theirs, _)| theirs == cell).map_or(0, |(_, count)| count);
        all.push(cell, count.saturating_add(same));
    }
    theirs.for_each(|(cell, count)| all.push(cell, count));
    all
}

/// Values below 2048 have a cell each, then 1024 cells an octave.
#[inline]
pub(crate) fn cell_of(ns: u64) -> u16 {
    cells::cell_of::<BITS>(ns)
}

fn lowest(cell: u16) -> u64 {
    cells::lowest::<BITS>(cell.into())
}

pub(crate) fn highest(cell: u16) -> u64 {
    cells::highest::<BITS>(cell.into())
}

crate::state::fields!("histogram"; Columns { cells, counts } if |columns| {
    let cells = &columns.cells;
    cells.len() == columns.counts.len()
        && cells.is_sorted_by(|a, b| a < b)
        && cells.last().is_none_or(|&last| usize::from(last) < OCTAVES * OCTAVE)
        && Counter::all(&columns.counts)
        && !columns.counts.contains(&0)
});

impl State for FineHistogram {
    fn put(&self, out: &mut Writer) {
        Columns::from(self.clone()).put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Columns::take(from).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Times;
    use crate::rank::rank;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> FineHistogram {
        let mut histogram = FineHistogram::default();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    fn any_values() -> impl Strategy<Value = Vec<u64>> {
        let value = (prop::num::u64::ANY, 0u32..64).prop_map(|(value, shift)| value >> shift);
        prop::collection::vec(value, 1..600)
    }

    #[test]
    fn the_ends_of_the_range_have_cells() {
        assert_eq!((cell_of(0), cell_of(2047), cell_of(2048)), (0, 2047, 2048));
        assert_eq!(usize::from(cell_of(u64::MAX)), OCTAVES * OCTAVE - 1);
        assert_eq!(highest(cell_of(u64::MAX)), u64::MAX);
    }

    proptest! {
        #[test]
        fn a_cell_holds_its_value_and_is_narrow(value in prop::num::u64::ANY, shift in 0u32..64) {
            let value = value >> shift;
            let cell = cell_of(value);
            prop_assert!((lowest(cell)..=highest(cell)).contains(&value));
            prop_assert!((highest(cell) - lowest(cell)) as f64 <= lowest(cell) as f64 * 1e-3);
            prop_assert!(value == 0 || cell_of(lowest(cell) - u64::from(lowest(cell) > 0)) <= cell);
        }

        /// Against sorting: the value of the same rank is at most 0.1 % lower.
        #[test]
        fn percentiles_are_those_of_the_sorted_values(values in any_values(), percentile in 0.0f64..=100.0) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = rank(percentile, sorted.len() as u64) as usize;
            let (exact, found) = (sorted[rank - 1], of(&values).percentile_ns(percentile).unwrap());
            prop_assert!(found >= exact && (found - exact) as f64 <= exact as f64 * 1e-3, "{found} for {exact}");
        }

        #[test]
        fn the_cells_are_those_of_the_report(values in any_values()) {
            let values: Vec<u64> = values.iter().map(|value| value >> 1).collect();
            let mut times = Times::default();
            values.iter().for_each(|&value| times.record(value.cast_signed()));
            prop_assert_eq!(FineHistogram::from(&times), of(&values));
        }

        #[test]
        fn parts_make_the_whole(values in any_values(), parts in prop::sample::select(&[1usize, 2, 7, 64])) {
            let mut merged = FineHistogram::default();
            for part in 0..parts {
                merged.merge(&of(&values.iter().skip(part).step_by(parts).copied().collect::<Vec<_>>()));
            }
            prop_assert_eq!(merged, of(&values));
        }
    }
}
