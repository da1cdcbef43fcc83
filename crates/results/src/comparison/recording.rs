//! A recording as one side of a comparison.

use std::path::Path;

use anyhow::bail;
use plimsoll_recording::folder::{Recording, Stage};
use plimsoll_report::collect::StatusName;
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, LoadPoint, MeasuredRun};
use plimsoll_report::findings::Findings;

use super::{ComparedSide, WHOLE_CAPTURE};
use crate::RecordedLevel;
use crate::recording_findings::{findings, incomplete};

/// Reads a recording: its levels by time, and what `plimsoll report` would show of it.
///
/// # Errors
/// It is damaged, of another version, or holds no finished stage.
pub fn read(folder: &Path, status_name: StatusName) -> anyhow::Result<ComparedSide> {
    let recording = Recording::open(folder)?;
    let name = folder.display().to_string();
    if recording.manifest.stages.is_empty() {
        bail!("{name}: the recording has no finished load level or analysis to compare; record again");
    }
    let findings = Findings { name, ..findings(&recording, status_name)? };
    let levels = levels(&recording)?;
    Ok(ComparedSide { contestant: Contestant { findings, levels }, unfinished: incomplete(&recording) })
}

/// The levels, in the order in which they came first; those of the same words are runs of the same.
fn levels(recording: &Recording) -> anyhow::Result<Vec<LevelRuns>> {
    let mut levels: Vec<LevelRuns> = Vec::new();
    for stage in &recording.manifest.stages {
        let point = point(stage)?;
        let level = words(point.as_ref());
        let place = levels.iter().position(|known| known.level == level).unwrap_or_else(|| {
            levels.push(LevelRuns { level, point: point.clone(), runs: Vec::new() });
            levels.len() - 1
        });
        if let Some(invalid) = point.filter(|point| !point.valid)
            && let Some(known) = levels.get_mut(place)
        {
            known.point = Some(invalid);
        }
        // A level that could not be run has no time; that it was not is among the reasons of an invalid report.
        if let (Some(first), Some(last)) = (stage.first_ns, stage.last_ns)
            && first < last
            && let Some(runs) = levels.get_mut(place)
        {
            runs.runs.push(MeasuredRun { span_ns: (first, last), intervals: recording.intervals(stage)? });
        }
    }
    Ok(levels)
}

/// Where a load level lies; `None` of a capture.
fn point(stage: &Stage) -> anyhow::Result<Option<LoadPoint>> {
    let Some(level) = &stage.level else { return Ok(None) };
    Ok(Some(LoadPoint { level: level.clone(), ..RecordedLevel::read(&stage.about)?.point() }))
}

/// A load in words. Repeats are the same load again; points of other curves are not.
fn words(point: Option<&LoadPoint>) -> String {
    match point {
        None => WHOLE_CAPTURE.to_owned(),
        Some(LoadPoint { level, curve: Some(curve), .. }) => format!("{level}, {curve}"),
        Some(LoadPoint { level, .. }) => level.clone(),
    }
}
