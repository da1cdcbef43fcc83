//! A heat map in characters: response time upwards, a column per second.

use plimsoll_stats::{HEAT_EDGES_NS, HEAT_ROWS};

use crate::duration;

/// From few to many.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// In place of a blank where packets were lost.
const LOSSY: char = '/';

/// `rows` rows from the longest existing time down to the shortest, each with a label of its lower edge.
pub(super) fn rows(columns: &[[u64; HEAT_ROWS]], lossy: &[bool], rows: usize) -> Vec<(String, String)> {
    let used = |row: &usize| columns.iter().any(|column| column[*row] > 0);
    let (first, last) = ((0..HEAT_ROWS).find(used), (0..HEAT_ROWS).rev().find(used));
    let (first, last) = (first.unwrap_or(21), last.unwrap_or(51));
    // A row of the screen stands for as many of the map as needed.
    let step = (last - first + 1).div_ceil(rows.max(1)).max(1);
    let count = |column: &[u64; HEAT_ROWS], from: usize| -> u64 { column.iter().skip(from).take(step).sum() };
    let starts: Vec<usize> = (0..rows).map(|row| first + row * step).collect();
    let most = columns.iter().flat_map(|column| starts.iter().map(|&from| count(column, from))).max().unwrap_or(0);
    let cell = |(at, column): (usize, &[u64; HEAT_ROWS]), from: usize| match count(column, from) {
        0 if lossy.get(at).copied().unwrap_or(false) => LOSSY,
        0 => ' ',
        count => SHADES[shade(count, most)],
    };
    let line = |&from: &usize| {
        let label = HEAT_EDGES_NS.get(from).map_or_else(String::new, |&ns| duration(ns as f64 / 1e9));
        (label, columns.iter().enumerate().map(|column| cell(column, from)).collect())
    };
    starts.iter().rev().map(line).collect()
}

/// Logarithmic: counts spread over decades.
fn shade(count: u64, most: u64) -> usize {
    let share = (count as f64).ln_1p() / (most as f64).ln_1p();
    ((share * 4.0).ceil() as usize).clamp(1, 4) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_in_their_rows_and_lossy_seconds_are_hatched() {
        let mut columns = vec![[0; HEAT_ROWS]; 3];
        (columns[0][21], columns[1][31], columns[1][21]) = (1_000, 1, 30);
        let map = rows(&columns, &[false, false, true], 2);
        assert_eq!(map, [("398 µs".to_owned(), " ░/".to_owned()), ("100 µs".to_owned(), "█▒/".to_owned())]);
        assert_eq!(rows(&[], &[], 3).len(), 3);
    }
}
