//! What is told of a load level besides its transactions: a recording keeps it, and a report is made from it.

use anyhow::Context;
use plimsoll_model::Verdict;
use plimsoll_report::collect::comparison::LoadPoint;
use plimsoll_report::collect::run::{About, Level};
use plimsoll_report::findings::{besides_repeat, load};
use plimsoll_stats::Statistics;
use serde::{Deserialize, Serialize};

use super::lateness;

/// What is told of a load level besides its transactions; a recording keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageTold {
    pub(super) span_ns: (i64, i64),
    pub(super) turns: u64,
    pub(super) about: About,
    /// Threads that made the load.
    pub threads: u32,
    /// It ran to its end.
    #[serde(default)]
    pub(super) whole: bool,
}

impl StageTold {
    /// As a recording kept it.
    pub fn read(kept: &serde_json::Value) -> anyhow::Result<Self> {
        serde_json::from_value(kept.clone()).context("manifest.json: a stage makes no sense")
    }

    /// What a reader should know though the level is valid.
    pub fn caution(&self) -> Option<String> {
        let About { level, validity, generator, .. } = &self.about;
        let said = lateness::caution(&generator.moved).filter(|_| validity.verdict == Verdict::Valid)?;
        Some(format!("At {level}: {said}."))
    }

    /// It ran to its end.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The load curve that it is a point of, where there are several.
    pub fn curve(&self) -> Option<&str> {
        self.about.curve.as_deref()
    }

    /// Where it lies on its load curve: repeats of a load lie at the same place.
    pub fn point(&self) -> LoadPoint {
        let About { level, asked_per_s, pace, stations, depth, validity, .. } = &self.about;
        LoadPoint {
            curve: self.curve().and_then(besides_repeat).map(str::to_owned),
            level: level.clone(),
            load: load(*asked_per_s, *stations, *depth),
            pace: pace.clone(),
            outstanding: stations.saturating_mul((*depth).into()),
            valid: validity.valid,
        }
    }

    /// As the report wants it.
    pub fn as_level<'a>(&self, statistics: &'a Statistics) -> Level<'a> {
        Level { statistics, span_ns: self.span_ns, turns: self.turns, about: self.about.clone() }
    }
}
