//! The part of a cube that is small enough to show.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::keys::OTHERS;
use super::{CUBE_DIMENSIONS, Cube, CubeCell, CubeHistogram, Place};
use crate::BASE_NS;

/// How small it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldLimits {
    /// Maximum number of keys of a dimension, besides "others".
    pub keys: usize,
    /// Most bins of time; at least 2.
    pub bins: usize,
    /// `1 << joined` neighbouring bins of the histograms become one, at least.
    pub joined: u32,
}

/// A cube with few keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedCube {
    /// The keys of each dimension, most time waited first.
    pub keys: [Vec<FoldedKey>; CUBE_DIMENSIONS],
    /// Number of keys per dimension that are summed as others. Keys without room in the cube are not counted.
    pub others: [usize; CUBE_DIMENSIONS],
    /// Start of the first bin, ns since the Unix epoch: a multiple of 1 ms.
    pub start_ns: i64,
    /// Width of a bin, ns.
    pub bin_ns: i64,
    /// Number of bins.
    pub bins: usize,
    /// `1 << joined` neighbouring bins of the histograms were merged.
    pub joined: u32,
    /// The cells that are not empty, in the order of their keys and times.
    pub cells: Vec<FoldedCell>,
}

/// A key that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedKey {
    /// Its label; `None` where the key is not known.
    pub label: Option<String>,
}

/// A cell, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedCell {
    /// For each dimension the index of its key in [`FoldedCube::keys`], from 1; 0 for others.
    pub keys: [u16; CUBE_DIMENSIONS],
    /// The bin of time, from 0; `None` where the time of the request was not seen.
    pub bin: Option<usize>,
    /// Its numbers.
    pub cell: CubeCell,
}

impl Cube {
    /// The cube within `limits`. The keys for which clients waited longest stay separate in each dimension; keys with the same label are
    /// merged. `labels` are those of [`Cube::keys`].
    pub fn folded(&self, limits: FoldLimits, labels: &[Vec<Option<String>>; CUBE_DIMENSIONS]) -> FoldedCube {
        let dimensions: [Dimension; CUBE_DIMENSIONS] =
            std::array::from_fn(|dimension| self.dimension(dimension, limits.keys, &labels[dimension]));
        let (widened, span) = self.widened(limits.bins);
        let first = span.map_or(0, |(first, _)| first);
        let mut cells: BTreeMap<([u16; CUBE_DIMENSIONS], Option<usize>), CubeCell> = BTreeMap::new();
        for (place, cell) in &self.cells {
            let keys = std::array::from_fn(|dimension| dimensions[dimension].place(place.keys[dimension]));
            let bin = place.bin.and_then(|bin| usize::try_from((bin >> widened) - first).ok());
            cells.entry((keys, bin)).or_default().merge(cell);
        }
        let joined = limits.joined.max(self.joined);
        let folded = |((keys, bin), mut cell): (_, CubeCell)| {
            cell.coarsen(joined - self.joined);
            FoldedCell { keys, bin, cell }
        };
        let bin_ns = BASE_NS << (self.doublings + widened).min(super::MAX_DOUBLINGS);
        FoldedCube {
            others: std::array::from_fn(|dimension| dimensions[dimension].others),
            keys: dimensions.map(|dimension| dimension.keys),
            start_ns: first.saturating_mul(bin_ns),
            bin_ns,
            bins: span.map_or(0, |(first, last)| usize::try_from(last - first + 1).unwrap_or(0)),
            joined,
            cells: cells.into_iter().map(folded).collect(),
        }
    }

    /// How often bins must be merged in pairs to get at most `bins`, and the first and last of them.
    fn widened(&self, bins: usize) -> (u32, Option<(i64, i64)>) {
        let (mut span, mut widened) = (self.span, 0);
        let most = i64::try_from(bins.max(2)).unwrap_or(i64::MAX);
        while let Some((first, last)) = span.filter(|(first, last)| last - first >= most) {
            span = Some((first >> 1, last >> 1));
            widened += 1;
        }
        (widened, span)
    }

    fn dimension(&self, dimension: usize, most: usize, labels: &[Option<String>]) -> Dimension {
        let mut waited: BTreeMap<&Option<String>, (u128, u64)> = labels.iter().map(|label| (label, (0, 0))).collect();
        for (Place { keys, .. }, cell) in &self.cells {
            let label = label_of(keys[dimension], labels);
            if let Some((ns, count)) = label.and_then(|label| waited.get_mut(label)) {
                (*ns, *count) = (*ns + cell.waiting.ns(), *count + cell.count);
            }
        }
        // A key whose every combination came too late for the cube has no cell.
        let mut ranked: Vec<_> = waited.into_iter().filter(|(_, (_, count))| *count > 0).collect();
        ranked.sort_by_key(|&(label, sums)| (Reverse(sums), label));
        let others = ranked.len().saturating_sub(most);
        let shown: Vec<&Option<String>> = ranked.into_iter().take(most).map(|(label, _)| label).collect();
        let place = |label: &Option<String>| shown.iter().position(|one| *one == label).map_or(0, |at| at as u16 + 1);
        Dimension {
            places: labels.iter().map(place).collect(),
            keys: shown.iter().map(|label| FoldedKey { label: (*label).clone() }).collect(),
            others,
        }
    }
}

/// A dimension of a folded cube.
struct Dimension {
    /// For each number of a key, from 1, its place.
    places: Vec<u16>,
    keys: Vec<FoldedKey>,
    others: usize,
}

impl Dimension {
    fn place(&self, number: u16) -> u16 {
        let place = usize::from(number).checked_sub(1).and_then(|at| self.places.get(at));
        place.copied().unwrap_or(OTHERS)
    }
}

fn label_of(number: u16, labels: &[Option<String>]) -> Option<&Option<String>> {
    labels.get(usize::from(number).checked_sub(1)?)
}

impl FoldedCube {
    /// How far a percentile can be from the exact one, over it.
    pub fn error(&self) -> f64 {
        CubeHistogram::error(self.joined)
    }
}
