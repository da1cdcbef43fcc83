//! Levels that a recording has already: `--continue`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use plimsoll_model::Names;
use plimsoll_recording::folder::{FolderError, Recording, Sample};

use super::level::LevelResult;
use crate::error::Usage;
use crate::record::Measurement;
use crate::run_spec::RunSpec;

/// The levels of a recording that ran to their end, by their numbers. `names` gets all that they name.
///
/// # Errors
/// There is no recording in the folder, it is damaged, or it is of something else than `ours`.
pub fn finished_levels(
    folder: &Path,
    ours: &RunSpec,
    sample: Sample,
    names: &mut Names,
) -> anyhow::Result<BTreeMap<u32, LevelResult>> {
    let shown = folder.display();
    let recording = Recording::open(folder).map_err(|error| match error {
        FolderError::NoRecording { .. } => {
            Usage(format!("--continue: {shown} contains no recording; check the folder of --record")).into()
        }
        error => anyhow::Error::new(error),
    })?;
    let measured = serde_json::from_value(recording.manifest.measured.clone())
        .context("manifest.json: unknown format of `measured`, written by another version of plimsoll")?;
    let kept = &recording.manifest.transactions;
    let other = differs(&measured, ours)
        .or_else(|| (*kept != sample.told()).then(|| format!("it was made with --record-transactions {}", kept.which)));
    if let Some(why) = other {
        return Err(Usage(format!("--continue: {shown} is the recording of a different run: {why}")).into());
    }
    let mut levels = BTreeMap::new();
    for stage in &recording.manifest.stages {
        let level = LevelResult::read(&stage.about)?;
        if level.complete() {
            let (statistics, _) = recording.statistics(stage, names)?;
            levels.insert(stage.number, level.with_statistics(statistics));
        }
    }
    Ok(levels)
}

/// Why a recording is not one of `ours`; `None` where it is.
fn differs(theirs: &Measurement, ours: &RunSpec) -> Option<String> {
    match theirs {
        Measurement::Analyze { .. } => Some("it was made from captures".to_owned()),
        Measurement::Run { spec, .. } => spec.differs(ours),
    }
}
