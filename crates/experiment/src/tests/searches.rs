//! A search for a capacity in parts is the search in one process: the real clients and engine on simulated servers, in memory under a
//! virtual clock. The parts are threads here, which know no more of each other than processes do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_drive::engine::Watch;
use plimsoll_report::findings::capacity::Capacity;
use plimsoll_report::findings::{Findings, Interruption, Run};
use plimsoll_results::record::Rows;
use plimsoll_testkit::servers::Scratch;
use plimsoll_workload::{Arrivals, Load, Pause};

use super::sameness::{json_of, reported, same};
use super::simulated::{COMMON_START, Simulated, to};
use crate::capacity::CapacitySearch;
use crate::capacity::joint::JointSearch;
use crate::capacity::spec::SearchSpec;
use crate::level::LevelResult;
use crate::level_spec::LevelSpec;
use crate::monitor::{Activity, Monitor};
use crate::parts::options::PartOptions;
use crate::run_recording::RunRecording;
use crate::run_spec::RunSpec;
use crate::{merge_parts, searching};

/// Clients at most.
const MOST: u32 = 24;
/// Warm-up and measured phase, ns.
const TIMES: (u64, u64) = (50_000_000, 1_000_000_000);
/// From the choice of a load to its start, and how long a part may be late: no start is waited for under a virtual clock.
const GAP: Duration = Duration::from_secs(600);

pub(super) struct Unseen(pub(super) Watch);

impl Monitor for Unseen {
    fn catch(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn watch(&self) -> &Watch {
        &self.0
    }

    fn cleaning(&self) -> &Watch {
        &self.0
    }

    fn show(&self, _: &str, _: Activity<'_>, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

fn simulated() -> Simulated {
    Simulated::new("random-read", MOST, Rows::None, &[])
}

/// The search, and the run that it is of: each client makes nearly 100 reads per second, so eight are too many.
fn search(simulated: &Simulated, part: Option<&str>) -> (SearchSpec, RunSpec) {
    let load = Load::Closed { clients: MOST, think: Pause::Exponential(10_000_000) };
    let mut spec = simulated.spec(load, TIMES, part);
    let most = spec.variants.remove(0).levels.remove(0);
    let objectives = vec!["read.throughput < 720/s".to_owned()];
    let least = most.least_load();
    let search = SearchSpec { most, least, start: 2.0, resolution: 0.02, runs: 60, objectives };
    let bound = PartOptions { clock_bound: part.map(|_| Duration::from_secs(1)), ..PartOptions::default() };
    let spec = searching(spec, &search, &bound, &simulated.workload).unwrap();
    (search, spec)
}

/// Measures levels until there is none, or until an error; the disk is full after `until` levels.
fn levels_of(
    simulated: &Simulated,
    recording: &RunRecording<'_>,
    until: usize,
    mut next: impl FnMut(&[LevelResult]) -> anyhow::Result<Option<LevelSpec>>,
) -> (Vec<LevelResult>, anyhow::Result<()>) {
    let mut levels = Vec::new();
    loop {
        let mut level_spec = match next(&levels) {
            Ok(Some(_)) if levels.len() == until => return (levels, Err(anyhow::anyhow!("the disk is full"))),
            Ok(Some(level_spec)) => level_spec,
            Ok(None) => return (levels, Ok(())),
            Err(error) => return (levels, Err(error)),
        };
        // Every virtual clock starts at the same time.
        level_spec.plan.start_at_ns = Some(COMMON_START);
        levels.push(simulated.level(&level_spec, recording, false, &mut |_, _| ()).unwrap());
    }
}

fn findings(simulated: &Simulated, spec: &RunSpec, levels: &[LevelResult], capacity: Option<Capacity>) -> Findings {
    let ran: Vec<&LevelResult> = levels.iter().collect();
    let with = |run: Run| Run { capacity: capacity.map(Box::new), ..run };
    crate::run_result::findings_of((spec, &simulated.workload), &ran, &simulated.names, Vec::new(), with)
}

/// A search in one process.
fn record_whole(simulated: &Simulated, folder: &Path) {
    let (search, spec) = search(simulated, None);
    let recording = RunRecording::begin(Some(&to(folder, Rows::None)), &spec, &simulated.workload).unwrap().unwrap();
    let mut found = CapacitySearch::new(&search).unwrap();
    let (levels, ended) = levels_of(simulated, &recording, usize::MAX, |ran| found.next(ran));
    ended.unwrap();
    let findings = findings(simulated, &spec, &levels, Some(found.summary(&levels)));
    recording.finish(false, Ok(&(findings, ()))).unwrap();
}

/// One part of it; its disk is full after `until` levels.
fn record_part(simulated: &Simulated, folder: &Path, part: &str, until: usize) -> anyhow::Result<()> {
    let (search, spec) = search(simulated, Some(part));
    let recording = RunRecording::begin(Some(&to(folder, Rows::None)), &spec, &simulated.workload)?.unwrap();
    let monitor = Unseen(Watch::new());
    let mut joint = JointSearch::new(&recording, &search, GAP, &monitor)?;
    let (levels, ended) = levels_of(simulated, &recording, until, |_| joint.next());
    drop(joint);
    match &ended {
        Ok(()) => recording.finish(false, Ok(&(findings(simulated, &spec, &levels, None), ())))?,
        Err(error) => recording.finish::<()>(false, Err(error))?,
    }
    ended
}

/// All parts of it, at the same time: their folders, and how each ended. The disk of the second is full after `until` levels.
fn record_parts(
    simulated: &Simulated,
    folder: &Path,
    count: u32,
    until: usize,
) -> (Vec<PathBuf>, Vec<anyhow::Result<()>>) {
    let folders: Vec<PathBuf> = (1..=count).map(|number| folder.join(format!("part-{number}"))).collect();
    let ended = std::thread::scope(|scope| {
        let mut running = Vec::new();
        for (number, folder) in (1..).zip(&folders) {
            let part = format!("{number}/{count}");
            let until = if number == 2 { until } else { usize::MAX };
            running.push(scope.spawn(move || record_part(simulated, folder, &part, until)));
        }
        running.into_iter().map(|part| part.join().unwrap()).collect()
    });
    (folders, ended)
}

/// Searches in one process until the end: the number of levels, and the result.
fn searched(simulated: &Simulated, spec: &RunSpec, search: &SearchSpec, scratch: &Scratch) -> (usize, Capacity) {
    let to = to(&scratch.path().join("whole"), Rows::None);
    let recording = RunRecording::begin(Some(&to), spec, &simulated.workload).unwrap().unwrap();
    let mut found = CapacitySearch::new(search).unwrap();
    let (levels, ended) = levels_of(simulated, &recording, usize::MAX, |ran| found.next(ran));
    ended.unwrap();
    (levels.len(), found.summary(&levels))
}

/// A workload that only reads has no number for writes: that is no miss of the server.
#[test]
fn a_condition_without_numbers_ends_the_search_without_a_verdict() {
    let scratch = Scratch::new("search-unknown");
    let simulated = simulated();
    let (search, spec) = search(&simulated, None);
    let search = SearchSpec { objectives: vec!["write.p50 < 1ms".to_owned()], ..search };
    let (levels, capacity) = searched(&simulated, &spec, &search, &scratch);
    assert_eq!((levels, capacity.outcome.label(), capacity.trials[0].met), (1, "unfinished", None));
    assert!(capacity.why.as_ref().unwrap().contains("the run has no number for write"), "{capacity:?}");
    assert!(!capacity.validity().valid);
}

/// No user is ever due, so none is late: that proves nothing. The search goes on to more users, and ends where it must confirm.
#[test]
fn runs_without_requests_confirm_nothing() {
    let scratch = Scratch::new("search-nothing");
    let simulated = simulated();
    let users = Load::Partly { users: MOST, every_ns: 3_600_000_000_000, arrivals: Arrivals::Constant };
    let mut spec = simulated.spec(users, TIMES, None);
    let most = spec.variants.remove(0).levels.remove(0);
    let search = SearchSpec { most, least: 1, start: 1.0, resolution: 0.02, runs: 60, objectives: Vec::new() };
    let (_, capacity) = searched(&simulated, &spec, &search, &scratch);
    assert_eq!((capacity.outcome.label(), capacity.low), ("unfinished", None), "{capacity:?}");
    assert!(capacity.trials.iter().all(|trial| trial.met.is_none()) && capacity.trials.len() == 7, "{capacity:?}");
    assert_eq!(
        capacity.why.as_deref(),
        Some(
            "the run at 24 users made no request of the workload in 1.00 s, so it cannot be judged; use a longer --duration, or a higher load (--start)"
        )
    );
    assert!(!capacity.validity().valid);
}

/// Its user did not interrupt it. What fails after the last level, such as the removal of files, does not change the result.
#[test]
fn a_search_that_an_error_ends_says_which() {
    let scratch = Scratch::new("search-failed");
    let simulated = simulated();
    let (search, spec) = search(&simulated, None);
    // The first run and six that confirm its load, which is not too much.
    let search = SearchSpec { runs: 7, ..search };
    let capacity = |until: usize| {
        let to = to(&scratch.path().join(until.to_string()), Rows::None);
        let recording = RunRecording::begin(Some(&to), &spec, &simulated.workload).unwrap().unwrap();
        let mut found = CapacitySearch::new(&search).unwrap();
        let (levels, ended) = levels_of(&simulated, &recording, until, |ran| found.next(ran));
        found.fail(&ended.err().map_or("files: permission denied".to_owned(), |error| format!("{error:#}")));
        found.summary(&levels)
    };
    let ended = capacity(2);
    assert_eq!((ended.outcome.label(), ended.trials.len()), ("unfinished", 2), "{ended:?}");
    assert_eq!(ended.why.as_deref(), Some("a run could not be made or recorded: the disk is full"));
    let whole = capacity(usize::MAX);
    assert_eq!((whole.outcome.label(), whole.low), ("at least", Some(2.0)), "{whole:?}");
    assert!(whole.why.unwrap().contains("the limit of runs"));
}

/// It is not judged, but took its time.
#[test]
fn an_interrupted_run_of_a_search_has_its_measured_time() {
    let scratch = Scratch::new("search-interrupted");
    let simulated = simulated();
    let (search, spec) = search(&simulated, None);
    let to = to(&scratch.path().join("kept"), Rows::None);
    let recording = RunRecording::begin(Some(&to), &spec, &simulated.workload).unwrap().unwrap();
    let mut found = CapacitySearch::new(&search).unwrap();
    let (mut levels, _) = levels_of(&simulated, &recording, 2, |ran| found.next(ran));
    let mut last = LevelResult::not_run(&search.most.plan, "8 clients".to_owned(), &"interrupted");
    last.recorded.about.facts.interruption = Some(Interruption { after_s: 0.8, planned_s: Some(2.0) });
    levels.push(last);
    let capacity = found.summary(&levels);
    assert_eq!(capacity.why.as_deref(), Some("interrupted after 2 runs: no result"));
    let [_, _, trial] = &capacity.trials[..] else { panic!("{capacity:?}") };
    assert_eq!((trial.seconds, trial.met), (0.8, None));
    assert_eq!(trial.because, ["not judged, because the run was interrupted after 0.8 s of 2.0 s"]);
}

#[test]
fn a_search_in_parts_is_the_search_in_one_process() {
    let scratch = Scratch::new("search-parts");
    let simulated = simulated();
    let (whole, merged) = (scratch.path().join("whole"), scratch.path().join("merged"));
    record_whole(&simulated, &whole);
    let capacity = reported(&whole).run.unwrap().capacity.unwrap();
    assert_eq!(capacity.outcome.label(), "found", "{capacity:?}");
    assert!(capacity.low > Some(3.0) && capacity.high < Some(20.0), "{capacity:?}");
    let (parts, ended) = record_parts(&simulated, &scratch.path().join("parts"), 2, usize::MAX);
    ended.into_iter().for_each(|ended| ended.unwrap());
    let (findings, recorded) = merge_parts(&parts, None, Some(to(&merged, Rows::None))).unwrap();
    recorded.unwrap();
    assert_eq!(findings.run.as_ref().unwrap().capacity.as_deref(), Some(&*capacity));
    assert_eq!(json_of(findings), json_of(reported(&merged)), "report of the recording");
    same(&whole, &merged, "a search in two parts");
    // Clocks that differed leave no answer.
    let (apart, _) = merge_parts(&parts, Some(Duration::from_secs(2)), None).unwrap();
    let without = apart.run.unwrap().capacity.unwrap();
    assert_eq!((without.outcome.label(), without.low, without.high), ("unfinished", None, None));
    assert!(without.why.unwrap().contains("clocks of the parts differed by 2.00 s"));
}

#[test]
fn a_search_ends_with_the_part_that_ends() {
    let scratch = Scratch::new("search-full");
    let simulated = simulated();
    let (parts, ended) = record_parts(&simulated, scratch.path(), 3, 2);
    let said: Vec<String> = ended.into_iter().map(|ended| format!("{:#}", ended.unwrap_err())).collect();
    // One client in each part at least: three, six, twelve.
    let first = "the search ended: at 12 clients: part 2/3 (";
    assert!(said[0].starts_with(first) && said[0].contains("did not finish: the disk is full"), "{said:?}");
    assert_eq!(said[1], "the disk is full");
    assert!(said[2].starts_with("the search ended: part 1/3 (") && said[2].contains("part 2/3 ("), "{said:?}");
    let (findings, _) = merge_parts(&parts, None, None).unwrap();
    let capacity = findings.run.as_ref().unwrap().capacity.clone().unwrap();
    assert_eq!((capacity.outcome.label(), capacity.low, capacity.high), ("unfinished", None, None), "{capacity:?}");
    assert!(capacity.why.unwrap().contains("part 2/3 ("));
    assert_eq!(findings.validity.verdict, plimsoll_model::Verdict::Invalid);
    let whole = findings.levels.iter().filter(|level| level.facts.validity.reasons.is_empty()).count();
    assert_eq!((findings.levels.len(), whole), (3, 2), "the levels of all parts are whole");
    // Without its recording not one level is that of all parts.
    let (findings, _) = merge_parts(&[parts[0].clone(), parts[2].clone()], None, None).unwrap();
    let capacity = findings.run.unwrap().capacity.unwrap();
    assert_eq!((capacity.low, capacity.trials.len()), (None, 1));
    assert!(capacity.why.unwrap().contains("part 2/3 is missing"));
}
