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
pub fn read_level(about: &serde_json::Value) -> anyhow::Result<MeasuredLevel> {
    MeasuredLevel::deserialize(about).map_err(|error| anyhow::anyhow!("manifest.json: invalid level: {error}"))
}

/// Warnings about a valid level.
#[must_use]
pub fn cautions(of: &MeasuredLevel) -> Vec<String> {
    let LevelFacts { load_name, validity, generator, .. } = &of.about.facts;
    let (first, last) = of.span_ns;
    let seconds = last.saturating_sub(first) as f64 / 1e9;
    let late = late_generator::caution(&generator.moved).filter(|_| validity.verdict == Verdict::Valid);
    let said = late.into_iter().chain(claimed_source::caution(&of.about, seconds));
    said.map(|said| format!("At {load_name}: {said}.")).collect()
}
