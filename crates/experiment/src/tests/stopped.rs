//! A run that the user stops before its first load level.

use plimsoll_drive::engine::PlanPart;
use plimsoll_results::record::{RecordTo, Rows};
use plimsoll_testkit::servers::Scratch;
use plimsoll_workload::{Load, Pause};

use super::simulated::{Simulated, to};
use crate::run_recording::RunRecording;
use crate::run_result::findings_of;

/// Whether a run that is stopped before its first level restores the recording that it was to replace.
fn restores(part: Option<PlanPart>) -> bool {
    let scratch = Scratch::new("stopped-early");
    let folder = scratch.path().join("recording");
    let simulated = Simulated::new("random-read", 1, Rows::None, &[]);
    let mut spec = simulated.spec(Load::Closed { clients: 1, think: Pause::None }, (1_000_000, 10_000_000), None);
    simulated.record(&spec, &folder, |_, _| ());
    let manifest = || std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let before = manifest();
    spec.variants[0].levels[0].plan.part = part;
    let to = RecordTo { overwrite: true, ..to(&folder, Rows::None) };
    let recording = RunRecording::begin(Some(&to), &spec, &simulated.workload).unwrap().unwrap();
    let aside = folder.join("replaced");
    assert!(aside.exists() && manifest() != before);
    let nothing = findings_of((&spec, &simulated.workload), &[], &simulated.names, Vec::new(), |run| run);
    recording.finish(true, Ok(&(nothing, ()))).unwrap();
    let is_restored = manifest() == before && folder.join("level-0000").exists();
    assert!(!is_restored || !aside.exists());
    is_restored
}

#[test]
fn a_run_without_levels_restores_the_recording_that_it_was_to_replace() {
    assert!(restores(None));
    // The other parts of the earlier run are not restored.
    assert!(!restores(Some("1/2".parse().unwrap())));
}
