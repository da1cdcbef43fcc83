//! Intervals of independent measurements, for a single look.

use super::difference::Interval;
use super::repeats::FEWEST;
use super::student;

/// Minimum number of values on both sides together if one side has fewer than [`FEWEST`].
pub const FEWEST_IN_ALL: usize = 4;

/// The mean with an interval that holds the true one with a probability of 1 − `alpha` (Student 1908); `None` for fewer than [`FEWEST`].
pub fn mean(values: &[f64], alpha: f64) -> Option<(f64, Interval)> {
    if values.len() < FEWEST {
        return None;
    }
    let (mean, squares) = moments(values);
    let degrees = values.len() as f64 - 1.0;
    let error = (squares / degrees / values.len() as f64).sqrt();
    Some(around(mean, student::quantile(1.0 - alpha / 2.0, degrees) * error))
}

/// The other side's mean minus the baseline's, likewise. With [`FEWEST`] values on each side, each has its own variance (Welch 1947).
/// With fewer on one side and [`FEWEST_IN_ALL`] together, both are assumed to have the same variance (Student; for a single value,
/// Crawford and Howell 1998).
pub fn difference(baseline: &[f64], other: &[f64], alpha: f64) -> Option<(f64, Interval)> {
    let (na, nb) = (baseline.len(), other.len());
    if na == 0 || nb == 0 || na + nb < FEWEST_IN_ALL {
        return None;
    }
    let ((a, a_squares), (b, b_squares)) = (moments(baseline), moments(other));
    let (na_f, nb_f) = (na as f64, nb as f64);
    let (variance, degrees) = if na >= FEWEST && nb >= FEWEST {
        let (sa, sb) = (a_squares / (na_f - 1.0) / na_f, b_squares / (nb_f - 1.0) / nb_f);
        let both = sa + sb;
        let degrees = if both > 0.0 {
            both.powi(2) / (sa * sa / (na_f - 1.0) + sb * sb / (nb_f - 1.0))
        } else {
            na_f + nb_f - 2.0
        };
        (both, degrees)
    } else {
        let degrees = na_f + nb_f - 2.0;
        ((a_squares + b_squares) / degrees * (1.0 / na_f + 1.0 / nb_f), degrees)
    };
    Some(around(b - a, student::quantile(1.0 - alpha / 2.0, degrees) * variance.sqrt()))
}

fn around(mean: f64, half: f64) -> (f64, Interval) {
    (mean, Interval { low: mean - half, high: mean + half })
}

/// Mean, and the sum of the squared deviations from it.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum())
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::Random;

    use super::*;

    /// Student's own example (1908): additional hours of sleep on two drugs, treated here as if the patients were different.
    const DRUG_1: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const DRUG_2: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    fn near((value, interval): (f64, Interval), [of, low, high]: [f64; 3]) {
        for (is, expected) in [(value, of), (interval.low, low), (interval.high, high)] {
            assert!((is - expected).abs() < 1e-6, "{value} {interval:?}, not {of} {low} {high}");
        }
    }

    #[test]
    fn students_sleep_data_without_pairs() {
        // R: t.test(extra ~ group, data = sleep): interval -3.3654832 0.2054832 of the first minus the second.
        near(difference(&DRUG_1, &DRUG_2, 0.05).unwrap(), [1.58, -0.205_483_2, 3.365_483_2]);
        // R: t.test(sleep$extra[1:10]): interval -0.5297804 2.0297804.
        near(mean(&DRUG_1, 0.05).unwrap(), [0.75, -0.529_780_4, 2.029_780_4]);
    }

    #[test]
    fn too_few_numbers_give_no_interval() {
        assert!(mean(&[1.0, 2.0], 0.05).is_none() && difference(&[1.0, 2.0], &[1.0], 0.05).is_none());
        assert!(difference(&[1.0; 9], &[], 0.05).is_none());
        // One number against three: t of two degrees (4.3027), deviation 0.1, sqrt(1 + 1/3).
        near(difference(&[0.9, 1.0, 1.1], &[1.0], 0.05).unwrap(), [0.0, -0.496_827_5, 0.496_827_5]);
        let (_, equal) = difference(&[1.0; 3], &[1.0; 3], 0.05).unwrap();
        assert_eq!((equal.low, equal.high), (0.0, 0.0));
    }

    /// The interval excludes the true difference in at most 5 % of all cases (plus a margin for chance), whatever the number of values on
    /// each side.
    #[test]
    fn intervals_hold_the_true_difference() {
        const CASES: u32 = 20_000;
        for (na, nb, other_deviation) in [(3, 1, 1.0), (10, 1, 1.0), (2, 2, 1.0), (5, 5, 1.0), (4, 12, 3.0)] {
            let mut random = Random::new(7);
            let mut wrong = 0;
            for _ in 0..CASES {
                let mut side = |count: usize, mean: f64, deviation: f64| -> Vec<f64> {
                    (0..count).map(|_| mean + deviation * random.normal()).collect()
                };
                let (a, b) = (side(na, 1.0, 1.0), side(nb, 3.0, other_deviation));
                let (_, interval) = difference(&a, &b, 0.05).unwrap();
                wrong += u32::from(interval.low > 2.0 || interval.high < 2.0);
            }
            let share = f64::from(wrong) / f64::from(CASES);
            assert!(share < 0.055, "{na} against {nb}, deviation {other_deviation}: {share}");
        }
    }
}
