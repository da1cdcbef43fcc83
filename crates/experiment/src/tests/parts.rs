//! Parts of a run, merged, are the run: the real clients and engine on simulated servers, in memory under a virtual clock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_drive::engine::{EngineError, GivenUp};
use plimsoll_model::{Reason, Verdict};
use plimsoll_recording::folder::Recording;
use plimsoll_results::record::{RecordTo, Rows};
use plimsoll_testkit::servers::Scratch;
use plimsoll_workload::{Arrivals, Load, Pause};

use super::sameness::{json_of, reported, same};
use super::simulated::{START, Simulated};
use crate::merge_parts;
use crate::parts::merge_level;
use crate::run_recording::RunRecording;
use crate::run_spec::RunSpec;

pub(super) const CLIENTS: u32 = 24;
/// Warm-up and measured phase, ns.
pub(super) const TIMES: (u64, u64) = (50_000_000, 100_000_000);

pub(super) const LOADS: [Load; 3] = [
    Load::Closed { clients: CLIENTS, think: Pause::Exponential(10_000_000) },
    Load::Open { clients: CLIENTS, rate: 1_234.5, arrivals: Arrivals::Poisson },
    Load::Partly { users: CLIENTS, every_ns: 20_000_000, arrivals: Arrivals::Poisson },
];

fn simulated(workload: &str) -> Simulated {
    Simulated::new(workload, CLIENTS, Rows::All, &[])
}

fn to(folder: &Path) -> RecordTo {
    super::simulated::to(folder, Rows::All)
}

/// Whether parts of these numbers are the whole, under each load.
fn parts_are_the_whole(workload: &str, rate: f64, counts: &[u32]) {
    let scratch = Scratch::new("parts-merged");
    let simulated = simulated(workload);
    for (number, load) in LOADS.into_iter().enumerate() {
        let load = match load {
            Load::Open { clients, arrivals, .. } => Load::Open { clients, rate, arrivals },
            load => load,
        };
        for &count in counts {
            let folder = scratch.path().join(format!("{number}-{count}"));
            // Under a rate an iteration is that of the first free client of a thread: as many threads are the same run.
            let threads = if load.asked_rate().is_some() { count } else { 1 };
            let whole = scratch.path().join(format!("{number}-whole-{threads}"));
            let merged = folder.join("merged");
            if !whole.exists() {
                let mut spec = simulated.spec(load, TIMES, None);
                spec.variants[0].levels[0].plan.threads = threads;
                simulated.record(&spec, &whole, |_, _| ());
            }
            let parts = simulated.record_parts(load, TIMES, count, &folder);
            let (findings, recorded) = merge_parts(&parts, None, Some(to(&merged))).unwrap();
            recorded.unwrap();
            let case = format!("{workload}, {load}, {count} parts");
            assert_eq!(json_of(findings), json_of(reported(&merged)), "{case}: report of the recording");
            same(&whole, &merged, &case);
            let rows = Recording::open(&merged).unwrap().manifest.levels[0].transactions;
            assert_eq!(rows, reported(&merged).levels[0].count, "{case}: all have rows");
            assert_eq!(reported(&merged).validity, reported(&whole).validity, "{case}");
        }
    }
}

#[test]
fn parts_of_any_number_make_the_whole() {
    parts_are_the_whole("random-read", 1_234.5, &[1, 2, 3, 4, 8]);
}

#[test]
fn parts_of_other_workloads_make_the_whole() {
    parts_are_the_whole("iops-read", 567.8, &[4]);
    parts_are_the_whole("blocks-read", 567.8, &[3]);
}

/// Two levels of a load curve.
fn sweep(simulated: &Simulated, part: Option<&str>) -> RunSpec {
    let closed = |clients| Load::Closed { clients, think: Pause::Exponential(10_000_000) };
    // Long enough for intervals.
    simulated.sweep(&[closed(CLIENTS / 2), closed(CLIENTS)], (TIMES.0, 5_000_000_000), part)
}

#[test]
fn parts_of_several_levels_make_the_whole() {
    let scratch = Scratch::new("parts-levels");
    let (simulated, folder) = (simulated("random-read"), scratch.path());
    let (whole, all) = (folder.join("whole"), folder.join("merged"));
    simulated.record(&sweep(&simulated, None), &whole, |_, _| ());
    let parts: Vec<PathBuf> = (1..=3).map(|number| folder.join(number.to_string())).collect();
    for (number, part) in (1..).zip(&parts) {
        simulated.record(&sweep(&simulated, Some(&format!("{number}/3"))), part, |_, _| ());
    }
    let (findings, recorded) = merge_parts(&parts, None, Some(to(&all))).unwrap();
    recorded.unwrap();
    assert_eq!(findings.levels.len(), 2);
    assert!(
        findings.levels.iter().all(|level| level.facts.operations_per_s_interval.is_some()),
        "points of a curve have intervals"
    );
    assert_eq!(json_of(findings), json_of(reported(&all)), "report of the recording");
    same(&whole, &all, "two levels");
}

#[test]
fn a_level_that_parts_did_not_measure_is_named_and_the_others_are_whole() {
    let scratch = Scratch::new("parts-levels-late");
    let (simulated, folder) = (simulated("random-read"), scratch.path());
    let parts: Vec<PathBuf> = (1..=2).map(|number| folder.join(number.to_string())).collect();
    for (number, part) in (1..).zip(&parts) {
        let mut spec = sweep(&simulated, Some(&format!("{number}/2")));
        spec.variants[0].levels[1].plan.start_at_ns = Some(START - 1_500_000_000);
        simulated.record(&spec, part, |_, _| ());
    }
    let (findings, recorded) = merge_parts(&parts, None, Some(to(&folder.join("all")))).unwrap();
    recorded.unwrap();
    let [first, second] = &findings.levels[..] else { panic!("{} levels", findings.levels.len()) };
    assert_eq!((first.facts.validity.verdict, second.facts.validity.verdict), (Verdict::Valid, Verdict::Invalid));
    assert!(first.count > 100 && second.count == 0, "{} and {} requests", first.count, second.count);
    let said = second.facts.validity.reasons.join("; ");
    assert!(said.contains("part 1/2") && said.contains("part 2/2") && said.contains("too late"), "{said}");
}

/// What a merge says against the whole, and how many requests it has.
fn merged(folders: &[PathBuf]) -> (Vec<String>, u64) {
    let (findings, recorded) = merge_parts(folders, None, None).unwrap();
    recorded.unwrap();
    let validity = findings.validity;
    assert!(validity.verdict == Verdict::Invalid || validity.reasons.is_empty(), "{validity:?}");
    (validity.reasons, findings.levels[0].count)
}

#[test]
fn whatever_becomes_of_a_part_is_said_and_the_others_are_whole() {
    let scratch = Scratch::new("parts-wrong");
    let simulated = simulated("random-read");
    let load = LOADS[0];
    let parts = simulated.record_parts(load, TIMES, 3, scratch.path());
    let (none, all) = merged(&parts);
    assert_eq!(none, [""; 0]);
    let apart = |difference| {
        merge_parts(&parts, Some(Duration::from_millis(difference)), None).unwrap().0.validity.reasons.join("; ")
    };
    assert_eq!(apart(1_000), "", "as far as --clock-bound allows");
    assert!(apart(1_001).contains("the clocks of the parts differed by 1.00 s after the run"), "{}", apart(1_001));
    let (said, others) = merged(&[parts[2].clone(), parts[0].clone()]);
    assert!(said[0].contains("part 2/3 is missing"), "{said:?}");
    assert!(others > all / 2 && others < all, "{others} of {all}");
    let with = |second: &str, change: &dyn Fn(&Path)| {
        let folder = scratch.path().join(second);
        change(&folder);
        let (said, requests) = merged(&[parts[0].clone(), folder, parts[2].clone()]);
        (said.join("; "), requests)
    };
    let spec = simulated.spec(load, TIMES, Some("2/3"));
    let changed = |folder: &Path, change: &dyn Fn(&mut RunSpec)| {
        let mut spec = spec.clone();
        change(&mut spec);
        simulated.record(&spec, folder, |_, _| ());
    };
    let (said, requests) = with("other-seed", &|folder| changed(folder, &|spec| spec.seed = 8));
    assert!(
        said.contains("other-seed is not merged: it is the recording of a different run; its seed is 8, not 7"),
        "{said}"
    );
    assert_eq!(requests, others);
    let (said, requests) = with("late", &|folder| {
        changed(folder, &|spec| spec.variants[0].levels[0].plan.start_at_ns = Some(START - 1_500_000_000));
    });
    assert!(said.contains("late is not merged"), "another start is another plan: {said}");
    assert_eq!(requests, others);
    let (said, requests) = with("clock", &|folder| {
        simulated.record(&spec, folder, |_, moved| *moved = -3_000_000_000);
    });
    assert!(said.contains("its clock was changed by 3.00 s during the run, more than --clock-bound 1.00 s"), "{said}");
    assert_eq!(requests, all, "its numbers are there");
    let (said, requests) = with("short", &|folder| {
        simulated.record(&spec, folder, |ran, _| (ran.measured.1, ran.stopped) = (ran.measured.1 - 50_000_000, true));
    });
    assert!(said.contains("measured 0.050 s of 0.100 s: the total load was lower"), "{said}");
    assert_eq!(requests, all);
    let (said, requests) = with("stolen", &|folder| {
        simulated.record(&spec, folder, |ran, _| ran.generator.stolen_ns = Some(100_000_000));
    });
    assert!(said.contains("/stolen): steal time"), "{said}");
    assert_eq!(requests, all);
    let (said, requests) = with("killed", &|folder| {
        drop(RunRecording::begin(Some(&to(folder)), &spec, &simulated.workload).unwrap());
    });
    assert!(said.contains("killed) did not finish: its process was killed, or is still running"), "{said}");
    assert_eq!(requests, others);
    let (said, _) = with("empty", &|folder| std::fs::create_dir(folder).unwrap());
    assert!(said.contains("contains no recording") && said.contains("part 2/3 is missing"), "{said}");
    let (said, _) =
        with("twice", &|folder| simulated.record(&simulated.spec(load, TIMES, Some("1/3")), folder, |_, _| ()));
    assert!(said.contains("is part 1/3, too") && said.contains("part 2/3 is missing"), "{said}");
    let (said, _) = with("version", &|folder| {
        simulated.record(&spec, folder, |_, _| ());
        let manifest = folder.join("manifest.json");
        let text = std::fs::read_to_string(&manifest).unwrap();
        let tool = format!("plimsoll {}", env!("CARGO_PKG_VERSION"));
        std::fs::write(&manifest, text.replace(&tool, "plimsoll 0.0.9")).unwrap();
    });
    assert!(said.contains("it was made by plimsoll 0.0.9, not by plimsoll"), "{said}");
}

/// As in one process: with a guest logon a level is PARTIAL, and a search goes on.
#[test]
fn a_reason_against_a_part_weighs_as_much_against_the_whole() {
    let scratch = Scratch::new("parts-reasons");
    let mut simulated = simulated("random-read");
    let whole = simulated.spec(LOADS[0], TIMES, None).variants[0].levels[0].clone();
    for verdict in [Verdict::Partial, Verdict::Invalid] {
        simulated.against = Some(Reason { verdict, text: "guest logons".to_owned() });
        let folders = simulated.record_parts(LOADS[0], TIMES, 2, &scratch.path().join(verdict.label()));
        let (findings, recorded) = merge_parts(&folders, None, None).unwrap();
        recorded.unwrap();
        let said = findings.validity.reasons.join("; ");
        assert!(said.contains("part 1/2") && said.contains("part 2/2") && said.contains(": guest logons"), "{said}");
        assert_eq!(findings.validity.verdict, verdict, "{said}");
        let level = merge_level(&folders, &whole).unwrap();
        assert_eq!(level.unusable().is_some(), verdict == Verdict::Invalid, "of a search");
    }
}

/// Each part ends when its own last client has given up. A search then counts the load as missed.
#[test]
fn parts_whose_clients_all_gave_up_are_a_level_that_ended_early() {
    let scratch = Scratch::new("parts-gave-up");
    let simulated = simulated("random-read");
    let whole = simulated.spec(LOADS[0], TIMES, None).variants[0].levels[0].clone();
    let merged = |name: &str, first: u32| {
        let part = |number: u32| {
            let folder = scratch.path().join(name).join(number.to_string());
            simulated.record(&simulated.spec(LOADS[0], TIMES, Some(&format!("{number}/2"))), &folder, |ran, _| {
                if number >= first {
                    ran.measured.1 -= i64::from(number) * 10_000_000;
                    let given_up = Some(GivenUp { since: ran.measured.0, slots: 1 });
                    ran.clients.iter_mut().for_each(|client| client.given_up = given_up);
                }
            });
            folder
        };
        let folders: Vec<PathBuf> = (1..=2).map(part).collect();
        merge_level(&folders, &whole)
    };
    let level = merged("all", 1).unwrap();
    assert!(level.gave_up() && level.unusable().is_none(), "{:?}", level.validity());
    let error = merged("one", 2).err().unwrap().to_string();
    assert!(error.contains("the total load was lower for the rest of the time"), "{error}");
}

/// Every process misses the start: each says so, and so does the merge.
#[test]
fn parts_that_miss_the_common_start_measure_nothing() {
    let scratch = Scratch::new("parts-late");
    let simulated = simulated("random-read");
    let late = |number: u32| {
        let mut spec = simulated.spec(LOADS[0], TIMES, Some(&format!("{number}/2")));
        spec.variants[0].levels[0].plan.start_at_ns = Some(START - 1_500_000_000);
        let folder = scratch.path().join(number.to_string());
        simulated.record(&spec, &folder, |_, _| ());
        folder
    };
    let error = merge_parts(&[late(1), late(2)], None, None).unwrap_err().to_string();
    assert!(error.contains("part 1/2") && error.contains("too late for --start-at"), "{error}");
    let late = EngineError::Late { by_ns: 1_500_000_000 }.to_string();
    assert!(late.contains("ready 1.500 s after that time"), "{late}");
}
