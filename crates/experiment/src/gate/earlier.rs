//! A new candidate against a baseline that was recorded earlier: both must have the same load and the same load generator, because
//! nothing else cancels changes in between.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use plimsoll_recording::folder::{Machine, Progress, Recording};
use plimsoll_results::record::{Measurement, this_machine};
use plimsoll_results::recording_findings::measured;

use crate::RunSpec;
use plimsoll_results::Usage;

/// Checks that each recording is a complete run with the load of `ours`, which this machine will run.
///
/// # Errors
/// A recording is damaged, or has another load; the message has the difference.
pub fn check_earlier(recordings: &[PathBuf], ours: &RunSpec) -> anyhow::Result<()> {
    if ours.levels().any(|(_, level)| level.plan.part.is_some()) {
        let why = "--part: gate needs the whole load; merge the recordings of the parts, and give the merged recording to gate";
        return Err(Usage(why.to_owned()).into());
    }
    recordings.iter().try_for_each(|folder| {
        let recording = Recording::open(folder)?;
        match why_not(&recording, ours)? {
            Some(why) => Err(Usage(format!(
                "{}: gate cannot measure a candidate against this baseline: {why}; record the baseline again with the candidate's options \
                on this machine",
                folder.display()
            ))
            .into()),
            None => Ok(()),
        }
    })
}

/// Whether the run that was recorded here was stopped before its end.
///
/// # Errors
/// There is no recording in the folder, or it is damaged.
pub fn was_interrupted(folder: &Path) -> anyhow::Result<bool> {
    let recording = Recording::open(folder).with_context(|| folder.display().to_string())?;
    Ok(recording.manifest.state != Progress::Finished)
}

/// The error that ended the run that was recorded here before its end; `None` if none did.
///
/// # Errors
/// There is no recording in the folder, or it is damaged.
pub fn ended_by_error(folder: &Path) -> anyhow::Result<Option<String>> {
    let recording = Recording::open(folder).with_context(|| folder.display().to_string())?;
    Ok(recording.manifest.validity.as_ref().and_then(crate::levels::ended_by_error).map(str::to_owned))
}

fn why_not(recording: &Recording, ours: &RunSpec) -> anyhow::Result<Option<String>> {
    let Measurement::Run { spec, .. } = measured(recording)? else {
        return Ok(Some(
            "the baseline was made from captures, but the times of the candidate are measured in the client".to_owned(),
        ));
    };
    let spec = RunSpec::of_manifest(spec)?;
    Ok(spec.other_load(ours).or_else(|| other_machine(&recording.manifest.machine, &this_machine())))
}

/// The difference between the load generators. Memory size does not affect response times.
fn other_machine(theirs: &Machine, ours: &Machine) -> Option<String> {
    let shown = |machine: &Machine| {
        let known = |name: &Option<String>| name.clone().unwrap_or_else(|| "unknown".to_owned());
        let (processor, kernel) = (known(&machine.processor), known(&machine.kernel));
        format!("processor {processor} with {} cores, kernel {kernel}", machine.cores)
    };
    let differ = (&theirs.processor, theirs.cores, &theirs.kernel) != (&ours.processor, ours.cores, &ours.kernel);
    differ
        .then(|| format!("the load generator of the baseline had {}, this machine has {}", shown(theirs), shown(ours)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_processor_or_kernel_is_another_load_generator() {
        let one = Machine {
            cores: 4,
            processor: Some("Xeon".to_owned()),
            kernel: Some("6.1".to_owned()),
            memory_bytes: Some(1 << 34),
        };
        let others = [
            Machine { cores: 8, ..one.clone() },
            Machine { processor: None, ..one.clone() },
            Machine { kernel: Some("6.12".to_owned()), ..one.clone() },
        ];
        let said: Vec<String> = others.iter().filter_map(|other| other_machine(&one, other)).collect();
        assert_eq!(
            said[1],
            "the load generator of the baseline had processor Xeon with 4 cores, kernel 6.1, this machine has \
            processor unknown with 4 cores, kernel 6.1"
        );
        assert_eq!(said.len(), others.len());
        assert_eq!(other_machine(&one, &Machine { memory_bytes: None, ..one.clone() }), None);
    }
}
