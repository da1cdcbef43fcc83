//! One load level.

use serde::{Deserialize, Serialize};

use super::channels::Channels;
use super::depth::QueueDepth;
use super::failures::{CONNECTION_ATTEMPT, FailureCount, LOST_CONNECTION, OUTSIDE_THE_PHASE};
use super::headline::Headline;
use super::iterations::Users;
use super::level_facts::LevelFacts;
use super::overhead::Overhead;
use super::rows::OperationRow;
use super::span::Span;
use super::times::Times;

/// One load level: a data point of a load curve. Numbers are of its measured phase alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadLevel {
    /// Its place in `levels`, from 0. It is the column `level` of the tables, unless `--stop-above` left out a level before it.
    pub number: u32,
    /// What its load generator states.
    #[serde(flatten)]
    pub facts: LevelFacts,
    /// Actions that all clients together keep outstanding at most: `clients` × `depth`.
    pub outstanding: u64,
    /// Iterations that ended, 1/s. An iteration is one operation of a mix, or one run of a script.
    pub iterations_per_s: f64,
    /// The measured phase.
    pub span: Span,
    /// Number of requests: those of `response_time`, and those without an answer. Without session traffic.
    pub count: u64,
    /// Answers with a status that is part of ordinary work, such as the end of a file.
    pub expected: u64,
    /// Refused and failed together.
    pub errors: u64,
    /// Requests to which the server said no.
    pub refused: u64,
    /// Requests that trouble kept from being carried out.
    pub failed: u64,
    /// Requests without an answer.
    pub unanswered: u64,
    /// Requests answered, 1/s.
    pub operations_per_s: f64,
    /// File data read, bytes/s.
    pub read_bytes_per_s: f64,
    /// File data written, bytes/s.
    pub write_bytes_per_s: f64,
    /// The headline time: curves, sizes, repeats and the interval use it.
    #[serde(default)]
    pub headline: Headline,
    /// Response times of all operations together.
    pub response_time: Option<Times>,
    /// Last byte of the response − intended start; charges a late start to the server.
    pub response_time_from_intended: Option<Times>,
    /// Bytes sent for the file data that was moved; null where none was.
    #[serde(default)]
    pub overhead: Option<Overhead>,
    /// One row a procedure.
    pub operations: Vec<OperationRow>,
    /// Sums, as in the report's own `groups`.
    pub groups: Vec<OperationRow>,
    /// Requests outstanding at once.
    #[serde(default)]
    pub queue_depth: QueueDepth,
    /// Actions that did not succeed, by what happened, most frequent first; and attempts to connect that failed, and connections that were
    /// lost, which are no actions: their words begin with `connection attempt: ` and `lost connection: `.
    pub failures: Vec<FailureCount>,
    /// Users and their overload; null if users have no schedules.
    pub users: Option<Users>,
    /// Sessions with several connections; null if there are none.
    #[serde(default)]
    pub channels: Option<Channels>,
}

impl LoadLevel {
    /// Whether the tables of the whole have its operations: of several workloads these are of all at the same time.
    pub(crate) fn is_of_the_whole(&self) -> bool {
        self.facts.share.as_ref().is_none_or(|share| !share.beside.is_empty())
    }

    /// Whether its phase is one of the whole's; levels at the same time have one.
    pub(crate) fn has_a_span_of_the_whole(&self) -> bool {
        self.is_of_the_whole() && self.facts.share.as_ref().is_none_or(|share| share.place == 0)
    }

    /// Actions of the measured phase that did not succeed.
    pub fn failed(&self) -> u64 {
        self.failures_by_kind()[0]
    }

    /// Of the measured phase: actions that did not succeed, attempts to connect that failed, connections that were lost.
    pub fn failures_by_kind(&self) -> [u64; 3] {
        let [mut actions, mut attempts, mut lost] = [0_u64; 3];
        for FailureCount { cause, count } in self.failures.iter().filter(|one| !one.cause.ends_with(OUTSIDE_THE_PHASE))
        {
            let sum = match cause {
                cause if cause.starts_with(CONNECTION_ATTEMPT) => &mut attempts,
                cause if cause.starts_with(LOST_CONNECTION) => &mut lost,
                _ => &mut actions,
            };
            *sum = sum.saturating_add(*count);
        }
        [actions, attempts, lost]
    }

    /// Whether there are measurements: a level at which no client could connect has no numbers, not even 0.
    pub fn was_measured(&self) -> bool {
        self.span.elapsed_s.is_some_and(|s| s > 0.0)
    }

    /// Its load in words, and the curve that it is of where the words do not say it.
    pub fn words(&self) -> String {
        self.words_with(&self.facts.load_name)
    }

    /// Words about its load, and the curve that it is of where they do not say it. Levels of several curves have the same load.
    pub fn words_with(&self, load: &str) -> String {
        words(load, self.facts.curve.as_deref())
    }

    /// The varied quantity: users, otherwise the planned rate, otherwise the maximum of outstanding requests.
    pub fn load(&self) -> f64 {
        load(self.users.map(|users| users.users), self.facts.asked_per_s, self.facts.clients, self.facts.depth)
    }

    /// The response time that leads.
    pub fn headline_time(&self) -> Option<Times> {
        self.headline.pick(self.response_time, self.response_time_from_intended)
    }

    /// The response time without correction for late starts, to stand beside it; `None` where it leads itself.
    pub fn uncorrected_time(&self) -> Option<Times> {
        self.response_time.filter(|_| self.headline.is_from_intended())
    }

    /// The longest headline time, s, and whether it is a lower bound: a request without an answer waited this long.
    pub fn maximum_s(&self) -> Option<(f64, bool)> {
        let answered = self.headline_time().map(|times| times.max_s);
        match (answered, self.facts.silence.unanswered_wait_s) {
            (Some(answered), Some(waited)) => Some((answered.max(waited), waited > answered)),
            (answered, waited) => answered.map(|s| (s, false)).or(waited.map(|s| (s, true))),
        }
    }
}

/// Parameters of the load besides levels and depth, in words; if levels differ, each with its level.
pub fn pace(levels: &[LoadLevel]) -> Vec<String> {
    let Some(first) = levels.first() else { return Vec::new() };
    if levels.iter().all(|level| level.facts.pace == first.facts.pace) {
        return first.facts.pace.clone();
    }
    let mut all: Vec<String> = Vec::new();
    for level in levels {
        // A workload has the same load in all of its levels.
        let of = level
            .facts
            .share
            .as_ref()
            .map_or_else(|| level.words(), |share| format!("{} ({})", share.workload, level.facts.load_name));
        let words = format!("{of}: {}", level.facts.pace.join(", "));
        if !all.contains(&words) {
            all.push(words);
        }
    }
    all
}

/// How many actions may be outstanding, in words; `None` where there is no level.
pub fn outstanding(levels: &[LoadLevel]) -> Option<String> {
    let range = |of: fn(&LoadLevel) -> u64| {
        let (least, most) = (levels.iter().map(of).min()?, levels.iter().map(of).max()?);
        Some(if least == most { most.to_string() } else { format!("{least} to {most}") })
    };
    let plural = |count: &str, what: &str| format!("{count} {what}{}", if count == "1" { "" } else { "s" });
    let (all, depth) = (range(|level| level.outstanding)?, range(|level| level.facts.depth.into())?);
    let (clients, connections) = (range(|level| level.facts.clients)?, range(|level| level.facts.connections)?);
    let (clients, connections) = (plural(&clients, "client"), plural(&connections, "connection"));
    let actions = plural(&all, "action");
    Some(format!(
        "at most {actions} outstanding: {clients} × depth {depth}, on {connections}; an action may be several requests"
    ))
}

/// A load in words, and the curve that it is of where they do not say it.
pub(super) fn words(load_name: &str, curve: Option<&str>) -> String {
    match curve {
        Some(curve) if !load_name.contains(curve) => format!("{load_name}, {curve}"),
        _ => load_name.to_owned(),
    }
}

/// The load as a number: users with schedules, otherwise iterations per second, otherwise the maximum of outstanding actions.
pub fn load(users: Option<u64>, asked_per_s: Option<f64>, clients: u64, depth: u32) -> f64 {
    let scheduled = users.map(|users| users as f64).or(asked_per_s);
    scheduled.unwrap_or(clients as f64 * f64::from(depth.max(1)))
}
