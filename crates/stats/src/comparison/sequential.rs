//! An interval that is valid after every observation: a test may stop as soon as it decides.
//!
//! The interval of Student's t contains the true mean in 95 of 100 cases for a single look, after a fixed number of observations. A test
//! that looks after each observation and stops at the first decision is wrong far more often (more than a fifth of the time after 50
//! looks). This interval contains the mean *at all times at once* in 95 of 100 cases.
//!
//! It is the set of means `m` that the scale-invariant t-test has not rejected. With the right-Haar prior on the
//! standard deviation and a normal prior of variance g on the effect (mean − m) / deviation, the Bayes factor against `m`
//!
//! ```text
//! e(m) = (1 + n g)^(-1/2) · ((1 + t²/ν) / (1 + t²/(ν (1 + n g))))^(n/2),   ν = n − 1,   t = √n (mean − m) / s
//! ```
//!
//! is a non-negative martingale that begins at 1 if `m` is the mean, whatever the deviation. The probability that it ever reaches 1 /
//! alpha is therefore at most alpha (Ville 1939). Sources: Lai 1976; Rouder et al. 2009; Hendriksen, de Heide and Grünwald 2021; Wang and
//! Ramdas 2023. The observations are taken to be independent and normal.

use super::difference::Interval;

/// Variance of the prior on the effect size (g). It changes how soon an interval is narrow, not whether it is right: chosen by
/// simulation for effects of 0.5 to 3 standard deviations per observation (docs/decisions/0026-sequential-gate.md).
const EFFECT_VARIANCE: f64 = 2.0;

/// The mean of the observations so far, with an interval that holds the true mean after every number of observations with
/// a probability of 1 − `alpha`; `None` without an interval of finite length.
pub fn confidence_sequence(observations: &[f64], alpha: f64) -> Option<(f64, Interval)> {
    let count = observations.len() as f64;
    let half = half_width(observations.len(), alpha, EFFECT_VARIANCE)?;
    let mean = observations.iter().sum::<f64>() / count;
    let variance = observations.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half = half * (variance / count).sqrt();
    (mean + half).is_finite().then_some((mean, Interval { low: mean - half, high: mean + half }))
}

/// The fewest observations that give an interval.
pub fn fewest(alpha: f64) -> usize {
    // For any alpha > 0 a finite number of observations is enough.
    (2..).find(|&count| half_width(count, alpha, EFFECT_VARIANCE).is_some()).unwrap_or(usize::MAX)
}

/// Half the interval's length in standard errors: the t at which e = 1 / alpha, which no finite t reaches at first.
fn half_width(count: usize, alpha: f64, effect_variance: f64) -> Option<f64> {
    if count < 2 {
        return None;
    }
    let n = count as f64;
    let ratio = 1.0 + n * effect_variance;
    let root = (ratio.sqrt() / alpha).powf(2.0 / n);
    (root < ratio).then(|| ((n - 1.0) * (root - 1.0) / (1.0 - root / ratio)).sqrt())
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::Random;

    use super::super::student;
    use super::*;

    /// Results of looking after every observation.
    struct Looked {
        above: f64,
        below: f64,
        rounds: f64,
    }

    /// Runs `experiments` simulated experiments with values from `draw` and a deviation of 1; each ends when the interval excludes 0, or
    /// after the last of `half`.
    fn look(draw: impl Fn(&mut Random) -> f64, half: &[Option<f64>], experiments: usize) -> Looked {
        let mut random = Random::new(7);
        let (mut above, mut below, mut rounds) = (0, 0, 0);
        for _ in 0..experiments {
            let (mut sum, mut squares) = (0.0, 0.0);
            for (at, half) in half.iter().enumerate() {
                let (n, drawn) = ((at + 1) as f64, draw(&mut random));
                sum += drawn;
                squares += drawn * drawn;
                rounds += 1;
                let Some(half) = half else { continue };
                let (mean, variance) = (sum / n, (squares - sum * sum / n) / (n - 1.0));
                if mean.abs() > half * (variance / n).sqrt() {
                    if mean > 0.0 {
                        above += 1
                    } else {
                        below += 1
                    }
                    break;
                }
            }
        }
        let of = |count: usize| count as f64 / experiments as f64;
        Looked { above: of(above), below: of(below), rounds: of(rounds) }
    }

    fn halves(most: usize, g: f64) -> Vec<Option<f64>> {
        (1..=most).map(|count| half_width(count, 0.05, g)).collect()
    }

    /// The formula of the module, as it stands there.
    fn e_value(observations: &[f64], m: f64) -> f64 {
        let n = observations.len() as f64;
        let (mean, nu, ratio) = (observations.iter().sum::<f64>() / n, n - 1.0, 1.0 + n * EFFECT_VARIANCE);
        let s = (observations.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / nu).sqrt();
        let t = n.sqrt() * (mean - m) / s;
        ratio.powf(-0.5) * ((1.0 + t * t / nu) / (1.0 + t * t / (nu * ratio))).powf(n / 2.0)
    }

    #[test]
    fn the_ends_are_where_the_bayes_factor_is_one_over_alpha() {
        let observations = [0.031, 0.018, 0.044, 0.027, 0.039, 0.022];
        let (mean, Interval { low, high }) = confidence_sequence(&observations, 0.05).unwrap();
        for end in [low, high] {
            assert!((e_value(&observations, end) - 20.0).abs() < 1e-6);
        }
        assert!(e_value(&observations, mean) < 1.0 && e_value(&observations, high + 0.01) > 20.0);
        let looser = confidence_sequence(&observations, 0.01).unwrap().1;
        assert!(looser.low < low && looser.high > high);
    }

    /// By numerical integration over deviation and effect of the two likelihoods: Rouder et al. 2009, with a normal prior.
    #[test]
    fn the_bayes_factor_is_the_ratio_of_the_integrated_likelihoods() {
        let x = [0.4, 1.1, -0.2, 0.9];
        let likelihood =
            |mean: f64, s: f64| -> f64 { x.iter().map(|x| (-((x - mean) / s).powi(2) / 2.0).exp() / s).product() };
        let (mut with, mut without) = (0.0, 0.0);
        // The right-Haar prior 1/σ is uniform in ln σ.
        for s in (-500..900).map(|step| (f64::from(step) * 0.01).exp()) {
            without += likelihood(0.0, s);
            let prior = |effect: f64| (-effect * effect / (2.0 * EFFECT_VARIANCE)).exp();
            let effects = (-1200..1200).map(|step| f64::from(step) * 0.01);
            let norm = (std::f64::consts::TAU * EFFECT_VARIANCE).sqrt();
            with += effects.map(|effect| likelihood(effect * s, s) * prior(effect)).sum::<f64>() * 0.01 / norm;
        }
        let expected = e_value(&x, 0.0);
        assert!((with / without / expected - 1.0).abs() < 1e-3, "{} instead of {expected}", with / without);
    }

    #[test]
    fn looking_after_every_observation_is_seldom_wrong() {
        for (name, most) in [("50", 50), ("500", 500)] {
            let Looked { above, below, .. } = look(Random::normal, &halves(most, EFFECT_VARIANCE), 4_000);
            // 4,000 experiments at 5 %: a standard error of 0.35 %.
            assert!(above + below < 0.05, "{name}: {above} + {below}");
        }
        // Student's interval, looked at as often.
        let fixed: Vec<Option<f64>> =
            (1..=50).map(|count| (count > 2).then(|| student::half_width(f64::from(count) - 1.0))).collect();
        let Looked { above, below, .. } = look(Random::normal, &fixed, 2_000);
        assert!(above + below > 0.2, "the fixed interval holds at one look alone: {above} + {below}");
    }

    #[test]
    fn an_effect_is_found_soon() {
        for (effect, most) in [(1.0, 30.0), (2.0, 10.0), (5.0, 6.0)] {
            let Looked { above, below, rounds } =
                look(|random| random.normal() + effect, &halves(100, EFFECT_VARIANCE), 500);
            assert!(above > 0.99 && below == 0.0 && rounds < most, "{effect}: {above}, {below}, {rounds}");
        }
    }

    #[test]
    fn few_observations_decide_nothing() {
        assert_eq!((fewest(0.05), fewest(0.05 / 3.0)), (4, 5));
        assert_eq!(confidence_sequence(&[1.0, 1.0, 1.0], 0.05), None);
        assert_eq!(confidence_sequence(&[], 0.05), None);
        assert_eq!(confidence_sequence(&[1.0, f64::NAN, 1.0, 1.0, 1.0], 0.05), None);
        let same = confidence_sequence(&[0.5; 5], 0.05).unwrap();
        assert_eq!(same, (0.5, Interval { low: 0.5, high: 0.5 }));
    }

    /// The table of docs/decisions/0026-sequential-gate.md; of few experiments, unless it is the proof of `cargo xtask verify`.
    #[test]
    #[allow(clippy::print_stdout, reason = "the table")]
    fn choice_of_the_prior() {
        let (many, some) = if std::env::var_os("PLIMSOLL_EXACT").is_some() { (20_000, 2_000) } else { (500, 20) };
        println!(
            "g       wrong in 50  in 500   rounds to the decision at effects of 0.5 0.67 1 2 3 5; decided in 50 rounds"
        );
        for g in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0] {
            let wrong = |most| {
                let Looked { above, below, .. } = look(Random::normal, &halves(most, g), many);
                assert!(above + below < 0.05, "{g}: {above} + {below}");
                100.0 * (above + below)
            };
            let found: Vec<String> = [0.5, 0.67, 1.0, 2.0, 3.0, 5.0]
                .iter()
                .map(|effect| {
                    let mean = look(|random| random.normal() + effect, &halves(1_000, g), some).rounds;
                    let by_50 = look(|random| random.normal() + effect, &halves(50, g), some).above;
                    format!("{mean:5.1} ({:3.0} %)", 100.0 * by_50)
                })
                .collect();
            println!("{g:<7} {:>9.2} % {:>6.2} %   {}", wrong(50), wrong(500), found.join("  "));
        }
    }
}
