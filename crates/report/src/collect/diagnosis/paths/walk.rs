//! From the root down the paths of all rows, level by level, where clients waited.

use std::collections::HashMap;
use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use plimsoll_model::{Names, Symbol};
use plimsoll_stats::tallies::{ByOperation, PathRow, sum_of};

/// Directories above a file that are looked at.
pub(super) const MAX_LEVELS: usize = 16;
/// Notes of requests and of waiting, at least: fewer say little.
const MIN_NOTES: u64 = 20;
/// Sums that stand for many names each.
const SUMS_TOGETHER: usize = 4096;

/// The paths of all rows.
pub(super) struct Noted<'t> {
    pub(super) rows: &'t [PathRow],
    names: &'t Names,
}

impl<'t> Noted<'t> {
    pub(super) fn new(rows: &'t [PathRow], names: &'t Names) -> Self {
        Self { rows, names }
    }

    /// One walk for each row, at the root.
    pub(super) fn walks(&self) -> Vec<Walk> {
        (0..self.rows.len() as u32).map(|row| Walk { row, number: 0, end: 0 }).collect()
    }

    /// Without separators at its end.
    pub(super) fn path(&self, row: &PathRow) -> &'t str {
        self.names.text(row.path).unwrap_or_default().trim_end_matches(['/', '\\'])
    }

    /// The next part of a path, with the separator before it; of the last level, all that is left.
    fn next(&self, walk: &Walk, level: usize) -> Option<Part<'t>> {
        let row = &self.rows[walk.row as usize];
        let (path, from) = (self.path(row), walk.end as usize);
        let separator = |at: &usize| matches!(path.as_bytes()[*at], b'/' | b'\\');
        let end = (from + 1..path.len()).find(separator).filter(|_| level < MAX_LEVELS).unwrap_or(path.len());
        (end > from).then(|| Part { row, end: end as u32, key: (row.share, walk.number, &path[from..end]) })
    }
}

/// A step down a path.
struct Part<'t> {
    row: &'t PathRow,
    end: u32,
    /// The share, the directory and the name in the directory.
    key: (Symbol, u32, &'t str),
}

/// A row, and the depth to which its path was followed. There are thousands of rows: numbers and the bytes of all names fit in 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    pub(super) row: u32,
    /// The number of the file or directory that was come to.
    pub(super) number: u32,
    /// The length of its path.
    pub(super) end: u32,
}

/// A file or directory, with sums of its notes.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    waited_ns: f64,
    notes: [u64; 2],
}

impl Sums {
    fn add(&mut self, row: &PathRow) {
        self.waited_ns += row.cell.waited_ns as f64;
        self.notes.iter_mut().zip(row.notes).for_each(|(sum, more)| *sum += u64::from(more));
    }

    fn is_worth(&self, least_ns: f64) -> bool {
        self.waited_ns >= least_ns && self.notes.iter().all(|&notes| notes >= MIN_NOTES)
    }
}

/// Follows each path one level down, the last one to its end. Returns the numbers of the relevant files and directories there, and keeps
/// the walks to them: everything below the others is smaller.
pub(super) fn descend(noted: &Noted<'_>, walks: &mut Vec<Walk>, level: usize, least_ns: f64) -> Vec<u32> {
    // Sums of many names together tell most names that cannot matter, in little memory.
    let hasher = RandomState::default();
    let mut together = vec![0.0; SUMS_TOGETHER];
    let place = |key: &(Symbol, u32, &str)| hasher.hash_one(key) as usize % SUMS_TOGETHER;
    for part in walks.iter().filter_map(|walk| noted.next(walk, level)) {
        together[place(&part.key)] += part.row.cell.waited_ns as f64;
    }
    walks.retain(|walk| noted.next(walk, level).is_some_and(|part| together[place(&part.key)] >= least_ns));
    let mut numbers: HashMap<(Symbol, u32, &str), u32, RandomState> = HashMap::default();
    let mut all: Vec<Sums> = Vec::new();
    walks.retain_mut(|walk| {
        let Some(part) = noted.next(walk, level) else { return false };
        let number = *numbers.entry(part.key).or_insert(all.len() as u32);
        if number as usize == all.len() {
            all.push(Sums::default());
        }
        all[number as usize].add(part.row);
        (walk.number, walk.end) = (number, part.end);
        true
    });
    walks.retain(|walk| all[walk.number as usize].is_worth(least_ns));
    (0..all.len() as u32).filter(|&number| all[number as usize].is_worth(least_ns)).collect()
}

/// Whether a file or a directory has enough notes, and enough requests for an operation of which the others of `all` have enough too.
pub(in super::super) fn are_compared(rows: &[PathRow], names: &Names, all: &ByOperation) -> bool {
    let noted = Noted::new(rows, names);
    let mut by_path: HashMap<(Symbol, &str), Vec<&PathRow>, RandomState> = HashMap::default();
    for row in rows {
        let path = noted.path(row);
        let directories = path.match_indices(['/', '\\']).map(|(at, _)| at).take(MAX_LEVELS);
        for end in directories.chain([path.len()]) {
            if let Some(part) = path.get(..end).filter(|part| !part.is_empty()) {
                by_path.entry((row.share, part)).or_default().push(row);
            }
        }
    }
    by_path.values().any(|rows| {
        let mut sums = Sums::default();
        rows.iter().for_each(|row| sums.add(row));
        let mine = sum_of(rows.iter().copied());
        sums.is_worth(0.0) && mine.is_comparable(&all.without(&mine))
    })
}
