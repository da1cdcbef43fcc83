//! Levels that a recording has already: `--continue`.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_client::target::Target;
use plimsoll_model::Names;
use plimsoll_recording::folder::{FolderError, Machine, Manifest, Progress, Recording, Sample};
use plimsoll_report::collect::run::MeasuredLevel;
use plimsoll_report::findings::Findings;
use plimsoll_results::record::{Measurement, this_machine, this_tool};
use plimsoll_results::recording_findings::{self, measured};
use plimsoll_results::{Usage, read_level};

use super::level::LevelResult;
use super::levels::missing_levels;
use crate::run_spec::RunSpec;

/// The levels of a recording that is continued.
pub struct EarlierLevels {
    /// The finished ones, by number.
    pub finished: BTreeMap<u32, LevelResult>,
    /// The recording, with the manifest as it was when they were read.
    pub(crate) recording: Recording,
}

impl EarlierLevels {
    /// Whether nothing is left of this run: all levels are there, and the recording was finished.
    #[must_use]
    pub fn are_whole(&self, ours: &RunSpec) -> bool {
        let planned = ours.levels().map(|(_, level)| level);
        let is_finished = self.recording.manifest.state == Progress::Finished;
        is_finished && missing_levels(planned, &self.finished, ours.stop_above_s).is_empty()
    }

    /// What `plimsoll report` says of the recording, in the form of a measurement.
    ///
    /// # Errors
    /// It is damaged.
    pub fn report(&self) -> anyhow::Result<(Findings, anyhow::Result<()>)> {
        Ok((recording_findings::findings(&self.recording, plimsoll_client::status_name)?, Ok(())))
    }
}

/// The targets of a recorded run, without passwords; empty if the folder has no recording of a run.
#[must_use]
pub fn recorded_targets(folder: &Path) -> Vec<Target> {
    // `earlier_levels` says why a recording cannot be used.
    let spec = || match measured(&Recording::open(folder).ok()?).ok()? {
        Measurement::Run { spec, .. } => RunSpec::of_manifest(spec).ok(),
        Measurement::Analyze { .. } => None,
    };
    let Some(RunSpec { target, server, .. }) = spec() else { return Vec::new() };
    let targets = if server.targets.is_empty() { vec![target] } else { server.targets };
    targets.iter().filter_map(|target| Target::parse(target).ok()).collect()
}

/// The finished levels of a recording. Adds their names to `names`.
///
/// # Errors
/// There is no recording in the folder, it is damaged, it differs from `ours`, or another machine or version made it.
pub fn earlier_levels(
    folder: &Path,
    ours: &RunSpec,
    sample: Sample,
    names: &mut Names,
) -> anyhow::Result<EarlierLevels> {
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
    if let Some(why) = elsewhere(&recording.manifest, &this_tool(), &this_machine()) {
        return Err(Usage(format!(
            "--continue: another client computer or version of Plimsoll recorded {shown}: {why}; continue it there, or begin a new \
            recording"
        ))
        .into());
    }
    let mut finished = BTreeMap::new();
    for recorded in &recording.manifest.levels {
        let level = read_level(&recorded.about)?;
        if level.complete {
            let (statistics, _) = recording.statistics(recorded, names)?;
            finished.insert(recorded.number, LevelResult::of_recording(MeasuredLevel { statistics, ..level }));
        }
    }
    Ok(EarlierLevels { finished, recording })
}

/// Why a recording differs from `ours`; `None` if it does not.
fn differs(theirs: Measurement, ours: &RunSpec) -> anyhow::Result<Option<String>> {
    match theirs {
        Measurement::Analyze { .. } => Ok(Some("it was made from captures".to_owned())),
        Measurement::Run { spec, .. } => Ok(RunSpec::of_manifest(spec)?.differs(ours)),
    }
}

/// Why its levels and those of this computer are not points of one load curve: a recording names one computer, and one version of
/// Plimsoll. `None` if they are.
fn elsewhere(manifest: &Manifest, tool: &str, machine: &Machine) -> Option<String> {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let (its, ours) = (&manifest.machine, machine);
    let facts = [
        ("version", manifest.tool.clone(), tool.to_owned()),
        ("processor", shown(&its.processor), shown(&ours.processor)),
        ("number of cores", its.cores.to_string(), ours.cores.to_string()),
        ("kernel", shown(&its.kernel), shown(&ours.kernel)),
    ];
    let (name, its, ours) = facts.into_iter().find(|(_, its, ours)| its != ours)?;
    Some(format!("its {name} is {its}, not {ours}"))
}

#[cfg(test)]
mod tests {
    use plimsoll_recording::folder::SCHEMA;
    use serde_json::Value;

    use super::*;

    #[test]
    fn levels_of_another_computer_or_version_are_no_points_of_one_curve() {
        let machine = |cores, kernel: Option<&str>| Machine {
            cores,
            kernel: kernel.map(str::to_owned),
            memory_bytes: Some(cores),
            ..Machine::default()
        };
        let manifest = Manifest {
            schema: SCHEMA.to_owned(),
            state: Progress::Interrupted,
            tool: "plimsoll 1.0.0".to_owned(),
            command: Vec::new(),
            started_ns: 0,
            ended_ns: None,
            machine: machine(64, Some("6.1")),
            clock: String::new(),
            transactions: Sample::NONE.policy(),
            validity: None,
            measured: Value::Null,
            levels: Vec::new(),
        };
        let why = |tool, machine| elsewhere(&manifest, tool, &machine);
        let less_memory = Machine { memory_bytes: None, ..machine(64, Some("6.1")) };
        assert_eq!(why("plimsoll 1.0.0", less_memory), None);
        let cores = why("plimsoll 1.0.0", machine(8, Some("6.1")));
        assert_eq!(cores.as_deref(), Some("its number of cores is 64, not 8"));
        assert_eq!(why("plimsoll 1.0.0", machine(64, None)).as_deref(), Some("its kernel is 6.1, not unknown"));
        let version = why("plimsoll 2.0.0", machine(64, Some("6.1")));
        assert_eq!(version.as_deref(), Some("its version is plimsoll 1.0.0, not plimsoll 2.0.0"));
    }
}
