//! The highest load that met an objective.

use plimsoll_model::Reason;
use serde::{Deserialize, Serialize};

use super::Validity;

/// Result of a search for the highest load that meets an objective.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The unit of the load: clients, users, iterations per second.
    pub unit: String,
    /// The objectives of the search.
    pub objectives: Vec<String>,
    /// How it ended.
    pub outcome: CapacityOutcome,
    /// Why it was not found.
    pub why: Option<String>,
    /// Lower end of the 95 % interval, in `unit`: this load met the objective.
    pub low: Option<f64>,
    /// The load that met the objective in the confirming runs: `low` is this load, lowered by `slack`, but at least 1 user. Null without
    /// `low`.
    #[serde(default)]
    pub low_tested: Option<f64>,
    /// Upper end: this load missed it.
    pub high: Option<f64>,
    /// Fresh runs in a row that confirmed each end.
    pub confirmations: u32,
    /// By what part the lower end was lowered, because a queue that grows more slowly does not break the objective within
    /// one run; null without a schedule, and for a rate without an objective for a time.
    pub slack: Option<f64>,
    /// Every run, in order.
    pub trials: Vec<Trial>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CapacityOutcome {
    /// Both ends of the interval are confirmed.
    #[serde(rename = "found")]
    Found,
    /// `low` is confirmed, no higher load missed the objective: `why`.
    #[serde(rename = "at least")]
    AtLeast,
    /// The lowest load misses the objective.
    #[serde(rename = "none")]
    NoLoad,
    /// All allowed runs are used and no end is confirmed.
    #[default]
    #[serde(rename = "undecided")]
    Undecided,
    /// Stopped, or the load generator was the bottleneck; `low` is present if it was confirmed before.
    #[serde(rename = "unfinished")]
    Unfinished,
}

plimsoll_model::words! {
    CapacityOutcome,
    "Every outcome.",
    "The word in reports and files.":
    Found "found", AtLeast "at least", NoLoad "none", Undecided "undecided", Unfinished "unfinished"
}

/// One run of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The number of its entry in `levels`.
    pub level: u64,
    /// Its load, in the search's unit.
    pub load: f64,
    /// It was a shorter run that only brackets.
    pub brief: bool,
    /// Length of its measured phase, s.
    pub seconds: f64,
    /// Whether the run met the objective; null where the run does not count: the load generator may be to blame, the run made no request or
    /// was interrupted, or an objective has no number, or too few requests for its percentile.
    pub met: Option<bool>,
    /// The objectives that the run missed, with the values, or for which it has too few requests; or its interruption.
    pub because: Vec<String>,
}

impl Capacity {
    /// Valid with an answer; "the lowest load misses the objective" is one. Partial if the search did not finish but a load is confirmed.
    #[must_use]
    pub fn validity(&self) -> Validity {
        match self.outcome {
            CapacityOutcome::Found | CapacityOutcome::AtLeast | CapacityOutcome::NoLoad => Validity::default(),
            CapacityOutcome::Unfinished if self.low.is_some() => Validity::of(self.why.iter().map(Reason::partial)),
            CapacityOutcome::Undecided | CapacityOutcome::Unfinished => {
                Validity::of(self.why.iter().map(Reason::invalid))
            }
        }
    }

    /// How many runs at this load met the objective, of those that could be judged.
    #[must_use]
    pub fn met_at(&self, load: f64) -> (usize, usize) {
        let judged = || self.trials.iter().filter(|one| one.met.is_some() && one.load.total_cmp(&load).is_eq());
        (judged().filter(|one| one.met == Some(true)).count(), judged().count())
    }

    /// Seconds measured, over all runs.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.trials.iter().map(|one| one.seconds).sum()
    }

    /// Seconds that a ladder up to the answer, with steps of the answer's resolution, would have needed with one run of the longest
    /// length per step; `None` without an answer.
    #[must_use]
    pub fn ladder_seconds(&self) -> Option<f64> {
        let (low, high) = (self.low?, self.high?);
        let longest = self.trials.iter().map(|one| one.seconds).reduce(f64::max)?;
        Some((high / (high - low)).ceil() * longest)
    }
}

/// Of the runs at one load, the one whose reason stands for all: the longest that missed the objective, the last of several. If none
/// missed it, the longest with a reason.
pub(crate) fn deciding<'t>(trials: &[&'t Trial]) -> Option<&'t Trial> {
    let with_reason = trials.iter().copied().filter(|one| !one.because.is_empty());
    let rank = |one: &Trial| (one.met == Some(false), one.seconds);
    with_reason.max_by(|a, b| rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1)))
}

/// The first objective that the runs at one load missed, with the value of the [`deciding`] one; empty without a reason.
pub(crate) fn first_missed<'t>(trials: &[&'t Trial]) -> &'t str {
    deciding(trials).and_then(|one| one.because.first()).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_reports_have_the_same_word_of_an_outcome() {
        for outcome in CapacityOutcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.label());
        }
        assert!(serde_json::from_str::<CapacityOutcome>("\"lost\"").is_err());
    }

    #[test]
    fn the_longest_run_that_missed_decides() {
        let trial = |seconds, met, why: &str| {
            let because = if why.is_empty() { Vec::new() } else { vec![why.to_owned()] };
            Trial { level: 0, load: 4.0, brief: seconds < 1.0, seconds, met, because }
        };
        let trials = [
            trial(0.5, Some(false), "probe"),
            trial(2.0, Some(false), "first"),
            trial(2.0, Some(false), "last"),
            trial(2.0, Some(true), ""),
            trial(9.0, None, "not judged"),
        ];
        let all: Vec<&Trial> = trials.iter().collect();
        assert_eq!(first_missed(&all), "last");
        let of = |at: std::ops::Range<usize>| first_missed(&all[at]);
        assert_eq!([of(0..1), of(3..4), of(4..5)], ["probe", "", "not judged"]);
    }
}
