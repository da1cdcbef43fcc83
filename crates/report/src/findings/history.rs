//! The document of a history: the numbers of recordings over time, and where they change.
//!
//! Times are seconds, shares 0..=1, instants ns since the Unix epoch.

use plimsoll_model::{Validity, Verdict};
use serde::{Deserialize, Serialize};

use super::comparison::{ComparedUnit, ComparedVerdict, Estimate};

/// The schema's name; its number changes when a field is removed or changes its meaning.
pub const SCHEMA: &str = "plimsoll.history/1";

/// Begins the name of a fact that is a label.
pub(crate) const LABEL: &str = "Label ";

/// Recordings over time (see `schemas/plimsoll.history.1.schema.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// [`SCHEMA`].
    pub schema: String,
    /// The tool and version that wrote it.
    pub tool: String,
    /// How changes were found.
    pub method: HistoryMethod,
    /// Warnings to read before the results.
    pub warnings: Vec<String>,
    /// Runs of one plan each, the longest series first.
    pub series: Vec<HistorySeries>,
}

/// How changes were found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryMethod {
    /// Share of histories without any change that show one in any number of any series, at most.
    pub false_alarms: f64,
    /// Autocorrelation of successive runs that is taken for chance.
    pub autocorrelation: f64,
    /// Fewest runs on each side of a change.
    pub fewest_runs: u64,
    /// Share of intervals that hold the true value.
    pub confidence: f64,
}

/// Runs of the same plan: workload, kind of target, and load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistorySeries {
    /// The plan in words; unique among the series.
    pub name: String,
    /// The workload's name; `capture` of captures.
    pub workload: String,
    /// SHA-256 of the workload's text; null of captures.
    pub workload_sha256: Option<String>,
    /// Kind of target: `smb`, `nfs`, `file`, `embedded:smb` …; `capture` of captures.
    pub target_kind: String,
    /// Name of the load level: the load in words, and the curve if the run has several.
    pub level_name: String,
    /// Other parameters of the load, in words.
    pub pace: Vec<String>,
    /// Actions outstanding at most; null of captures.
    pub outstanding: Option<u64>,
    /// The runs, in the order in which their measured phases began.
    pub runs: Vec<HistoryRun>,
    /// The numbers.
    pub metrics: Vec<HistoryMetric>,
    /// Where any of the numbers changes, in order.
    pub changes: Vec<ChangePoint>,
}

/// A recording in a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryRun {
    /// Its folder.
    pub recording: String,
    /// Begin of its first measured phase, ns since the Unix epoch.
    pub begin_ns: i64,
    /// Whether its numbers are searched for changes: not those of INVALID runs.
    pub counted: bool,
    /// Whether its numbers may be used.
    pub validity: Validity,
    /// Labels, description, tool, target and machine of this run.
    pub facts: Vec<RunFact>,
}

/// A label or another property of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFact {
    /// The kind of fact: `Label commit`, `Tool`.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A number of every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryMetric {
    /// `all` or `operation`.
    pub scope: String,
    /// The row: `All`, or the operation.
    pub name: String,
    /// Which number: `throughput`, `p50` …
    pub metric: String,
    /// `1/s` or `s`.
    pub unit: ComparedUnit,
    /// Whether a user wants it large.
    pub more_is_better: bool,
    /// One for each run, with its own 95 % interval; null where the run has none.
    pub points: Vec<Option<Estimate>>,
    /// Runs whose value the load generator's lateness moved, from 0: they are not searched for changes of this number.
    #[serde(default)]
    pub moved: Vec<u64>,
    /// Why it was not searched for changes; null where it was.
    pub untested: Option<String>,
    /// Where it changes, in order.
    pub changes: Vec<MetricChange>,
}

/// A change of one number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricChange {
    /// Number of the first run after it, from 0.
    pub run: u64,
    /// Mean of the counted runs since the change before.
    pub before: f64,
    /// Mean of the counted runs until the next change.
    pub after: f64,
    /// (After − before) / before.
    pub relative: f64,
    /// Ends of its 95 % interval, from the scatter of the runs (Welch); null without one.
    pub relative_low: Option<f64>,
    /// See `relative_low`.
    pub relative_high: Option<f64>,
    /// `better` or `worse`; of a throughput of captures `more` or `fewer`.
    pub verdict: ComparedVerdict,
}

/// A run from which on numbers differ from those before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Number of the first run after it, from 0.
    pub run: u64,
    /// When its measured phase began, ns since the Unix epoch.
    pub begin_ns: i64,
    /// Labels whose value differs from the last run before that counts for the number (of several numbers, from the earliest such run).
    pub labels: Vec<FactChange>,
    /// Facts that have one value in the runs before and another in the runs after, here or at most three runs away.
    pub also_changed: Vec<FactChange>,
}

/// A fact with two values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactChange {
    /// The name of the fact.
    pub name: String,
    /// The value before; null where it was not given.
    pub before: Option<String>,
    /// The value after; null where it is not given.
    pub after: Option<String>,
    /// Runs that count for the number, from its change to the change of this; negative where it came first.
    pub runs_later: i64,
}

impl HistoryRun {
    /// Whether it counts although some of its numbers are incomplete or not reliable.
    pub(crate) fn is_partial(&self) -> bool {
        self.counted && self.validity.verdict == Verdict::Partial
    }
}

impl HistorySeries {
    /// Whether the value of a run counts: neither INVALID nor moved by the load generator's lateness.
    pub(crate) fn counts(&self, metric: &HistoryMetric, run: usize) -> bool {
        self.runs.get(run).is_some_and(|run| run.counted) && !metric.moved.contains(&(run as u64))
    }

    pub(crate) fn partial(&self) -> usize {
        self.runs.iter().filter(|run| run.is_partial()).count()
    }

    /// Which numbers do not change, and which were not searched for changes, in sentences; `None` if numbers change and all were searched.
    pub(crate) fn unchanged(&self) -> Option<String> {
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for metric in &self.metrics {
            let Some(why) = metric.untested.as_deref() else { continue };
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, labels)) => labels.push(metric.label()),
                None => reasons.push((why, vec![metric.label()])),
            }
        }
        let are_all_untested = self.metrics.iter().all(|metric| metric.untested.is_some());
        let untested = match reasons.as_slice() {
            [] if are_all_untested => Some("Not searched for changes: no run has a number.".to_owned()),
            [] => None,
            [(why, _)] if are_all_untested => Some(format!("Not searched for changes: {why}.")),
            several => {
                let of = |(why, labels): &(&str, Vec<String>)| format!("{} ({why})", labels.join(", "));
                let several: Vec<String> = several.iter().map(of).collect();
                Some(format!("Not searched for changes: {}.", several.join("; ")))
            }
        };
        let none = (self.changes.is_empty() && !are_all_untested).then(|| "No change found.".to_owned());
        let sentences: Vec<String> = none.into_iter().chain(untested).collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// How many values of each number the load generator's lateness moved, as a sentence; `None` if it moved none.
    pub(crate) fn moved(&self) -> Option<String> {
        let of = |metric: &HistoryMetric| {
            let is_counted =
                |run: &&u64| usize::try_from(**run).is_ok_and(|run| self.runs.get(run).is_some_and(|run| run.counted));
            let moved = metric.moved.iter().filter(is_counted).count();
            let runs = if moved == 1 { "run" } else { "runs" };
            (moved > 0).then(|| format!("{} of {moved} {runs}", metric.label()))
        };
        let moved: Vec<String> = self.metrics.iter().filter_map(of).collect();
        (!moved.is_empty()).then(|| format!("Not counted, because the load generator was late: {}.", moved.join(", ")))
    }
}

impl HistoryMetric {
    /// Its name in tables: `read p95`, `All op/s`.
    pub fn label(&self) -> String {
        let metric = if self.metric == "throughput" { "op/s" } else { &self.metric };
        format!("{} {metric}", self.name)
    }
}
