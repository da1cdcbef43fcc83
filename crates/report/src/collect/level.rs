//! A load level as it was measured.

use plimsoll_stats::Statistics;
use serde::{Deserialize, Serialize};

use super::comparison::{IterationCost, LoadPoint};
use crate::findings::{Headline, LevelFacts, besides_repeat, load};

/// A measured load level. A recording stores it in the manifest, and its statistics and intervals in separate files.
#[derive(Default, Serialize, Deserialize)]
pub struct MeasuredLevel {
    /// The transactions of the measured phase.
    #[serde(skip)]
    pub statistics: Statistics,
    /// First and last instant of the measured phase, ns since the Unix epoch.
    pub span_ns: (i64, i64),
    /// Iterations that ended in it.
    pub iterations: u64,
    /// The other facts.
    pub about: RecordedFacts,
    /// Threads that made the load.
    pub threads: u32,
    /// It ran to its end.
    #[serde(default)]
    pub complete: bool,
    /// Faults of the load generator; `None` if it kept up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generators_fault: Option<String>,
    /// The level is INVALID because of the load generator alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub invalid_by_generator: bool,
}

/// Requests that users ask for, and that were answered in the measured phase, whenever they were meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// How many.
    pub requests: u64,
    /// File data read, bytes.
    pub read_bytes: u64,
    /// File data written, bytes.
    pub written_bytes: u64,
}

/// The facts of a level as a recording has them: a report shows the first ones as they are, and derives numbers from the others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecordedFacts {
    /// Those that a report shows as they are.
    #[serde(flatten)]
    pub facts: LevelFacts,
    /// Where the server was to take the data that clients read from, `cache` or `disk`; `None` where the workload does not say.
    pub claimed_source: Option<String>,
    /// Operations answered in the phase, whenever they were due; `None` in recordings from before this was counted.
    pub answered: Option<Answered>,
    /// Failed actions: cause and number.
    pub failures: Vec<(String, u64)>,
    /// Users with schedules; `None` if there are none.
    pub users: Option<u64>,
    /// Time from the end of the phase until the last iteration that was due in it had ended or was given up, s; `None` without a
    /// schedule, and in recordings from before this was counted.
    pub overtime_s: Option<f64>,
}

impl MeasuredLevel {
    /// Where it lies on its load curve: repeats of a load lie at the same place.
    #[must_use]
    pub fn point(&self) -> LoadPoint {
        let RecordedFacts { facts, users, .. } = &self.about;
        let LevelFacts { load_name, curve, asked_per_s, pace, clients, depth, validity, .. } = facts;
        LoadPoint {
            curve: curve.as_deref().and_then(besides_repeat).map(str::to_owned),
            load_name: load_name.clone(),
            load: load(*users, *asked_per_s, *clients, *depth),
            pace: pace.clone(),
            outstanding: clients.saturating_mul((*depth).into()),
            valid: validity.valid,
            moved: self.moved_metrics(),
            guarantees: facts.guarantees.clone(),
            iteration: self.iteration(),
        }
    }

    /// The metrics of comparisons and conditions that the load generator's lateness moved.
    #[must_use]
    pub fn moved_metrics(&self) -> Vec<String> {
        let has_schedule = self.about.users.is_some() || self.about.facts.asked_per_s.is_some();
        let headline = if has_schedule { Headline::ResponseTimeFromIntended } else { Headline::ResponseTime };
        self.about.facts.generator.moved_metrics(headline)
    }

    /// The cost of an iteration; `None` if none ended in the phase.
    fn iteration(&self) -> Option<IterationCost> {
        let answered = self.about.answered.filter(|_| self.iterations > 0)?;
        let kinds = || self.about.facts.iterations.iter().filter_map(|kind| Some((kind.mean_s?, kind.ended as f64)));
        let ended: f64 = kinds().map(|(_, ended)| ended).sum();
        let seconds = (ended > 0.0).then(|| kinds().map(|(mean_s, ended)| mean_s * ended).sum::<f64>() / ended);
        let requests = answered.requests as f64 / self.iterations as f64;
        Some(IterationCost { requests, seconds, count: self.iterations })
    }
}
