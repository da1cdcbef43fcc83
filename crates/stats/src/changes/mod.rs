//! Change points of a history: the runs at which a metric changes.
//!
//! Circular binary segmentation (Olshen et al. 2004) over logarithms, so that a change is a factor. The whole history is tested first. If
//! the mean of a part differs from the mean of the rest by more than chance explains, the history is cut at the end of the part where the
//! difference is greater, and both pieces are tested in the same way.
//!
//! Other orders of the same runs show the effect of chance (`reference_order`). All metrics are reordered together, and each metric is
//! compared with the greatest statistic of all metrics (Westfall and Young 1993): so the error rate is that of the whole table, whatever
//! the dependencies and distributions of the metrics. MEASUREMENT.md has the measured error rates.

mod reference_order;
#[cfg(test)]
mod simulation;
mod statistic;

use std::collections::BTreeMap;
use std::ops::Range;

pub use reference_order::CARRYOVER;
use reference_order::Orders;
use statistic::{Part, best_cut, greatest_part};

/// Fewest runs on each side of a change: fewer have no interval ([`super::comparison::repeats`]).
pub const FEWEST_RUNS: usize = 3;
/// Most runs that are looked at: the time grows with the square of the runs.
pub const MOST_RUNS: usize = 400;
/// Orders that may show a greater statistic by chance before a part is given up: 20 would do for the error rate, more find more.
const EXCEEDANCES: f64 = 50.0;

/// The change points of every metric: the numbers of the first runs after each change, in order. `metrics` has the values of
/// all runs in order of time for each metric. With a probability of at most `alpha`, a history without any change shows one in any
/// of the metrics. A metric with a value that is not positive has none.
pub fn change_points(metrics: &[Vec<f64>], alpha: f64) -> Vec<Vec<usize>> {
    let rows: Vec<Option<Vec<f64>>> = metrics.iter().map(|values| logarithms(values)).collect();
    let usable: Vec<&[f64]> = rows.iter().flatten().map(Vec::as_slice).collect();
    let mut found = segment(&usable, alpha).into_iter();
    rows.iter().map(|row| row.as_ref().and_then(|_| found.next()).unwrap_or_default()).collect()
}

fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let logarithm = |value: &f64| Some(value.ln()).filter(|found| found.is_finite());
    values.iter().map(logarithm).collect()
}

fn segment(rows: &[&[f64]], alpha: f64) -> Vec<Vec<usize>> {
    let runs = rows.iter().map(|row| row.len()).min().unwrap_or(0);
    let mut cuts: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    // Pieces still to test, with the metrics that have them: pieces of several metrics are tested together.
    let mut pieces: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    pieces.insert((0, runs), (0..rows.len()).collect());
    while let Some(((from, to), metrics)) = pieces.pop_first() {
        // The pieces that are cut no further share the errors by their lengths.
        let share = alpha * (to - from) as f64 / runs.max(1) as f64;
        for (metric, cut) in changed(rows, from..to, &metrics, share) {
            if let Some(cuts) = cuts.get_mut(metric) {
                cuts.push(cut);
            }
            pieces.entry((from, cut)).or_default().push(metric);
            pieces.entry((cut, to)).or_default().push(metric);
        }
    }
    cuts.into_iter().zip(rows).map(|(cuts, row)| refined(cuts, row)).collect()
}

/// The metrics among `metrics` that change within a piece, each with its cut.
fn changed(rows: &[&[f64]], piece: Range<usize>, metrics: &[usize], alpha: f64) -> Vec<(usize, usize)> {
    let of = |metric: &usize| Some((*metric, rows.get(*metric)?.get(piece.clone())?));
    let all: Vec<&[f64]> = rows.iter().filter_map(|row| row.get(piece.clone())).collect();
    let mut candidates: Vec<(usize, Part, f64)> = Vec::new();
    for (metric, values) in metrics.iter().filter_map(of) {
        candidates.extend(greatest_part(values).map(|part| (metric, part, 1.0)));
    }
    let orders = (EXCEEDANCES / alpha).ceil();
    let mut reference = Orders::new(&all);
    let within = |exceedances: f64| exceedances <= alpha * orders;
    for _ in 1..orders as u64 {
        if !candidates.iter().any(|(_, _, exceedances)| within(*exceedances)) {
            return Vec::new();
        }
        let by_chance = reference.next_maximum();
        for (_, part, exceedances) in &mut candidates {
            // Equal, but for rounding, counts as greater.
            *exceedances += f64::from(u8::from(by_chance >= part.statistic * (1.0 - 1e-9)));
        }
    }
    candidates.retain(|(_, _, exceedances)| within(*exceedances));
    candidates.iter().map(|(metric, part, _)| (*metric, piece.start + part.cut)).collect()
}

/// Each change where it fits best between its neighbours: when it was found, those were not known yet.
fn refined(mut cuts: Vec<usize>, row: &[f64]) -> Vec<usize> {
    cuts.sort_unstable();
    for place in 0..cuts.len() {
        let from = place.checked_sub(1).and_then(|before| cuts.get(before)).copied().unwrap_or(0);
        let to = cuts.get(place + 1).copied().unwrap_or(row.len());
        if let (Some(best), Some(cut)) = (row.get(from..to).and_then(best_cut), cuts.get_mut(place)) {
            *cut = from + best;
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::Random;

    use super::*;

    fn series(random: &mut Random, levels: &[(usize, f64)], deviation: f64) -> Vec<f64> {
        let values = levels.iter().flat_map(|&(runs, level)| std::iter::repeat_n(level, runs));
        values.map(|level| level * (1.0 + deviation * random.normal())).collect()
    }

    #[test]
    fn steps_of_one_metric_are_not_those_of_another() {
        let mut random = Random::new(3);
        let metrics = [
            series(&mut random, &[(40, 5.0)], 0.01),
            series(&mut random, &[(25, 2.0), (15, 2.2)], 0.01),
            series(&mut random, &[(12, 9.0), (13, 8.0), (15, 9.0)], 0.01),
            vec![7.0; 40],
        ];
        assert_eq!(change_points(&metrics, 0.05), [vec![], vec![25], vec![12, 25], vec![]]);
    }

    #[test]
    fn what_cannot_be_judged_has_no_changes() {
        const NONE: Vec<usize> = Vec::new();
        assert!(change_points(&[], 0.05).is_empty());
        assert_eq!(change_points(&[vec![], vec![]], 0.05), [NONE, NONE]);
        assert_eq!(change_points(&[vec![1.0, 1.0, 1.0, 9.0, 9.0]], 0.05), [NONE], "too few runs");
        let steps = [vec![1.0; 10], vec![2.0; 10]].concat();
        let mut broken = steps.clone();
        broken[3] = f64::NAN;
        assert_eq!(change_points(&[broken, steps.clone()], 0.05), [vec![], vec![10]]);
        let mut zero = steps.clone();
        zero[0] = 0.0;
        assert_eq!(change_points(&[zero, steps], 0.05), [vec![], vec![10]]);
    }

    #[test]
    fn the_same_history_has_the_same_changes() {
        let metrics = [series(&mut Random::new(4), &[(30, 1.0), (30, 1.03)], 0.01)];
        let found = change_points(&metrics, 0.05);
        assert_eq!(found, change_points(&metrics, 0.05));
        // A change is a factor, and has no unit.
        let slower: Vec<f64> = metrics[0].iter().map(|value| value * 1e-6).collect();
        assert_eq!(found, change_points(&[slower], 0.05));
        assert!(found[0].len() == 1 && found[0][0].abs_diff(30) <= 1, "{found:?}");
    }
}
