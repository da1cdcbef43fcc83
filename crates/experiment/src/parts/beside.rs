//! The parts of a search, whose recordings are in folders beside each other.

use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_drive::engine::PlanPart;
use plimsoll_recording::folder::Progress;

use super::part_recording::{PartRecording, named};
use crate::capacity::spec::SearchSpec;
use crate::level_spec::LevelSpec;
use crate::levels::why_ended;

/// A part of a search, as far as its recording is.
pub(crate) struct PartBeside {
    pub(crate) folder: PathBuf,
    /// The levels that it has begun, and the next one.
    pub(crate) levels: Vec<LevelSpec>,
    recording: PartRecording,
}

impl PartBeside {
    /// Whether it is the first one.
    pub(crate) fn is_first(&self) -> bool {
        self.recording.part.is_first()
    }

    /// Whether it has recorded the level with this number, or will not.
    pub(crate) fn has_ended_level(&self, number: u32) -> bool {
        let manifest = &self.recording.recording.manifest;
        manifest.state != Progress::Running || manifest.levels.iter().any(|level| level.number == number)
    }

    /// Whether it ended as planned, or why it did not; `None` if it still runs, or was killed.
    pub(crate) fn ended(&self) -> Option<anyhow::Result<()>> {
        let manifest = &self.recording.recording.manifest;
        let why = manifest.validity.as_ref().and_then(why_ended);
        match manifest.state {
            Progress::Running => None,
            Progress::Finished => Some(Ok(())),
            Progress::Interrupted => {
                let why = why.unwrap_or("it ended early, for example because it was stopped");
                Some(Err(anyhow::anyhow!("{}: {why}", named(&self.recording))))
            }
        }
    }
}

/// The parts of a search, with their recordings in folders beside this one, which is among them. Other folders, and recordings of earlier
/// searches, are none.
///
/// # Errors
/// The folders cannot be listed.
pub(crate) fn beside(folder: &Path, search: &SearchSpec) -> anyhow::Result<Vec<PartBeside>> {
    let of_search = |search: &SearchSpec| {
        let plan = &search.most.plan;
        (plan.start_at_ns, plan.part.map(PlanPart::parts))
    };
    let folder = std::path::absolute(folder)?;
    let around = folder.parent().unwrap_or(&folder);
    let shown = || around.display().to_string();
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(around).with_context(shown)? {
        let folder = entry.with_context(shown)?.path();
        // It is no recording, or none yet: the merge names the part that is missing.
        let Ok(recording) = PartRecording::open(&folder) else { continue };
        if recording.spec.search.as_ref().map(of_search) == Some(of_search(search)) {
            let levels = recording.spec.levels().map(|(_, level)| level.clone()).collect();
            parts.push(PartBeside { folder, levels, recording });
        }
    }
    Ok(parts)
}
