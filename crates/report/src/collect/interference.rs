//! What workloads that ran at the same time did to each other, from the levels of a run.
//!
//! Each round has every workload alone and all of them at the same time, so a round is a pair for each number of each workload, and what
//! changes slowly falls out of the differences.

use plimsoll_stats::comparison::{Difference, Metric, holm, repeats};

use crate::findings::comparison::ComparedVerdict;
use crate::findings::{InterferedNumber, Interference, Interval, LoadLevel, Times};

/// The numbers that are compared.
const METRICS: [Metric; 5] = [Metric::Throughput, Metric::Bytes, Metric::Mean, Metric::P95, Metric::P99];
/// How often chance alone may call even one number of a run different.
const ALPHA: f64 = 0.05;

/// Of every workload; none where no two ran at the same time.
pub(super) fn interference(levels: &[LoadLevel]) -> Vec<Interference> {
    let places = levels.iter().filter_map(|level| level.facts.share.as_ref()).map(|share| share.place + 1).max();
    let mut found: Vec<(Interference, Vec<Option<Difference>>)> =
        (0..places.unwrap_or(0)).filter_map(|place| of_workload(levels, place)).collect();
    let p_values: Vec<Option<f64>> =
        found.iter().flat_map(|(_, of)| of.iter().map(|one| one.as_ref().map(|one| one.p_value))).collect();
    let mut differs = holm(&p_values, ALPHA).into_iter();
    for (workload, differences) in &mut found {
        for (number, difference) in workload.numbers.iter_mut().zip(differences) {
            let differs = differs.next().unwrap_or(false);
            if let Some(one) = difference {
                number.verdict = Some(if differs { one.verdict.into() } else { ComparedVerdict::NotShown });
            }
        }
    }
    found.into_iter().map(|(workload, _)| workload).collect()
}

fn of_workload(levels: &[LoadLevel], place: u32) -> Option<(Interference, Vec<Option<Difference>>)> {
    let of = |alone: bool| {
        levels.iter().filter(move |level| {
            level.facts.share.as_ref().is_some_and(|share| share.place == place && share.beside.is_empty() == alone)
        })
    };
    let round = |level: &LoadLevel| level.facts.share.as_ref().map(|share| share.round);
    let pair = |beside: &'_ LoadLevel| {
        let alone = of(true).find(|alone| round(alone) == round(beside))?;
        (alone.facts.validity.valid && beside.facts.validity.valid).then(|| (alone.clone(), beside.clone()))
    };
    let example = of(false).next()?;
    let pairs: Vec<(LoadLevel, LoadLevel)> = of(false).filter_map(pair).collect();
    let (numbers, differences) = METRICS.into_iter().filter_map(|metric| number(metric, &pairs)).unzip();
    let share = example.facts.share.clone().unwrap_or_default();
    let (load, rounds) = (example.facts.load_name.clone(), u32::try_from(pairs.len()).unwrap_or(u32::MAX));
    Some((Interference { workload: share.workload, load, beside: share.beside, rounds, numbers }, differences))
}

/// A number over all rounds; `None` where a round has none, or it is 0 in all. No difference to judge if the load generator's lateness
/// moved it in a round: that may be the whole difference.
fn number(metric: Metric, rounds: &[(LoadLevel, LoadLevel)]) -> Option<(InterferedNumber, Option<Difference>)> {
    let pairs: Vec<(f64, f64)> = rounds
        .iter()
        .map(|(alone, beside)| Some((value(metric, alone)?, value(metric, beside)?)))
        .collect::<Option<_>>()?;
    let count = pairs.len() as f64;
    let mean = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>() / count;
    let (alone, beside) = (mean(|pair| pair.0), mean(|pair| pair.1));
    // Also where there are no rounds: that is no number.
    if !(alone > 0.0 || beside > 0.0) {
        return None;
    }
    let seconds = rounds.iter().filter_map(|(alone, _)| alone.span.elapsed_s).fold(f64::INFINITY, f64::min);
    let difference = repeats::paired(metric, &pairs, repeats::grain(metric, alone, seconds));
    let interval = difference.as_ref().and_then(|one| one.relative_interval);
    let moved = rounds.iter().flat_map(|(alone, beside)| [alone, beside]);
    let is_moved =
        moved.flat_map(|level| level.facts.generator.moved_metrics(level.headline)).any(|one| one == metric.label());
    let cannot_tell = is_moved && difference.is_some();
    let number = InterferedNumber {
        metric: metric.label().to_owned(),
        unit: metric.unit().into(),
        alone,
        beside,
        change: (alone > 0.0).then(|| beside / alone - 1.0),
        change_interval: interval.map(|of| Interval { low: of.low, high: of.high }),
        p_value: difference.as_ref().map(|one| one.p_value),
        verdict: cannot_tell.then_some(ComparedVerdict::CannotTell),
    };
    Some((number, difference.filter(|_| !cannot_tell)))
}

fn value(metric: Metric, level: &LoadLevel) -> Option<f64> {
    let time = |pick: fn(&Times) -> f64| level.headline_time().as_ref().map(pick);
    match metric {
        Metric::Throughput => Some(level.operations_per_s),
        Metric::Bytes => Some(level.read_bytes_per_s + level.write_bytes_per_s),
        Metric::Mean => time(|t| t.mean_s),
        Metric::P95 => time(|t| t.p95_s),
        _ => time(|t| t.p99_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{LevelFacts, Validity, WorkloadShare};

    /// Numbers without any order in time (SplitMix64), 0 to 1.
    fn draw(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal, with mean 1 and this deviation.
    fn noise(state: &mut u64, deviation: f64) -> f64 {
        1.0 + deviation * ((0..12).map(|_| draw(state)).sum::<f64>() - 6.0)
    }

    fn level(place: u32, round: u32, beside: bool, times: f64, seed: &mut u64) -> LoadLevel {
        let names = ["home", "stream"];
        let others = if beside { vec![names[1 - place as usize].to_owned()] } else { Vec::new() };
        let one = |seed: &mut u64| times * noise(seed, 0.1);
        let time = Times { mean_s: one(seed), p95_s: one(seed), p99_s: one(seed), ..Times::alike(1, 0.0) };
        LoadLevel {
            facts: LevelFacts {
                load_name: "4 clients".to_owned(),
                share: Some(WorkloadShare { workload: names[place as usize].to_owned(), place, beside: others, round }),
                validity: Validity::of(Vec::new()),
                ..LevelFacts::default()
            },
            operations_per_s: 1000.0 * noise(seed, 0.1),
            read_bytes_per_s: 1e6 * noise(seed, 0.1),
            response_time: Some(time),
            ..LoadLevel::default()
        }
    }

    /// A run of so many rounds, in which the companion multiplies the response times of the first workload by `effect`.
    fn run(rounds: u32, effect: f64, seed: &mut u64) -> Vec<LoadLevel> {
        let mut levels = Vec::new();
        for round in 0..rounds {
            // The whole machine changes from round to round, which says nothing of the workloads.
            let drift = 1.0 + 0.1 * f64::from(round);
            for (place, beside) in [(0, false), (0, true), (1, true), (1, false)] {
                let effect = if place == 0 && beside { effect } else { 1.0 };
                levels.push(level(place, round, beside, 0.01 * drift * effect, seed));
            }
        }
        levels
    }

    /// A/A: a companion without effect. Chance may call a number of a run different in 5 % of runs; of 2,000 runs that is 100, and more
    /// than 130 have a probability below 0.2 % (binomial).
    #[test]
    fn a_companion_without_effect_does_not_interfere() {
        let mut seed = 1;
        let accused = (0..2000).filter(|_| {
            let found = interference(&run(5, 1.0, &mut seed));
            found.iter().flat_map(|workload| &workload.numbers).any(InterferedNumber::is_changed)
        });
        let accused = accused.count();
        assert!(accused <= 130, "{accused} of 2000");
    }

    /// One that triples response times is found in the numbers that it changes, and nowhere else.
    #[test]
    fn a_companion_with_a_large_effect_is_found() {
        let mut seed = 2;
        let levels: Vec<LoadLevel> = run(5, 3.0, &mut seed)
            .into_iter()
            .map(|level| LoadLevel { operations_per_s: 1000.0, read_bytes_per_s: 1e6, ..level })
            .collect();
        let found = interference(&levels);
        let worse = |place: usize| {
            let worse = found[place].numbers.iter().filter(|number| number.is_worse());
            worse.map(|number| number.metric.as_str()).collect::<Vec<_>>()
        };
        let steady: Vec<_> = found[0].numbers.iter().take(2).map(|one| one.verdict).collect();
        assert_eq!(steady, [Some(ComparedVerdict::NotShown); 2]);
        assert_eq!((worse(0), worse(1)), (vec!["mean", "p95", "p99"], Vec::new()));
        let changes = found[0].numbers.iter().filter_map(|number| number.change).skip(2);
        assert!(changes.clone().count() == 3 && changes.clone().all(|change| (1.5..2.5).contains(&change)));
        assert_eq!((found[0].workload.as_str(), found[0].beside.as_slice()), ("home", &["stream".to_owned()][..]));
    }

    /// In each round it is three times as long, to the digit: there is no doubt.
    #[test]
    fn what_is_the_same_in_every_round_is_certain() {
        let mut seed = 3;
        let mut levels = run(3, 1.0, &mut seed);
        for level in &mut levels {
            let times =
                if level.facts.share.as_ref().is_some_and(|share| !share.beside.is_empty()) { 3.0 } else { 1.0 };
            let seconds = 0.01 * times;
            level.response_time =
                Some(Times { mean_s: seconds, p95_s: seconds, p99_s: seconds, ..Times::alike(1, 0.0) });
        }
        let found = interference(&levels);
        let p95 = found[1].numbers.iter().find(|number| number.metric == "p95").unwrap();
        assert!(p95.is_worse() && (p95.change.unwrap() - 2.0).abs() < 1e-9, "{p95:?}");
    }

    /// The load generator was late beside the others: that is no effect of theirs on the server.
    #[test]
    fn a_number_that_the_load_generator_moved_has_no_verdict() {
        let mut levels = run(5, 3.0, &mut 2);
        let late = crate::findings::MovedNumber { number: "p95".to_owned(), ..Default::default() };
        levels[1].facts.generator.moved = vec![late];
        let found = interference(&levels);
        let verdict = |name: &str| {
            let number = found[0].numbers.iter().find(|number| number.metric == name).unwrap();
            (number.verdict.unwrap(), number.change_interval.is_some())
        };
        assert_eq!(verdict("p95"), (ComparedVerdict::CannotTell, true));
        assert_eq!(verdict("p99"), (ComparedVerdict::Worse, true), "others stand");
        let others = found[1].numbers.iter().filter(|number| number.is_moved()).count();
        assert_eq!(others, 0, "the other workload has its own threads");
    }

    #[test]
    fn fewer_than_three_rounds_give_numbers_and_no_verdict() {
        let found = interference(&run(2, 3.0, &mut 4));
        let p95 = found[0].numbers.iter().find(|number| number.metric == "p95").unwrap();
        assert!(p95.change.is_some() && p95.change_interval.is_none() && p95.verdict.is_none(), "{p95:?}");
    }

    #[test]
    fn rounds_that_may_not_be_used_are_left_out() {
        let mut levels = run(4, 1.0, &mut 5);
        levels[5].facts.validity = Validity::of(vec![plimsoll_model::Reason::invalid("late")]);
        let found = interference(&levels);
        assert_eq!([found[0].rounds, found[1].rounds], [3, 4]);
        assert!(interference(&[LoadLevel::default()]).is_empty());
    }
}
