//! Difference between a part of a piece of history and its rest.

use super::FEWEST_RUNS;

/// Uncertainty of a logarithm at any scatter: half a cell of the percentiles' histograms.
const GRAIN: f64 = 0.5e-3;
/// Weight of the squares of a part in the middle. A middle part has many possible positions, a part at an end has one: with equal
/// weights, chance in the middle would hide steps, which are more frequent (docs/decisions/0027-change-points.md).
const IN_THE_MIDDLE: f64 = 0.75;

/// The part of a piece that differs most from the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    /// Student's t of the difference between the part and the rest, without sign.
    pub(super) statistic: f64,
    /// Where to cut: the end of the part at which the difference from what lies beside it is greater.
    pub(super) cut: usize,
}

/// Sums up to each place, around the mean.
struct Sums {
    up_to: Vec<f64>,
    squares: f64,
}

impl Sums {
    fn new(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut up_to = Vec::with_capacity(values.len() + 1);
        up_to.push(0.0);
        for value in values {
            sum += value - mean;
            squares += (value - mean).powi(2);
            up_to.push(sum);
        }
        Self { up_to, squares }
    }

    fn runs(&self) -> usize {
        self.up_to.len() - 1
    }

    /// The part with the greatest weighted squares, and their value.
    fn greatest(&self) -> Option<(usize, usize, f64)> {
        let runs = self.runs();
        if runs < 2 * FEWEST_RUNS {
            return None;
        }
        let weight = |length: usize| runs as f64 / (length as f64 * (runs - length) as f64);
        let weights: Vec<f64> = (0..=runs).map(weight).collect();
        let (mut best, mut squares) = ((0, 0), 0.0_f64);
        for from in std::iter::once(0).chain(FEWEST_RUNS..=runs - FEWEST_RUNS) {
            let before = self.up_to.get(from).copied().unwrap_or(0.0);
            let longest = runs - from.max(FEWEST_RUNS);
            let (Some(sums), Some(weights)) =
                (self.up_to.get(from + FEWEST_RUNS..=from + longest), weights.get(FEWEST_RUNS..=longest))
            else {
                continue;
            };
            for (at, (sum, weight)) in sums.iter().zip(weights).enumerate() {
                let (difference, to) = (sum - before, from + FEWEST_RUNS + at);
                let place = if from == 0 || to == runs { 1.0 } else { IN_THE_MIDDLE };
                let found = difference * difference * weight * place;
                // Pieces beside the part are long enough, or there are none.
                if found > squares && (to == runs || to + FEWEST_RUNS <= runs) {
                    (best, squares) = ((from, to), found);
                }
            }
        }
        (squares > 0.0).then_some((best.0, best.1, squares))
    }

    /// Student's t for a sum of squares between a part and the rest.
    fn statistic(&self, between: f64) -> f64 {
        let within = (self.squares - between).max(0.0) / (self.runs() as f64 - 2.0);
        (between / (within + GRAIN * GRAIN)).sqrt()
    }

    /// Squares between the runs of two neighbouring parts.
    fn between(&self, [from, cut, to]: [usize; 3]) -> f64 {
        let sum = |from: usize, to: usize| {
            let at = |place: usize| self.up_to.get(place).copied().unwrap_or(0.0);
            (at(to) - at(from), (to - from) as f64)
        };
        let ((left, before), (right, after)) = (sum(from, cut), sum(cut, to));
        (left / before - right / after).powi(2) * before * after / (before + after)
    }
}

/// The statistic of the part that differs most; 0 where the piece is too short.
pub(super) fn greatest(values: &[f64]) -> f64 {
    let sums = Sums::new(values);
    sums.greatest().map_or(0.0, |(_, _, squares)| sums.statistic(squares))
}

/// The part that differs most; `None` where the piece is too short, or all values are the same.
pub(super) fn greatest_part(values: &[f64]) -> Option<Part> {
    let sums = Sums::new(values);
    let runs = sums.runs();
    let (from, to, squares) = sums.greatest()?;
    let statistic = sums.statistic(squares);
    let cut = match (from, to) {
        (0, to) => to,
        (from, to) if to == runs => from,
        (from, to) if sums.between([0, from, to]) >= sums.between([from, to, runs]) => from,
        (_, to) => to,
    };
    Some(Part { statistic, cut })
}

/// Where two neighbouring parts differ most; `None` where there are too few runs.
pub(super) fn best_cut(values: &[f64]) -> Option<usize> {
    let sums = Sums::new(values);
    let runs = sums.runs();
    let cuts = FEWEST_RUNS..(runs + 1).saturating_sub(FEWEST_RUNS);
    cuts.max_by(|a, b| sums.between([0, *a, runs]).total_cmp(&sums.between([0, *b, runs])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's own example (1908): the two samples in sequence; R: t.test(extra ~ group, var.equal = TRUE): t = -1.8608.
    #[test]
    fn the_statistic_of_a_cut_is_students_t() {
        let drug_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let drug_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let both: Vec<f64> = drug_1.into_iter().chain(drug_2).collect();
        let sums = Sums::new(&both);
        let t = sums.statistic(sums.between([0, 10, 20]));
        assert!((t - 1.8608).abs() < 1e-4, "{t}");
    }

    #[test]
    fn a_part_in_the_middle_is_cut_where_it_differs_more() {
        let values: Vec<f64> = [(8, 1.0), (6, 3.0), (8, 1.5)].iter().flat_map(|&(n, v)| vec![v; n]).collect();
        let (from, to, _) = Sums::new(&values).greatest().unwrap();
        assert_eq!((from, to), (8, 14));
        assert_eq!(greatest_part(&values).unwrap().cut, 8);
        assert_eq!(best_cut(&values[8..]), Some(6));
    }

    #[test]
    fn pieces_have_enough_runs_everywhere() {
        // One value alone is no part, wherever it stands.
        for place in 0..9 {
            let mut values = vec![0.0; 9];
            values[place] = 1.0;
            let (from, to, _) = Sums::new(&values).greatest().unwrap();
            assert!(to - from >= FEWEST_RUNS && 9 - (to - from) >= FEWEST_RUNS, "{from} {to}");
            assert!((from == 0 || from >= FEWEST_RUNS) && (to == 9 || to <= 9 - FEWEST_RUNS), "{from} {to}");
        }
        assert_eq!((greatest_part(&[1.0, 2.0, 3.0, 4.0, 5.0]), best_cut(&[1.0; 5])), (None, None));
        assert_eq!(greatest_part(&[1.0; 9]), None);
    }
}
