//! Load levels of a recording.

use plimsoll_model::Verdict;
use plimsoll_report::collect::run::MeasuredLevel;
use plimsoll_report::findings::LevelFacts;
use serde::Deserialize;

use crate::{claimed_source, late_generator};

/// A level as a manifest has it, without its transactions.
///
/// # Errors
/// It is damaged or of another version.
pub fn read_level(stage: &serde_json::Value) -> anyhow::Result<MeasuredLevel> {
    MeasuredLevel::deserialize(stage).map_err(|error| anyhow::anyhow!("manifest.json: invalid stage: {error}"))
}

/// Warnings about a valid level.
#[must_use]
pub fn cautions(of: &MeasuredLevel) -> Vec<String> {
    let LevelFacts { level, validity, generator, .. } = &of.about.facts;
    let (first, last) = of.span_ns;
    let seconds = last.saturating_sub(first) as f64 / 1e9;
    let late = late_generator::caution(&generator.moved).filter(|_| validity.verdict == Verdict::Valid);
    let said = late.into_iter().chain(claimed_source::caution(&of.about, seconds));
    said.map(|said| format!("At {level}: {said}.")).collect()
}
