//! The result of a gate.

use std::time::Duration;

use super::question::Question;
use plimsoll_results::comparison::{Judgement, Outcome};

/// The result of a gate.
pub struct GateResult {
    /// Each condition at each load level.
    pub questions: Vec<Question>,
    /// Why it ended.
    pub why: String,
    /// The basis of the decision.
    pub basis: Basis,
    /// How long it took.
    pub took: Duration,
    /// Every run of the complete rounds, in order.
    pub runs: Vec<GateRun>,
    /// It measured nothing, but judged recordings.
    pub judged_again: bool,
}

/// The basis of a gate's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Rounds of runs in turns.
    Rounds {
        /// Complete rounds.
        all: usize,
        /// Rounds that do not count, because the load generator was the bottleneck.
        uncounted: usize,
    },
    /// Recordings that were not made in turns.
    Apart,
}

/// One load level of one run of a gate.
pub struct GateRun {
    /// Its round, from 1; `None` where the sides were not measured alternately.
    pub round: Option<u32>,
    /// Its place among the runs of the round, from 1; without rounds, among all runs at its load level.
    pub turn: u32,
    /// 0 the baseline, 1 the candidate.
    pub side: usize,
    /// Name of the load level.
    pub level_name: String,
    /// When the measured phase began, ns since the Unix epoch.
    pub first_ns: i64,
    /// Length of the measured phase, s.
    pub seconds: f64,
    /// Its round counts.
    pub counted: bool,
    /// The number of each condition, in the metric's unit.
    pub numbers: Vec<Option<f64>>,
}

impl GateResult {
    /// The worst of all conditions.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.questions.iter().map(|question| question.outcome).max().unwrap_or(Outcome::Undecided)
    }

    /// The conditions that failed, and those that are undecided, in the words of `line`.
    pub(super) fn judgement(&self, line: impl Fn(&Question) -> String) -> Judgement {
        let of = |wanted: Outcome| {
            self.questions.iter().filter(|question| question.outcome == wanted).map(&line).collect::<Vec<_>>()
        };
        Judgement { failed: of(Outcome::Failed), undecided: of(Outcome::Undecided) }
    }
}

/// A time in words: `2 min 3 s`.
#[must_use]
pub fn shown(time: Duration) -> String {
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, _) => format!("{:.1} s", time.as_secs_f64()),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_words() {
        let words = [5.25, 120.0, 123.0].map(|seconds| shown(Duration::from_secs_f64(seconds)));
        assert_eq!(words, ["5.2 s", "2 min", "2 min 3 s"]);
    }
}
