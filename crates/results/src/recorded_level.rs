//! A load level as a recording has it.

use plimsoll_model::Verdict;
use plimsoll_report::collect::comparison::{IterationCost, LoadPoint};
use plimsoll_report::collect::run::{About, Level};
use plimsoll_report::findings::{besides_repeat, load};
use plimsoll_stats::{Options, Statistics};
use serde::{Deserialize, Serialize};

use crate::{claimed_source, late_generator};

/// A measured load level. A recording stores it in the manifest, and its statistics and intervals in separate files.
#[derive(Serialize, Deserialize)]
pub struct RecordedLevel {
    /// The transactions of the measured phase.
    #[serde(skip, default = "no_statistics")]
    pub statistics: Statistics,
    /// First and last instant of the measured phase, ns since the Unix epoch.
    pub span_ns: (i64, i64),
    /// Iterations that ended in it.
    pub iterations: u64,
    /// Its other data for reports.
    pub about: About,
    /// Threads that made the load.
    pub threads: u32,
    /// It ran to its end.
    #[serde(default)]
    pub complete: bool,
    /// Faults of the load generator; `None` if it kept up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generators_fault: Option<String>,
}

impl RecordedLevel {
    /// A level as a manifest has it, without its transactions.
    ///
    /// # Errors
    /// It is damaged or of another version.
    pub fn read(stage: &serde_json::Value) -> anyhow::Result<Self> {
        Self::deserialize(stage).map_err(|error| anyhow::anyhow!("manifest.json: invalid stage: {error}"))
    }

    /// The same with the transactions of its measured phase.
    #[must_use]
    pub fn with_statistics(self, statistics: Statistics) -> Self {
        Self { statistics, ..self }
    }

    /// As a report takes it.
    #[must_use]
    pub fn as_level(&self) -> Level<'_> {
        let (span_ns, iterations) = (self.span_ns, self.iterations);
        Level { statistics: &self.statistics, span_ns, iterations, about: self.about.clone() }
    }

    /// Warnings about a valid level.
    #[must_use]
    pub fn cautions(&self) -> Vec<String> {
        let About { level, validity, generator, .. } = &self.about;
        let (first, last) = self.span_ns;
        let seconds = last.saturating_sub(first) as f64 / 1e9;
        let late = late_generator::caution(&generator.moved).filter(|_| validity.verdict == Verdict::Valid);
        let said = late.into_iter().chain(claimed_source::caution(&self.about, seconds));
        said.map(|said| format!("At {level}: {said}.")).collect()
    }

    /// Where it lies on its load curve: repeats of a load lie at the same place.
    #[must_use]
    pub fn point(&self) -> LoadPoint {
        let About { level, curve, users, asked_per_s, pace, clients, depth, validity, .. } = &self.about;
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

fn no_statistics() -> Statistics {
    Statistics::new(Options::default())
}
