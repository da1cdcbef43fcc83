//! Levels that a recording has already: `--continue`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use plimsoll_model::Names;
use plimsoll_recording::folder::{FolderError, Recording, Sample};

use super::level::LevelResult;
use super::recorded::Beginning;
use crate::error::Usage;
use crate::record::Measured;

/// The levels of a recording that ran to their end, by their numbers. `names` gets all that they name.
///
/// # Errors
/// There is no recording in the folder, it is damaged, or it is of something else than `ours`.
pub fn read_back(
    folder: &Path,
    ours: &Beginning<'_>,
    sample: Sample,
    names: &mut Names,
) -> anyhow::Result<BTreeMap<u32, LevelResult>> {
    let shown = folder.display();
    let recording = Recording::open(folder).map_err(|error| match error {
        FolderError::NoRecording { .. } => Usage(format!("--continue: there is no recording in {shown}")).into(),
        error => anyhow::Error::new(error),
    })?;
    let measured = serde_json::from_value(recording.manifest.measured.clone())
        .context("manifest.json does not say what was measured as this version says it")?;
    let kept = &recording.manifest.transactions;
    let other = differs(&measured, ours)
        .or_else(|| (*kept != sample.told()).then(|| format!("it keeps --record-transactions {}", kept.which)));
    if let Some(why) = other {
        return Err(Usage(format!("--continue: {shown} is a recording of something else: {why}")).into());
    }
    let mut levels = BTreeMap::new();
    for stage in &recording.manifest.stages {
        let told: super::StageTold =
            serde_json::from_value(stage.about.clone()).context("manifest.json: a stage makes no sense")?;
        if told.whole {
            let (statistics, _) = recording.statistics(stage, names)?;
            levels.insert(stage.number, LevelResult::read_back(statistics, told));
        }
    }
    Ok(levels)
}

/// Why a recording is not one of `ours`; `None` where it is.
fn differs(theirs: &Measured, ours: &Beginning<'_>) -> Option<String> {
    let Measured::Run { run, spec, .. } = theirs else { return Some("captures".to_owned()) };
    if run.target != ours.target {
        return Some(format!("the target {}, not {}", run.target, ours.target));
    }
    if run.seed != ours.seed {
        return Some(format!("the seed {}, not {}", run.seed, ours.seed));
    }
    match (spec, &ours.spec) {
        (Some(theirs), Some(ours)) => theirs.differs(ours),
        _ => Some("levels that follow from what was measured".to_owned()),
    }
}
