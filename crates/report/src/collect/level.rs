//! A load level as it was measured.

use plimsoll_model::Guarantees;
use plimsoll_stats::Statistics;
use serde::{Deserialize, Serialize};

use super::comparison::{IterationCost, LoadPoint};
use crate::findings::{
    ClientSpread, Fairness, Generator, Headline, Interruption, Interval, IterationKind, Parameter, ServerCounters,
    ServerSide, SessionRequests, ShortReads, Silence, Validity, WorkloadShare, besides_repeat, load,
};

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
    pub about: LevelFacts,
    /// Threads that made the load.
    pub threads: u32,
    /// It ran to its end.
    #[serde(default)]
    pub complete: bool,
    /// Faults of the load generator; `None` if it kept up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generators_fault: Option<String>,
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

/// Facts about a load level other than its transactions: identity, generator, fairness, failures, and reasons if it is not valid.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LevelFacts {
    /// The load in words.
    pub level: String,
    /// The load curve that it is a point of, where there are several.
    pub curve: Option<String>,
    /// The parameter that was varied, and its value here.
    #[serde(default)]
    pub varied: Option<Parameter>,
    /// Whose load it is, and beside whose; `None` in a run of one workload.
    #[serde(default)]
    pub share: Option<WorkloadShare>,
    /// Clients.
    pub clients: u64,
    /// Actions that a client keeps outstanding at most.
    pub depth: u32,
    /// Where the server was to take the data that clients read from, `cache` or `disk`; `None` where the workload does not say.
    #[serde(default)]
    pub claimed_source: Option<String>,
    /// Iterations asked for, 1/s.
    pub asked_per_s: Option<f64>,
    /// Other parameters of the load, in words.
    #[serde(default)]
    pub pace: Vec<String>,
    /// Operations answered in the phase, whenever they were due; `None` in recordings from before this was counted.
    #[serde(default)]
    pub answered: Option<Answered>,
    /// Statistics of the operations per second; `None` if unknown, or if the data for it was not kept.
    #[serde(default)]
    pub operations_per_s_interval: Option<Interval>,
    /// Of the mean response time, s; likewise.
    #[serde(default)]
    pub response_mean_interval: Option<Interval>,
    /// Whether the generator kept up.
    pub generator: Generator,
    /// How the server shared itself.
    pub fairness: Fairness,
    /// Comparison of the clients.
    #[serde(default)]
    pub spread: ClientSpread,
    /// Failed actions: cause and number.
    pub failures: Vec<(String, u64)>,
    /// The server's own metrics, if requested.
    #[serde(default)]
    pub server: Option<ServerSide>,
    /// The server's own counters, if requested.
    #[serde(default)]
    pub counters: Option<ServerCounters>,
    /// The server's guarantees; `None` in recordings from before they were recorded.
    #[serde(default)]
    pub guarantees: Option<Guarantees>,
    /// Connections made.
    pub connections: u64,
    /// Times without any answer to an action.
    #[serde(default)]
    pub silence: Silence,
    /// Reads that returned fewer bytes than asked for.
    #[serde(default)]
    pub short_reads: ShortReads,
    /// That it was stopped before its end.
    #[serde(default)]
    pub interruption: Option<Interruption>,
    /// Whether the numbers may be used.
    pub validity: Validity,
    /// Users with schedules; `None` if there are none.
    #[serde(default)]
    pub users: Option<u64>,
    /// Time from the end of the phase until the last iteration that was due in it had ended or was given up, s; `None` without a
    /// schedule, and in recordings from before this was counted.
    #[serde(default)]
    pub overtime_s: Option<f64>,
    /// Iterations by kind.
    #[serde(default)]
    pub iterations: Vec<IterationKind>,
    /// Session requests outside of the measured phase.
    #[serde(default)]
    pub session_requests: Vec<SessionRequests>,
}

impl MeasuredLevel {
    /// Where it lies on its load curve: repeats of a load lie at the same place.
    #[must_use]
    pub fn point(&self) -> LoadPoint {
        let LevelFacts { level, curve, users, asked_per_s, pace, clients, depth, validity, .. } = &self.about;
        LoadPoint {
            curve: curve.as_deref().and_then(besides_repeat).map(str::to_owned),
            level: level.clone(),
            load: load(*users, *asked_per_s, *clients, *depth),
            pace: pace.clone(),
            outstanding: clients.saturating_mul((*depth).into()),
            valid: validity.valid,
            iteration: self.iteration(),
        }
    }

    /// The metrics of comparisons and conditions that the load generator's lateness moved.
    #[must_use]
    pub fn moved_metrics(&self) -> Vec<String> {
        let has_schedule = self.about.users.is_some() || self.about.asked_per_s.is_some();
        let headline = if has_schedule { Headline::ResponseTimeFromIntended } else { Headline::ResponseTime };
        self.about.generator.moved_metrics(headline)
    }

    /// The cost of an iteration; `None` if none ended in the phase.
    fn iteration(&self) -> Option<IterationCost> {
        let answered = self.about.answered.filter(|_| self.iterations > 0)?;
        let kinds = || self.about.iterations.iter().filter_map(|kind| Some((kind.mean_s?, kind.ended as f64)));
        let ended: f64 = kinds().map(|(_, ended)| ended).sum();
        let seconds = (ended > 0.0).then(|| kinds().map(|(mean_s, ended)| mean_s * ended).sum::<f64>() / ended);
        let requests = answered.requests as f64 / self.iterations as f64;
        Some(IterationCost { requests, seconds, count: self.iterations })
    }
}
