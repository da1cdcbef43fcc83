//! Levels that a recording has already: `--continue`.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_model::Names;
use plimsoll_recording::folder::{FolderError, Recording, Sample};
use plimsoll_report::collect::run::MeasuredLevel;
use plimsoll_results::record::Measurement;
use plimsoll_results::recording_findings::measured;
use plimsoll_results::{Usage, read_level};

use super::level::LevelResult;
use crate::run_spec::RunSpec;

/// The finished levels of a recording, by number. Adds their names to `names`.
///
/// # Errors
/// There is no recording in the folder, it is damaged, or it differs from `ours`.
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
    let kept = &recording.manifest.transactions;
    let other = differs(measured(&recording)?, ours)?.or_else(|| {
        (*kept != sample.policy()).then(|| format!("it was made with --record-transactions {}", kept.which))
    });
    if let Some(why) = other {
        return Err(Usage(format!("--continue: {shown} is the recording of a different run; {why}")).into());
    }
    let mut levels = BTreeMap::new();
    for recorded in &recording.manifest.levels {
        let level = read_level(&recorded.about)?;
        if level.complete {
            let (statistics, _) = recording.statistics(recorded, names)?;
            levels.insert(recorded.number, LevelResult::of_recording(MeasuredLevel { statistics, ..level }));
        }
    }
    Ok(levels)
}

/// Why a recording differs from `ours`; `None` if it does not.
fn differs(theirs: Measurement, ours: &RunSpec) -> anyhow::Result<Option<String>> {
    match theirs {
        Measurement::Analyze { .. } => Ok(Some("it was made from captures".to_owned())),
        Measurement::Run { spec, .. } => Ok(RunSpec::of_manifest(spec)?.differs(ours)),
    }
}
