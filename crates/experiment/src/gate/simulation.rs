//! Error rate of a gate, its detection rate for 5 %, and its cost compared with a duel of fixed length. Runs are simulated, the judging
//! is the gate's own. `cargo xtask verify gate` prints the table of docs/decisions/0026-sequential-gate.md.
#![allow(clippy::print_stdout, reason = "the table")]

use plimsoll_stats::comparison::{Metric, repeats};
use plimsoll_testkit::Random;

use super::observation::{Observation, RunNumber};
use super::question::{Nothing, Seen};
use super::*;
use plimsoll_results::comparison::Outcome;

/// The candidate is slower by this fraction in A/B.
const DIFFERENCE: f64 = 0.05;

/// How runs of the same server scatter about their mean, on the scale of logarithms.
#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal,
    /// Student's t with five degrees of freedom: a run that is far off now and then.
    Outliers,
    /// Half of the variance is a slow wave common to consecutive runs of both sides (AR 1, 0.9 from run to run).
    Drift,
}

/// Simulates consecutive runs.
struct Runs {
    random: Random,
    noise: Noise,
    deviation: f64,
    wave: f64,
}

impl Runs {
    fn next(&mut self, mean: f64) -> f64 {
        let one = self.random.normal();
        let off = match self.noise {
            Noise::Normal => one,
            Noise::Outliers => {
                let chi: f64 = (0..5).map(|_| self.random.normal().powi(2)).sum();
                // Its variance is 5/3.
                one / (chi / 5.0).sqrt() / (5.0_f64 / 3.0).sqrt()
            }
            Noise::Drift => {
                self.wave = 0.9 * self.wave + (1.0 - 0.81_f64).sqrt() * self.random.normal();
                (one + self.wave) / std::f64::consts::SQRT_2
            }
        };
        mean * (self.deviation * off).exp()
    }

    /// The four runs of a round: two of the baseline, two of the candidate.
    fn round(&mut self, difference: f64) -> [[f64; 2]; 2] {
        let means = [1.0, 1.0 + difference];
        let [a1, b1, b2, a2] = TURNS.map(|side| self.next(means[side]));
        [[a1, a2], [b1, b2]]
    }
}

/// Results of a number of gates.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    failed: f64,
    passed: f64,
    rounds: f64,
}

fn runs(noise: Noise, deviation: f64, seed: u64) -> Runs {
    let mut random = Random::new(seed);
    let wave = random.normal();
    Runs { random, noise, deviation, wave }
}

fn gates(limit: &str, (noise, deviation): (Noise, f64), difference: f64, (gates, most): (u32, u32)) -> Came {
    let condition = Condition::parse(&format!("mean > {limit}")).unwrap();
    let mut came = Came::default();
    for gate in 0..gates {
        let mut runs = runs(noise, deviation, 1_000 + u64::from(gate));
        let mut question = Question::new(condition.clone(), String::new(), 1.0 - CONFIDENCE);
        for _ in 0..most {
            let number = |value| RunNumber { value, grain: 0.0, operations: 1_000 };
            let [a, b] = runs.round(difference).map(|side| side.map(number));
            question.observe(Observation::of(&condition, [&a, &b]).map_err(Nothing::Ever));
            if !question.is_open() {
                break;
            }
        }
        came.failed += f64::from(question.outcome == Outcome::Failed);
        came.passed += f64::from(question.outcome == Outcome::Passed);
        let Seen::Rounds(rounds) = question.seen else { panic!("{:?}", question.seen) };
        came.rounds += rounds as f64;
    }
    let of = |sum: f64| sum / f64::from(gates);
    Came { failed: of(came.failed), passed: of(came.passed), rounds: of(came.rounds) }
}

/// Rounds of a duel of fixed length whose paired interval fails 5 % against this limit 9 times of 10.
fn fixed(limit: f64, (noise, deviation): (Noise, f64), duels: u32) -> u32 {
    let power = |rounds: u32| {
        let failed = |duel: u32| {
            let mut runs = runs(noise, deviation, 9_000 + u64::from(duel));
            let pairs = |[a, b]: [[f64; 2]; 2]| [(a[0], b[0]), (a[1], b[1])];
            let pairs: Vec<(f64, f64)> = (0..rounds).flat_map(|_| pairs(runs.round(DIFFERENCE))).collect();
            let found = repeats::paired(Metric::Mean, &pairs, 0.0).unwrap();
            found.relative_interval.is_some_and(|interval| interval.low > limit)
        };
        f64::from((0..duels).map(|duel| u32::from(failed(duel))).sum::<u32>()) / f64::from(duels)
    };
    (2..).find(|&rounds| power(rounds) >= 0.9).unwrap()
}

#[test]
fn a_hundred_pairs_of_each() {
    let noise = (Noise::Normal, 0.02);
    let same = gates("+2.5%", noise, 0.0, (100, 60));
    assert!(same.failed <= 0.05 && same.passed >= 0.9, "{same:?}");
    let slower = gates("+2.5%", noise, DIFFERENCE, (100, 60));
    assert!(slower.failed >= 0.9 && slower.passed <= 0.05, "{slower:?}");
    // The worst case: the true value is the limit itself, and any decision is wrong.
    let at_limit = gates("+0%", noise, 0.0, (100, 60));
    assert!(at_limit.failed + at_limit.passed <= 0.05, "{at_limit:?}");
}

/// Of all gates of a row without a difference, at most 5 % fail. Few gates, unless it is the proof of `cargo xtask verify`.
#[test]
fn table() {
    let (many, deviations): (u32, &[f64]) = match std::env::var_os("PLIMSOLL_EXACT") {
        Some(_) => (1_000, &[0.005, 0.01, 0.02, 0.03, 0.05]),
        None => (20, &[0.01]),
    };
    println!(
        "noise       per run | A/A, limit 0 %: red  green | A/A, 2.5 %: red  green  rounds | A/B 5 %, 2.5 %: red  green  rounds | fixed"
    );
    for noise in [Noise::Normal, Noise::Outliers, Noise::Drift] {
        for &deviation in deviations {
            let with = (noise, deviation);
            let worst = gates("+0%", with, 0.0, (many, 100));
            let same = gates("+2.5%", with, 0.0, (many, 100));
            let slower = gates("+2.5%", with, DIFFERENCE, (many, 100));
            assert!(worst.failed <= 0.05 && same.failed <= 0.05, "{noise:?}, {deviation}: {worst:?} {same:?}");
            let [w, s, d] = [worst, same, slower].map(|came| (100.0 * came.failed, 100.0 * came.passed, came.rounds));
            println!(
                "{:<10} {:>6.1} % | {:>18.1} % {:>5.1} % | {:>10.1} % {:>5.1} % {:>6.1} | {:>15.1} % {:>5.1} % {:>6.1} | {:>5}",
                format!("{noise:?}"),
                100.0 * deviation,
                w.0,
                w.1,
                s.0,
                s.1,
                s.2,
                d.0,
                d.1,
                d.2,
                fixed(0.025, with, (many / 5 * 2).max(20))
            );
        }
    }
}
