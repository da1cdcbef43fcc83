//! The highest load that held an objective.

use plimsoll_model::Reason;
use serde::{Deserialize, Serialize};

use super::Validity;

/// What a search for the highest load that holds an objective found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// What load is counted in: clients, users, iterations per second.
    pub unit: String,
    /// What had to hold.
    pub objectives: Vec<String>,
    /// `found`, `at least` (`low` is confirmed, and no load is that does not hold: `why`), `none` (the lowest does not hold),
    /// `undecided` (the runs that were allowed are used up, and no end is confirmed), `unfinished` (stopped, or the load generator
    /// was the bottleneck; `low` is there where it was confirmed before).
    pub outcome: String,
    /// Why it was not found.
    pub why: Option<String>,
    /// Lower end of the 95 % interval, in `unit`: this much held.
    pub low: Option<f64>,
    /// Upper end: this much did not.
    pub high: Option<f64>,
    /// Fresh runs in a row that confirmed each end.
    pub confirmations: u32,
    /// By what part the lower end was lowered, because a queue that grows more slowly does not break the objective within
    /// one run; null where no time was promised or no schedule made the load.
    pub slack: Option<f64>,
    /// Every run, in order.
    pub trials: Vec<Trial>,
}

/// One run of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its number: that of its entry in `stages`.
    pub stage: u64,
    /// Its load, in the search's unit.
    pub load: f64,
    /// It was a shorter run that only brackets.
    pub brief: bool,
    /// Length of its measured phase, s.
    pub seconds: f64,
    /// Whether the objective held; null where the run does not count, the load generator being to blame.
    pub met: Option<bool>,
    /// What broke it.
    pub because: Vec<String>,
}

impl Capacity {
    /// Valid where there is an answer; that the lowest load breaks the objective is one. Partial where the search had no end, and a
    /// load is confirmed all the same.
    #[must_use]
    pub fn validity(&self) -> Validity {
        match self.outcome.as_str() {
            "found" | "at least" | "none" => Validity::default(),
            "unfinished" if self.low.is_some() => Validity::of(self.why.iter().map(Reason::partial)),
            _ => Validity::of(self.why.iter().map(Reason::invalid)),
        }
    }

    /// Seconds measured, over all runs.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.trials.iter().map(|one| one.seconds).sum()
    }

    /// Seconds that a ladder with steps as fine as the answer, from nothing up to it, would have measured with runs of
    /// the longest length, each step once; `None` without an answer.
    #[must_use]
    pub fn ladder_seconds(&self) -> Option<f64> {
        let (low, high) = (self.low?, self.high?);
        let longest = self.trials.iter().map(|one| one.seconds).reduce(f64::max)?;
        Some((high / (high - low)).ceil() * longest)
    }
}
