//! Judges a condition from recordings whose sides were not measured alternately: from independent numbers.

use plimsoll_stats::comparison::{Interval, Metric, independent};

use plimsoll_results::comparison::{Condition, Threshold};

use super::observation::{Observation, RunNumber, grain};

/// The unit of independent measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A run: each side has one recording.
    Run,
    /// A recording with all its runs, because a side has several.
    Recording,
}

/// The numbers of both sides, on the scale on which the condition is judged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Apart {
    /// Of the baseline and of the candidate.
    values: [Vec<f64>; 2],
    pub(super) unit: Unit,
    /// All runs together, for the minimum uncertainty of their mean, and the number of their requests.
    pub(super) all: Observation,
}

impl Apart {
    /// From the runs of each recording of each side. Runs of one recording share a start of the server and a time of day: if a side has
    /// several recordings, each of them is one number.
    ///
    /// # Errors
    /// There is no ratio to zero.
    pub(super) fn of(condition: &Condition, sides: [&[Vec<RunNumber>]; 2]) -> Result<Self, String> {
        let runs = sides.map(|side| side.iter().flatten().copied().collect::<Vec<_>>());
        let all = Observation::of(condition, [&runs[0], &runs[1]])?;
        let unit = if sides.iter().any(|side| side.len() > 1) { Unit::Recording } else { Unit::Run };
        let scaled = |run: &RunNumber| match condition.threshold {
            Threshold::Relative(_) => run.value.ln(),
            Threshold::Change(_) | Threshold::Value(_) => run.value,
        };
        let mean = |runs: &Vec<RunNumber>| runs.iter().map(scaled).sum::<f64>() / runs.len() as f64;
        let values = sides.map(|side| match unit {
            Unit::Run => side.iter().flatten().map(scaled).collect(),
            Unit::Recording => side.iter().filter(|runs| !runs.is_empty()).map(mean).collect(),
        });
        Ok(Self { values, unit, all })
    }

    /// Number of values of each side.
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.values[0].len(), self.values[1].len()]
    }

    /// The condition's number with an interval; `None` if there are too few measurements.
    pub(super) fn interval(&self, condition: &Condition, alpha: f64) -> Option<(f64, Interval)> {
        let [baseline, candidate] = &self.values;
        match condition.threshold {
            Threshold::Value(_) => independent::mean(candidate, alpha),
            Threshold::Relative(_) | Threshold::Change(_) => independent::difference(baseline, candidate, alpha),
        }
    }

    /// The uncertainty that remains however many runs there are.
    pub(super) fn grain(&self, metric: Metric) -> f64 {
        grain(metric, &[self.all])
    }
}

#[cfg(test)]
mod tests {
    use super::super::Question;
    use super::super::question::Seen;
    use super::*;
    use plimsoll_results::comparison::Outcome;

    /// Judges recordings, each with the response times of its runs.
    fn judged(condition: &str, sides: [&[&[f64]]; 2]) -> Question {
        let mut question = Question::new(Condition::parse(condition).unwrap(), "4 clients".to_owned(), 0.05);
        let run = |value: &f64| RunNumber { value: *value, grain: 0.0, operations: 1_000 };
        let sides = sides.map(|side| side.iter().map(|runs| runs.iter().map(run).collect()).collect::<Vec<Vec<_>>>());
        question.judge_apart(Apart::of(&question.condition, [&sides[0], &sides[1]]));
        question
    }

    #[test]
    fn runs_of_two_recordings_are_the_numbers() {
        let baseline: &[f64] = &[1.00, 1.01, 0.99, 1.00];
        let slower = judged("mean > +3%", [&[baseline], &[&[1.10, 1.11, 1.09, 1.10]]]);
        assert_eq!((slower.outcome, slower.seen), (Outcome::Failed, Seen::Apart([4, 4], Unit::Run)), "{slower:?}");
        let known = slower.known.unwrap();
        assert!(known.low > 0.08 && (known.value - 0.1).abs() < 1e-4 && known.high < 0.12, "{known:?}");
        assert_eq!(judged("mean > +3%", [&[baseline], &[baseline]]).outcome, Outcome::Passed);
        assert_eq!(judged("mean > 1.2s", [&[baseline], &[baseline]]).outcome, Outcome::Passed);
        let one = judged("mean > +3%", [&[&[1.0]], &[&[1.1]]]);
        assert_eq!((one.outcome, one.known), (Outcome::Undecided, None));
    }

    /// Runs of a recording agree, but recordings do not: the effect of a restart must not be taken for a slower build.
    #[test]
    fn each_of_several_recordings_is_one_number() {
        let nights: [&[f64]; 4] = [&[1.00, 1.00, 1.00], &[1.06, 1.06, 1.06], &[0.95, 0.95, 0.95], &[1.02, 1.02, 1.02]];
        let new: &[f64] = &[1.08, 1.08, 1.08];
        let found = judged("mean > +3%", [&nights, &[new]]);
        assert_eq!(
            (found.outcome, found.seen),
            (Outcome::Undecided, Seen::Apart([4, 1], Unit::Recording)),
            "{found:?}"
        );
        // The same runs, treated as independent, would give a wrong verdict.
        let all: Vec<f64> = nights.concat();
        assert_eq!(judged("mean > +3%", [&[&all], &[new]]).outcome, Outcome::Failed);
        let far = judged("mean > +3%", [&nights, &[&[1.4, 1.4, 1.4]]]);
        assert_eq!(far.outcome, Outcome::Failed, "{far:?}");
    }

    #[test]
    fn a_percentile_needs_enough_requests_per_run() {
        let runs: &[f64] = &[1.00, 1.01, 0.99, 1.00];
        assert_eq!(judged("p99 > +3%", [&[runs], &[runs]]).outcome, Outcome::Passed);
        let few = judged("p99.9 > +3%", [&[runs], &[runs]]);
        assert!(few.unanswerable.unwrap().starts_with("too few requests for p99.9 (1000 per run"));
    }

    #[test]
    fn zero_has_no_ratio() {
        let found = judged("mean > +3%", [&[&[0.0, 1.0, 1.0]], &[&[1.0, 1.0, 1.0]]]);
        assert!(found.unanswerable.unwrap().contains("is zero"));
    }
}
