//! Latency heat maps: time × response time, a map a group.

use plimsoll_model::Group;
use serde::{Deserialize, Serialize};

use crate::GroupKey;
use crate::accumulator::Sample;
use crate::bins::{Bins, Cell};
use crate::state::Counter;

/// Most columns of a heat map.
pub const MAX_HEAT_COLUMNS: usize = 300;
/// Rows of a heat map: below 1 µs, ten a decade from 1 µs to 100 s, 100 s and above.
pub const HEAT_ROWS: usize = ROWS_A_DECADE * DECADES + 2;

const ROWS_A_DECADE: usize = 10;
const DECADES: usize = 8;
/// 10^(i/10) × 1000: lower edges of a decade's rows, to four digits.
const MANTISSAS: [u64; ROWS_A_DECADE] = [1000, 1259, 1585, 1995, 2512, 3162, 3981, 5012, 6310, 7943];
const GROUPS: usize = Group::ALL.len();

/// Lower edges of the rows, ns; each row ends where the next begins, the last has no end.
pub const HEAT_EDGES_NS: [u64; HEAT_ROWS] = edges();

const fn edges() -> [u64; HEAT_ROWS] {
    let mut edges = [0; HEAT_ROWS];
    let mut row = 1;
    while row < HEAT_ROWS {
        edges[row] = MANTISSAS[(row - 1) % ROWS_A_DECADE] * 10u64.pow(((row - 1) / ROWS_A_DECADE) as u32);
        row += 1;
    }
    edges
}

/// A heat map to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeatMap {
    /// `None` for all groups together.
    pub group: Option<GroupKey>,
    /// Start of the first column, ns since the Unix epoch.
    pub start_ns: i64,
    /// Width of a column, ns.
    pub column_ns: i64,
    /// Number of columns.
    pub columns: usize,
    /// (column, row, count) of the cells that are not empty; rows as in [`HEAT_EDGES_NS`].
    pub cells: Vec<(usize, usize, u64)>,
}

/// The maps of all groups over one axis of time; an operation stands where its answer ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeatMaps(Bins<Column>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Column([Option<Box<Rows>>; GROUPS]);

/// A column of a group's map; most columns have few groups.
type Rows = [u64; HEAT_ROWS];

impl Cell for Column {
    fn absorb(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            let Some(theirs) = theirs else { continue };
            mine.get_or_insert_with(empty).iter_mut().zip(theirs.iter()).for_each(|(a, b)| *a += b);
        }
    }
}

fn empty() -> Box<Rows> {
    Box::new([0; HEAT_ROWS])
}

impl HeatMaps {
    pub(crate) fn new() -> Self {
        Self(Bins::new(MAX_HEAT_COLUMNS))
    }

    #[inline]
    pub(crate) fn record(&mut self, end_ns: i64, group: Group, measured: &Sample) {
        let Some(response) = measured.headline_ns() else { return };
        if let Some(column) = self.0.at(end_ns)
            && let Some(rows) = column.0.get_mut(group as usize)
        {
            rows.get_or_insert_with(empty)[row_of(response)] += 1;
        }
    }

    pub(crate) fn merge(&mut self, other: &HeatMaps) {
        self.0.merge(&other.0);
    }

    /// The map of all groups first, then the groups with traffic, "Other" before its parts.
    pub(crate) fn maps(&self) -> Vec<HeatMap> {
        let all = std::iter::once(self.map(None));
        all.chain(GroupKey::ALL.iter().map(|&key| self.map(Some(key)))).filter(|map| !map.cells.is_empty()).collect()
    }

    fn map(&self, key: Option<GroupKey>) -> HeatMap {
        let mut cells = Vec::new();
        let groups: Vec<usize> = Group::ALL
            .iter()
            .filter(|&&group| key.is_none_or(|key| key.holds(group)))
            .map(|&group| group as usize)
            .collect();
        for (i, column) in self.0.iter().enumerate() {
            let maps: Vec<&Rows> = groups.iter().filter_map(|&group| column.0[group].as_deref()).collect();
            for row in 0..HEAT_ROWS {
                let count: u64 = maps.iter().map(|rows| rows[row]).sum();
                if count > 0 {
                    cells.push((i, row, count));
                }
            }
        }
        let columns = self.0.iter().len();
        HeatMap { group: key, start_ns: self.0.start_ns(), column_ns: self.0.width_ns(), columns, cells }
    }
}

/// The row of a response time.
#[inline]
pub(crate) fn row_of(ns: u64) -> usize {
    let octave = &OCTAVES[(ns | 1).ilog2() as usize];
    // Counting instead of searching: no branch to mispredict.
    let above = octave.edges.iter().map(|&edge| usize::from(ns >= edge)).sum::<usize>();
    (octave.row + above).min(HEAT_ROWS - 1)
}

/// The times from a power of two up to the next.
#[derive(Clone, Copy)]
struct Octave {
    /// The row of the shortest.
    row: usize,
    /// The edges between which the others lie; an octave has four at most, because a decade has ten rows.
    edges: [u64; 4],
}

const OCTAVES: [Octave; 64] = {
    let mut octaves = [Octave { row: 0, edges: [u64::MAX; 4] }; 64];
    let (mut octave, mut row) = (0, 0);
    while octave < 64 {
        while row + 1 < HEAT_ROWS && HEAT_EDGES_NS[row + 1] <= 1 << octave {
            row += 1;
        }
        octaves[octave].row = row;
        let mut next = 0;
        while next < 4 && row + 1 + next < HEAT_ROWS {
            octaves[octave].edges[next] = HEAT_EDGES_NS[row + 1 + next];
            next += 1;
        }
        octave += 1;
    }
    octaves
};

crate::state::fields!("heat map"; HeatMaps { 0 } if |maps| maps.0.limit() == MAX_HEAT_COLUMNS);
crate::state::fields!("column of a heat map"; Column { 0 }
    if |column| column.0.iter().flatten().all(|rows| Counter::all(&rows[..])));

crate::state::as_bytes!(Column);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_rise_and_every_time_is_in_its_row() {
        assert!(HEAT_EDGES_NS.is_sorted());
        assert_eq!((HEAT_EDGES_NS[0], HEAT_EDGES_NS[1], HEAT_EDGES_NS[81]), (0, 1_000, 100_000_000_000));
        let edges = HEAT_EDGES_NS.iter().flat_map(|&e| [e, e + 1, e.saturating_sub(1)]);
        for ns in edges.chain([u64::MAX, 1 << 40, 999_999_999_999, 1_000_000_000_000]) {
            let expected = HEAT_EDGES_NS.iter().rposition(|&edge| edge <= ns).unwrap();
            assert_eq!(row_of(ns), expected, "{ns}");
        }
    }
}
