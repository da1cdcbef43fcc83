//! A run that the user stops before its first load level.

use plimsoll_results::record::{RecordTo, Rows};
use plimsoll_testkit::servers::Scratch;
use plimsoll_workload::{Load, Pause};

use super::simulated::{Simulated, to};
use crate::run_recording::RunRecording;
use crate::run_result::findings_of;

#[test]
fn a_run_without_levels_restores_the_recording_that_it_was_to_replace() {
    let scratch = Scratch::new("stopped-early");
    let folder = scratch.path().join("recording");
    let simulated = Simulated::new("random-read", 1, Rows::None, &[]);
    let spec = simulated.spec(Load::Closed { clients: 1, think: Pause::None }, (1_000_000, 10_000_000), None);
    simulated.record(&spec, &folder, |_, _| ());
    let manifest = || std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let before = manifest();
    let to = RecordTo { overwrite: true, ..to(&folder, Rows::None) };
    let recording = RunRecording::begin(Some(&to), &spec, &simulated.workload).unwrap().unwrap();
    let aside = folder.join("replaced");
    assert!(aside.exists() && manifest() != before);
    let nothing = findings_of((&spec, &simulated.workload), &[], &simulated.names, Vec::new(), |run| run);
    recording.finish(true, Ok(&(nothing, ()))).unwrap();
    assert!(manifest() == before && !aside.exists() && folder.join("level-0000").exists());
}
