//! Places of several, and what many points say together.

use statrs::distribution::{ContinuousCDF, Gamma};

use super::difference::{Interval, Side};
use super::student::CERTAIN;

/// Ranks of the servers with a number, 1 is best: one plus the number of servers before it. Two servers tie unless the first and all
/// servers as good or better were *shown* to beat the second and all servers as good or worse. So a server ties with every server from
/// which it was not shown to differ, and no winner results from a chance order of three. `shown(a, b)` returns whether `a` was shown to
/// be better than `b`.
pub fn places(values: &[Option<f64>], more_is_better: bool, shown: impl Fn(usize, usize) -> bool) -> Vec<Option<u64>> {
    let mut order: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    order.sort_by(|a, b| if more_is_better { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
    let mut places = vec![None; values.len()];
    let mut place = 1;
    for (rank, &(at, _)) in order.iter().enumerate() {
        let (better, rest) = order.split_at(rank);
        if better.iter().all(|(front, _)| rest.iter().all(|(behind, _)| shown(*front, *behind))) {
            place = rank as u64 + 1;
        }
        if let Some(own) = places.get_mut(at) {
            *own = Some(place);
        }
    }
    places
}

/// The geometric mean of independent numbers, with its interval: the intervals of their logarithms combined as for a sum (MOVER: Zou and
/// Donner 2008). `None` without numbers, and if one of them may be zero.
pub fn geometric_mean(of: &[Side]) -> Option<Side> {
    let count = of.len() as f64;
    if of.is_empty() || of.iter().any(|side| side.interval.low <= 0.0 || !side.interval.high.is_finite()) {
        return None;
    }
    let value = of.iter().map(|side| side.value.ln()).sum::<f64>() / count;
    let half = |end: fn(&Side) -> f64| {
        let squares: f64 = of.iter().map(|side| (side.value.ln() - end(side).ln()).powi(2)).sum();
        squares.sqrt() / count
    };
    let (down, up) = (half(|side| side.interval.low), half(|side| side.interval.high));
    let interval = Interval { low: (value - down).exp(), high: (value + up).exp() };
    let degrees = of.iter().map(|side| side.degrees).fold(f64::INFINITY, f64::min);
    Some(Side { value: value.exp(), interval, degrees })
}

/// The mean of independent numbers, with its interval (MOVER, as above). `None` without numbers.
pub fn arithmetic_mean(of: &[Side]) -> Option<Side> {
    let count = of.len() as f64;
    let value = of.iter().map(|side| side.value).sum::<f64>() / count;
    let half =
        |end: fn(&Side) -> f64| of.iter().map(|side| (side.value - end(side)).powi(2)).sum::<f64>().sqrt() / count;
    let interval =
        Interval { low: value - half(|side| side.interval.low), high: value + half(|side| side.interval.high) };
    let degrees = of.iter().map(|side| side.degrees).fold(f64::INFINITY, f64::min);
    (!of.is_empty()).then_some(Side { value, interval, degrees })
}

/// A rate, events per time, with the exact interval of a Poisson count (Garwood 1936); `None` if `time` is zero.
pub fn rate(events: u64, time: f64) -> Option<Side> {
    let count = events as f64;
    let tail = (1.0 - super::CONFIDENCE) / 2.0;
    let quantile = |shape: f64, p: f64| Gamma::new(shape, 1.0).ok().map(|gamma| gamma.inverse_cdf(p));
    let low = if events == 0 { 0.0 } else { quantile(count, tail)? };
    let high = quantile(count + 1.0, 1.0 - tail)?;
    let over = |number: f64| number / time;
    (time > 0.0).then(|| Side {
        value: over(count),
        interval: Interval { low: over(low), high: over(high) },
        degrees: CERTAIN,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn placed(values: &[f64], half: &[f64]) -> Vec<u64> {
        let shown = |a: usize, b: usize| values[a] - values[b] > half[a].hypot(half[b]);
        let known: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        places(&known, true, shown).into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn who_is_not_shown_to_differ_shares_a_place() {
        assert_eq!(placed(&[10.0, 30.0, 20.0], &[1.0; 3]), [3, 1, 2]);
        assert_eq!(placed(&[10.0, 10.5, 20.0], &[1.0; 3]), [2, 2, 1]);
        assert_eq!(placed(&[20.0, 20.5, 10.0], &[1.0; 3]), [1, 1, 3], "one more than there are in front");
        // 30 is shown to beat 28. 29 lies between them and was shown to differ from neither.
        assert_eq!(placed(&[30.0, 29.0, 28.0], &[1.0; 3]), [1, 1, 1]);
        let fastest = places(&[Some(1.0), Some(2.0), None], false, |a, b| (a, b) == (0, 1));
        assert_eq!(fastest, [Some(1), Some(2), None], "who has no number has no place");
        assert_eq!(places(&[], true, |_, _| true), []);
    }

    #[test]
    fn a_geometric_mean_and_its_interval() {
        let side = |value: f64, factor: f64| Side {
            value,
            interval: Interval { low: value / factor, high: value * factor },
            degrees: 9.0,
        };
        let found = geometric_mean(&[side(1.0, 1.1), side(100.0, 1.1)]).unwrap();
        let factor = 1.1_f64.powf(2_f64.sqrt() / 2.0);
        assert!((found.value - 10.0).abs() < 1e-9 && found.degrees == 9.0);
        assert!((found.interval.low - 10.0 / factor).abs() < 1e-9, "halves add as squares: {found:?}");
        assert!((found.interval.high - 10.0 * factor).abs() < 1e-9);
        assert_eq!(geometric_mean(&[]), None);
        let may_be_zero = Side { value: 1.0, interval: Interval { low: 0.0, high: 2.0 }, degrees: 9.0 };
        assert_eq!(geometric_mean(&[side(1.0, 1.1), may_be_zero]), None);
    }

    /// Garwood 1936, table for 95 %: 0 to 3.689 of none, 4.795 to 18.390 of ten.
    #[test]
    fn rates_have_the_exact_interval_of_a_count() {
        let near = |found: f64, exact: f64| assert!((found - exact).abs() < 5e-4, "{found}, not {exact}");
        for (events, low, high) in [(0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.390), (100, 81.364, 121.627)] {
            let found = rate(events, 2.0).unwrap();
            near(found.value, events as f64 / 2.0);
            near(2.0 * found.interval.low, low);
            near(2.0 * found.interval.high, high);
        }
        assert_eq!(rate(3, 0.0), None);
    }

    /// For two servers with the same rate of outages, one is called worse at most as often as a test of 5 % allows.
    #[test]
    fn equal_rates_are_seldom_called_different() {
        use statrs::distribution::{Discrete, Poisson};

        use crate::comparison::{Difference, Metric, Verdict};

        for mean in [0.3, 1.0, 3.0, 10.0] {
            let poisson = Poisson::new(mean).unwrap();
            let mut different = 0.0;
            for a in 0..60 {
                for b in 0..60 {
                    let found = Difference::of_sides(Metric::Errors, &rate(a, 1.0).unwrap(), &rate(b, 1.0).unwrap());
                    if found.verdict != Verdict::NotShown {
                        different += poisson.pmf(a) * poisson.pmf(b);
                    }
                }
            }
            assert!(different < 0.05, "{mean}: {different}");
        }
        // Six outages against none are significant (2 · 0.5⁶ = 0.03); five are not.
        let verdict = |events| {
            let (none, some) = (rate(0, 1.0).unwrap(), rate(events, 1.0).unwrap());
            Difference::of_sides(Metric::Errors, &none, &some).verdict
        };
        assert_eq!((verdict(3), verdict(8)), (Verdict::NotShown, Verdict::Worse));
    }

    #[test]
    fn an_arithmetic_mean_and_its_interval() {
        let side =
            |value: f64, half: f64| Side { value, interval: Interval { low: value, high: value + half }, degrees: 9.0 };
        let found = arithmetic_mean(&[side(0.0, 0.03), side(0.02, 0.04)]).unwrap();
        assert!((found.value - 0.01).abs() < 1e-12 && (found.interval.low - 0.01).abs() < 1e-12);
        assert!((found.interval.high - (0.01 + 0.05 / 2.0)).abs() < 1e-12, "halves add as squares: {found:?}");
        assert_eq!(arithmetic_mean(&[]), None);
    }

    proptest! {
        #[test]
        fn a_pair_with_different_places_was_shown_to_differ(
            numbers in prop::collection::vec((0.0..100.0f64, 0.1..20.0f64), 1..8)
        ) {
            let (values, half): (Vec<f64>, Vec<f64>) = numbers.into_iter().unzip();
            let found = placed(&values, &half);
            for (a, place) in found.iter().enumerate() {
                for (b, other) in found.iter().enumerate() {
                    let shown = values[a] - values[b] > half[a].hypot(half[b]);
                    prop_assert!(place >= other || shown, "{values:?} {half:?}: {found:?}");
                }
                let in_front = found.iter().filter(|other| *other < place).count() as u64;
                prop_assert_eq!(*place, in_front + 1);
            }
        }
    }
}
