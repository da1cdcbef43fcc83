//! The recording of one part of a run.

use std::path::Path;

use anyhow::Context;
use plimsoll_drive::engine::PlanPart;
use plimsoll_model::{Names, Reason};
use plimsoll_recording::folder::{Progress, RecordedLevel, Recording};
use plimsoll_report::collect::run::MeasuredLevel;
use plimsoll_report::findings::{Run, Source};
use plimsoll_results::read_level;
use plimsoll_results::record::Measurement;
use plimsoll_results::recording_findings::measured;
use plimsoll_stats::{Intervals, Statistics};

use crate::level_spec::LevelSpec;
use crate::levels::why_ended;
use crate::parts::part_result::PartResult;
use crate::run_spec::RunSpec;

/// The recording of one part of a run, complete or not.
pub(super) struct PartRecording {
    /// Its folder, for messages.
    pub(super) shown: String,
    pub(super) part: PlanPart,
    pub(super) spec: RunSpec,
    pub(super) workload_text: String,
    pub(super) run: Run,
    pub(super) source: Source,
    pub(super) recording: Recording,
}

/// The measurements of a part.
pub(super) struct Measured {
    pub(super) statistics: Statistics,
    pub(super) intervals: Intervals,
    pub(super) result: PartResult,
    pub(super) level: MeasuredLevel,
    pub(super) recorded: RecordedLevel,
}

impl PartRecording {
    /// Opens the recording.
    ///
    /// # Errors
    /// There is no recording, it is damaged or of another version, or it is none of a part.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
        let recording = Recording::open(folder)?;
        let Measurement::Run { run, workload_text, spec, source } = measured(&recording)? else {
            anyhow::bail!("it was made from captures");
        };
        let spec = RunSpec::of_manifest(spec)?;
        let part = spec.levels().next().and_then(|(_, level)| level.plan.part);
        let part = part.context("it is the recording of a whole run, not of a part (plimsoll run --part)")?;
        Ok(Self { shown: folder.display().to_string(), part, spec, workload_text, run: *run, source, recording })
    }

    /// The reason why this part does not belong to the same run as `first`; `None` if it does.
    pub(super) fn differs(&self, first: &Self) -> Option<String> {
        let (mine, theirs) = (&self.recording.manifest, &first.recording.manifest);
        if mine.tool != theirs.tool {
            return Some(format!("it was made by {}, not by {}", mine.tool, theirs.tool));
        }
        if self.part.parts() != first.part.parts() {
            return Some(format!(
                "it is part {}, but the run of the first recording has {} parts",
                self.part,
                first.part.parts()
            ));
        }
        if mine.transactions != theirs.transactions {
            let [mine, theirs] = [mine, theirs].map(|manifest| &manifest.transactions.which);
            return Some(format!("it was made with --record-transactions {mine}, not {theirs}"));
        }
        self.spec.differs(&first.spec)
    }

    /// The measurements of this part at a level.
    ///
    /// # Errors
    /// It did not finish, with the reason as far as it is known; or a file is damaged.
    pub(super) fn measured(&self, level_spec: &LevelSpec, names: &mut Names) -> anyhow::Result<Measured> {
        let manifest = &self.recording.manifest;
        let number = level_spec.plan.level;
        let Some(recorded) = manifest.levels.iter().find(|level| level.number == number) else {
            match (manifest.validity.as_ref().and_then(why_ended), manifest.state) {
                (Some(why), _) => anyhow::bail!("{why}"),
                (None, Progress::Running) => anyhow::bail!("its process was killed, or is still running"),
                (None, _) => {
                    let level = level_spec.shown();
                    anyhow::bail!("it ended before it recorded {level}, for example because it was stopped")
                }
            }
        };
        let own = self.spec.levels().map(|(_, level)| level).find(|level| level.plan.level == number);
        if let Some(own) = own.filter(|own| (own.load(), own.plan.seed) != (level_spec.load(), level_spec.plan.seed)) {
            anyhow::bail!("its level {number} is {}, not {}", own.load_name, level_spec.load_name);
        }
        let Some(part) = self.recording.part(recorded)? else {
            let level = read_level(&recorded.about)?;
            let why = level.about.facts.validity.reasons.first().map_or("part.zst is missing", String::as_str);
            anyhow::bail!("{why}");
        };
        let result =
            serde_json::from_slice(&part).context("part.zst is damaged, or another version of Plimsoll wrote it")?;
        let (statistics, _) = self.recording.statistics(recorded, names)?;
        let intervals = self.recording.intervals(recorded)?;
        let level = read_level(&recorded.about)?;
        Ok(Measured { statistics, intervals, result, level, recorded: recorded.clone() })
    }
}

/// Name of a part in messages.
pub(super) fn named(part: &PartRecording) -> String {
    format!("part {} ({})", part.part, part.shown)
}

/// Reasons as one text.
pub(super) fn joined(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("; ")
}
