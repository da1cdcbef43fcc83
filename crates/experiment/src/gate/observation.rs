//! A round's observation of a condition: one number.

use plimsoll_report::collect::comparison::MeasuredRun;
use plimsoll_stats::comparison::{Metric, Scope, estimate, fewest_of_percentile, repeats};

use plimsoll_results::comparison::{Condition, Threshold};

/// Maximum ratio of the numbers of requests per run, of two sides whose percentiles chance moves about as much.
const SIMILAR: f64 = 1.2;
/// Errors that are consistent with none seen among N operations, over N (the rule of three, for 95 %).
const NONE_SEEN: f64 = 3.0;

/// The number of a condition in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunNumber {
    /// In the metric's unit.
    pub(super) value: f64,
    /// Its minimum uncertainty, whatever the other numbers.
    pub(super) grain: f64,
    /// Operations that it is of; of a percentile those with a response.
    pub(super) operations: u64,
}

impl RunNumber {
    /// # Errors
    /// The run has no such number; the message says what is missing.
    pub(super) fn of(run: &MeasuredRun, condition: &Condition) -> Result<Self, String> {
        let Condition { name, metric, .. } = condition;
        let scope = Scope::named(&run.intervals, name).ok_or_else(|| missing(name, run))?;
        let course = run.course(scope);
        let none = || format!("{name} has no {}", metric.label());
        let value = estimate(*metric, std::slice::from_ref(&course)).ok_or_else(none)?.value;
        let grain = repeats::grain(*metric, value, run.seconds());
        let row = course.sum().row;
        let is_percentile = metric.percentile().is_some();
        Ok(Self { value, grain, operations: if is_percentile { row.response.count() } else { row.count } })
    }
}

/// That a percentile of this number of requests is wrong by chance: in most runs too low, and with rare stalls in some far too high. Its mean
/// stays wrong, so more runs do not help.
fn too_few(metric: Metric, requests: u64) -> Option<String> {
    let fewest = metric.percentile().map(fewest_of_percentile)?;
    let needed = format!("{requests} per run, at least {fewest} are needed");
    (requests < fewest).then(|| format!("too few requests for {} ({needed})", metric.label()))
}

/// That a number is not reliable, if the load generator's lateness moved it in a run.
pub(super) fn reliable(condition: &Condition, moved: &[String]) -> Result<(), String> {
    let metric = condition.metric.label();
    match moved.iter().any(|one| one == metric) {
        true => Err(format!("the load generator was late, so {metric} is not reliable")),
        false => Ok(()),
    }
}

/// An error about a run without the condition's operation, with the operations that it has.
fn missing(name: &str, run: &MeasuredRun) -> String {
    let is_operation = |scope: &Scope| matches!(scope, Scope::Operation(_));
    let others: Vec<String> = Scope::of(&[&run.intervals]).into_iter().filter(is_operation).map(Scope::name).collect();
    match others.as_slice() {
        [] => format!("the run contains no operation, so there are no numbers for {name}"),
        others => format!("no numbers for {name}, only for {}", others.join(", ")),
    }
}

/// A round's number for the condition, on the scale of the verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Observation {
    /// A difference of logarithms, a difference, or the candidate's number.
    pub(super) value: f64,
    /// Its minimum uncertainty, whatever the other numbers.
    pub(super) grain: f64,
    /// The smaller number of operations of the two sides.
    operations: u64,
    /// Mean number of operations of a run, of each side.
    per_run: [u64; 2],
}

impl Observation {
    /// From the runs of a round, as many of each side.
    ///
    /// # Errors
    /// It has none: a ratio to zero.
    pub(super) fn of(condition: &Condition, [baseline, candidate]: [&[RunNumber]; 2]) -> Result<Self, String> {
        let mean = |side: &[RunNumber], of: fn(f64) -> f64| {
            side.iter().map(|run| of(run.value)).sum::<f64>() / side.len() as f64
        };
        let runs = || baseline.iter().chain(candidate);
        let coarsest = |of: fn(&RunNumber) -> f64| runs().map(of).fold(0.0, f64::max);
        let (value, grain) = match condition.threshold {
            Threshold::Relative(_) => {
                (mean(candidate, f64::ln) - mean(baseline, f64::ln), coarsest(|run| run.grain / run.value))
            }
            Threshold::Change(_) => (mean(candidate, |x| x) - mean(baseline, |x| x), coarsest(|run| run.grain)),
            Threshold::Value(_) => (mean(candidate, |x| x), coarsest(|run| run.grain)),
        };
        let operations = |side: &[RunNumber]| side.iter().map(|run| run.operations).sum::<u64>();
        let per_run = [baseline, candidate].map(|side| operations(side) / side.len().max(1) as u64);
        let operations = match condition.threshold {
            Threshold::Value(_) => operations(candidate),
            _ => operations(candidate).min(operations(baseline)),
        };
        let zero = || format!("{} is zero in a run, so a relative change is undefined", condition.metric.label());
        if value.is_finite() { Ok(Self { value, grain, operations, per_run }) } else { Err(zero()) }
    }

    /// Whether the runs of both sides have about as many requests.
    pub(super) fn has_similar_sides(&self) -> bool {
        let [baseline, candidate] = self.per_run;
        baseline.max(candidate) as f64 <= SIMILAR * baseline.min(candidate) as f64
    }

    /// Why the runs of the baseline, and of the candidate, have too few requests for a percentile; `None` where they have enough.
    pub(super) fn too_few(&self, metric: Metric) -> [Option<String>; 2] {
        self.per_run.map(|requests| too_few(metric, requests))
    }
}

/// Minimum uncertainty of the observations' mean, at any number of them.
pub(super) fn grain(metric: Metric, observations: &[Observation]) -> f64 {
    match metric {
        // Runs without an error do not scatter.
        Metric::Errors => NONE_SEEN / observations.iter().map(|one| one.operations).sum::<u64>().max(1) as f64,
        _ => observations.iter().map(|one| one.grain).fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};
    use plimsoll_stats::intervals::{IntervalRecorder, Intervals};
    use plimsoll_testkit::transaction;

    use super::*;

    fn runs(values: &[f64]) -> Vec<RunNumber> {
        values.iter().map(|&value| RunNumber { value, grain: 0.001 * value, operations: 100 }).collect()
    }

    fn observed(condition: &str, a: &[f64], b: &[f64]) -> Result<f64, String> {
        let condition = Condition::parse(condition).unwrap();
        Ok(Observation::of(&condition, [&runs(a), &runs(b)])?.value)
    }

    #[test]
    fn the_scale_is_that_of_the_threshold() {
        let ratio = observed("mean > +3%", &[1.0, 4.0], &[2.0, 8.0]).unwrap();
        assert!((ratio - 2_f64.ln()).abs() < 1e-12);
        assert_eq!(observed("mean > +1ms", &[1.0, 4.0], &[2.0, 8.0]), Ok(2.5));
        assert_eq!(observed("mean > 1ms", &[1.0, 4.0], &[2.0, 8.0]), Ok(5.0));
        assert!(observed("mean > +3%", &[0.0, 4.0], &[2.0, 8.0]).unwrap_err().contains("is zero"));
    }

    #[test]
    fn a_late_generator_is_said_of_the_numbers_that_it_moved() {
        let moved = ["mean".to_owned(), "p95".to_owned()];
        let of = |text: &str| reliable(&Condition::parse(text).unwrap(), &moved);
        assert!(of("read.p95 > +3%").unwrap_err().contains("so p95 is not reliable"));
        assert!(of("mean > 3ms").is_err() && of("p99 > +3%").is_ok() && of("throughput < -3%").is_ok());
    }

    /// p99.9 of 100 requests is the slowest one. If 0.2 % are slow, most runs have none of them, and the mean over many runs is too fast.
    #[test]
    fn a_percentile_of_too_few_requests_is_known_as_such() {
        let few = |condition: &str, requests: i64| {
            let mut recorder = IntervalRecorder::new(Intervals::growing());
            let took = 1_000_000;
            let read = Procedure::of(Protocol::Nfs3, 6);
            (1..=requests).for_each(|at| recorder.record(&transaction(read, at * took, took)));
            let run = MeasuredRun { span_ns: (0, 20_000 * took), intervals: recorder.finish() };
            let condition = Condition::parse(condition).unwrap();
            let number = RunNumber::of(&run, &condition).unwrap();
            let enough = RunNumber { operations: 10_000, ..number };
            let round = Observation::of(&condition, [&[enough, enough], &[number, number]]).unwrap();
            let [baseline, candidate] = round.too_few(condition.metric);
            assert_eq!(baseline, None);
            candidate
        };
        let said = "too few requests for p99.9 (100 per run, at least 10000 are needed)";
        assert_eq!(few("p99.9 > 200ms", 100).as_deref(), Some(said));
        assert_eq!(few("p99.9 > 200ms", 10_000), None);
        assert_eq!([few("p90 > 200ms", 100), few("mean > 200ms", 5)], [None, None]);
    }

    /// One run of 999 requests does not spoil a round of 1,000 per run.
    #[test]
    fn the_runs_of_a_side_have_enough_requests_together() {
        let condition = Condition::parse("p99 > +3%").unwrap();
        let side = |requests: [u64; 2]| requests.map(|operations| RunNumber { value: 1.0, grain: 0.001, operations });
        let few = |requests| {
            let round = Observation::of(&condition, [&side([1_000, 1_000]), &side(requests)]).unwrap();
            round.too_few(condition.metric)[1].is_some()
        };
        assert_eq!([few([999, 1_001]), few([999, 1_000])], [false, true]);
    }

    #[test]
    fn a_linear_drift_falls_out_of_a_round() {
        // A B B A, 2 % slower from run to run.
        let at = |turn: f64| (0.02 * turn).exp();
        let drift = observed("mean > +3%", &[at(0.0), at(3.0)], &[at(1.0), at(2.0)]).unwrap();
        assert!(drift.abs() < 1e-12, "{drift}");
    }

    #[test]
    fn runs_without_errors_do_not_prove_that_there_are_none() {
        let condition = Condition::parse("errors > 1%").unwrap();
        let round = Observation::of(&condition, [&runs(&[0.0, 0.0]), &runs(&[0.0, 0.0])]).unwrap();
        assert_eq!(grain(Metric::Errors, &[round, round]), 3.0 / 400.0);
        assert_eq!(grain(Metric::Mean, &[Observation { grain: 0.5, ..round }, round]), 0.5);
    }
}
